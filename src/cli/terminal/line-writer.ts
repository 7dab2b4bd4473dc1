import { SonicBoom } from 'sonic-boom'

/** How long a line waits for others to be written with, in ms: a killed process loses no more. */
const gatherMillis = 100
/** How many bytes are written without waiting for more, and at most at once. */
const [batchBytes, mostAtOnce] = [64 * 1024, 128 * 1024]
/** How many bytes are kept for a slow reader. */
const mostKept = 4 * 1024 * 1024
/** How long the end waits for a reader, in ms. */
const endMillis = 1_000

/**
 * Writes lines to a descriptor, many at once, without waiting for it. If it takes nothing for want of a reader, or of room in a
 * pipe or on a disk, lines are kept and tried again. Lines for which there is no room are dropped and counted.
 */
export class LineWriter {
  readonly #stream: SonicBoom
  /** Bytes. */
  #waiting = 0
  #dropped = 0
  #timer: Timer | null = null
  readonly #end = Promise.withResolvers<boolean>()
  #isEnding = false

  /** @param tellDropped reports how many lines were dropped, once there is room for that */
  constructor(
    descriptor: number,
    private readonly tellDropped: (count: number) => void,
  ) {
    const sizes = { minLength: batchBytes, maxWrite: mostAtOnce, maxLength: mostKept }
    this.#stream = new SonicBoom({ fd: descriptor, contentMode: 'buffer', ...sizes })
      .on('write', (bytes) => {
        this.#waiting -= bytes
      })
      .on('drain', () => this.#drained())
      // What is full for the moment is tried again by itself; nothing else is waited for at the end.
      .on('error', () => (this.#isEnding ? this.#end.resolve(true) : this.#flushSoon()))
      .on('drop', (line) => {
        this.#waiting -= line.length
        this.#dropped++
      })
  }

  /** Takes a line, with its end. */
  write(line: string): void {
    const bytes = Buffer.from(line)
    this.#waiting += bytes.length
    this.#stream.write(bytes as never)
    this.#flushSoon()
  }

  /** Writes what waits. False if nobody took it in time. */
  async end(): Promise<boolean> {
    this.#isEnding = true
    const waiting = setTimeout(() => this.#end.resolve(false), endMillis)
    if (this.#waiting === 0) this.#end.resolve(true)
    else this.#stream.flush()
    return this.#end.promise.finally(() => clearTimeout(waiting))
  }

  #drained(): void {
    const dropped = this.#dropped
    this.#dropped = 0
    if (dropped > 0) this.tellDropped(dropped)
    if (this.#waiting > 0) this.#isEnding ? this.#stream.flush() : this.#flushSoon()
    else if (this.#isEnding) this.#end.resolve(true)
  }

  #flushSoon(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = null
      if (this.#waiting > 0) this.#stream.flush()
    }, gatherMillis).unref()
  }
}
