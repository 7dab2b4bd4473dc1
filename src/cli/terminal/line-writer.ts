import { write } from 'node:fs'
import { promisify } from 'node:util'

/** How long a line waits for others to be written with, in ms: whoever kills the process loses no more. */
const gatherMillis = 100
/** How many characters are written without waiting for more. */
const batchLength = 64 * 1024
/** How many characters are kept for a reader that is slow, beside as many that it is being handed. */
const mostKept = 2 * 1024 * 1024
/** How long the end waits for a reader, in ms. */
const endMillis = 1_000

const writeSome = promisify(write)

/**
 * Writes lines to a descriptor, many at once, and has nobody wait for it: the system writes in a thread of its own. Where it
 * cannot, for want of a reader, of room in a pipe or on a disk, lines are kept and tried again; those for which there is no
 * room are dropped, and counted.
 */
export class LineWriter {
  #waiting = ''
  #dropped = 0
  #isEnding = false
  #timer: Timer | null = null
  #writing: Promise<void> | null = null

  /** @param tellDropped is told how many lines were dropped, once there is room again to write that */
  constructor(
    private readonly descriptor: number,
    private readonly tellDropped: (count: number) => void,
  ) {}

  /** Takes a line, with its end. */
  write(line: string): void {
    if (this.#waiting.length + line.length > mostKept) {
      this.#dropped++
      return
    }
    this.#waiting += line
    if (this.#waiting.length >= batchLength) this.#begin()
    else this.#beginSoon()
  }

  /** Writes what there is. False where it could not be handed over in time. */
  async end(): Promise<boolean> {
    this.#isEnding = true
    this.#begin()
    const tooLate = Promise.withResolvers<boolean>()
    const waiting = setTimeout(() => tooLate.resolve(false), endMillis)
    const isWritten = (this.#writing ?? Promise.resolve()).then(() => true)
    return Promise.race([isWritten, tooLate.promise]).finally(() => clearTimeout(waiting))
  }

  #beginSoon(): void {
    if (this.#timer || this.#writing) return
    this.#timer = setTimeout(() => this.#begin(), gatherMillis)
    // It is no reason for the process to go on: the end writes what waits.
    this.#timer.unref()
  }

  #begin(): void {
    if (this.#writing) return
    if (this.#timer) clearTimeout(this.#timer)
    this.#timer = null
    this.#writing = this.#writeBatches().finally(() => {
      this.#writing = null
      if (this.#waiting !== '') this.#beginSoon()
    })
  }

  async #writeBatches(): Promise<void> {
    do {
      let rest = this.#take()
      while (rest.length > 0) rest = rest.subarray(await this.#handOver(rest))
    } while (this.#waiting.length >= (this.#isEnding ? 1 : batchLength))
  }

  #take(): Buffer {
    const bytes = Buffer.from(this.#waiting)
    const dropped = this.#dropped
    this.#waiting = ''
    this.#dropped = 0
    if (dropped > 0) this.tellDropped(dropped)
    return bytes
  }

  /** Tells how many of the bytes are done with: a line that was begun goes on where it was left. */
  async #handOver(bytes: Buffer): Promise<number> {
    try {
      return (await writeSome(this.descriptor, bytes)).bytesWritten
    } catch (error) {
      // What is full for the moment may take them a moment later; nothing else is waited for at the end.
      if (this.#isEnding && (error as { code?: string }).code !== 'EAGAIN') return bytes.length
      await new Promise((go) => setTimeout(go, gatherMillis).unref())
      return 0
    }
  }
}
