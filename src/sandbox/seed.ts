import { createHash } from 'node:crypto'
import type { RandomSource } from '../domain/ports/random'

/** Draws the same bytes for the same seed, from the start of a named sequence. */
export class SeededRandom {
  #sequence = ''
  #drawn = 0

  constructor(private readonly seed: string) {}

  start(sequence: string): void {
    this.#sequence = sequence
    this.#drawn = 0
  }

  readonly draw: RandomSource = (count) => {
    const label = JSON.stringify([this.seed, this.#sequence, this.#drawn++])
    return createHash('sha512').update(label).digest().subarray(0, count)
  }
}
