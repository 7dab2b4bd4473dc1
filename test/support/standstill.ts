/** Measures how long this machine stalls. Disposing ends the measurement. */
export class Standstill implements Disposable {
  readonly #shared = new SharedArrayBuffer(24)
  readonly #noted = new Float64Array(this.#shared, 8, 2)
  readonly #sleeper = new Worker(new URL('sleeper.ts', import.meta.url))

  constructor() {
    this.#sleeper.unref()
    this.#sleeper.postMessage(this.#shared)
  }

  /** True if the stalls are too short to explain late or refused requests. */
  get isShort(): boolean {
    return this.longestMillis <= 300
  }

  get longestMillis(): number {
    return this.#noted[0] ?? 0
  }

  now(): number {
    return performance.now() - (this.#noted[1] ?? 0)
  }

  toString(): string {
    return `the machine stalled for ${Math.round(this.longestMillis)} ms`
  }

  [Symbol.dispose](): void {
    const isOver = new Int32Array(this.#shared, 0, 1)
    Atomics.store(isOver, 0, 1)
    Atomics.notify(isOver, 0)
  }
}

/** The duration of some work in ms, without stalls of the machine. */
export async function millisOf(work: () => unknown): Promise<number> {
  using standstill = new Standstill()
  const beganAt = standstill.now()
  await work()
  return standstill.now() - beganAt
}

/** Runs work that depends on timing. Repeats it up to four times if the machine stalled. */
export async function repeatIfStalled<T>(work: () => Promise<T>, again = 4): Promise<T> {
  using standstill = new Standstill()
  const found = await work()
  return standstill.isShort || again === 0 ? found : repeatIfStalled(work, again - 1)
}
