import { createHash } from 'node:crypto'

export function digestOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

export function seededRandom(seed: string) {
  let [sequence, drawn] = ['', 0]
  return {
    start(name: string) {
      ;[sequence, drawn] = [name, 0]
    },
    draw(count: number): Uint8Array {
      const label = JSON.stringify([seed, sequence, drawn++])
      return createHash('sha512').update(label).digest().subarray(0, count)
    },
  }
}
