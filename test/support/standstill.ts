/**
 * Watches for how long this machine gives no time to a thread that only sleeps, as where others that share its processors have
 * them: nothing else on it was done in time then either. Leaving its scope ends it.
 */
export class Standstill implements Disposable {
  readonly #shared = new SharedArrayBuffer(24)
  readonly #noted = new Float64Array(this.#shared, 8, 2)
  readonly #sleeper = new Worker(new URL('sleeper.ts', import.meta.url))

  constructor() {
    this.#sleeper.unref()
    this.#sleeper.postMessage(this.#shared)
  }

  /** Whether it was so short that what was late or refused meanwhile tells of the program, and not of the machine. */
  get isShort(): boolean {
    return this.longestMillis <= 300
  }

  /** The longest so far, in ms. */
  get longestMillis(): number {
    return this.#noted[0] ?? 0
  }

  /** All together so far, in ms. */
  get totalMillis(): number {
    return this.#noted[1] ?? 0
  }

  toString(): string {
    return `the machine stood still for ${Math.round(this.longestMillis)} ms`
  }

  [Symbol.dispose](): void {
    const isOver = new Int32Array(this.#shared, 0, 1)
    Atomics.store(isOver, 0, 1)
    Atomics.notify(isOver, 0)
  }
}

/** How long something takes, in ms, but for the time in which the machine stood still. */
export async function millisOf(work: PromiseLike<unknown>): Promise<number> {
  const beganAt = performance.now()
  using standstill = new Standstill()
  await work
  return performance.now() - beganAt - standstill.totalMillis
}
