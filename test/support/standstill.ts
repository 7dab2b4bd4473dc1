/**
 * Watches for how long this machine gives no time to a thread that only sleeps, as where others that share its processors have
 * them: whatever else was to be done on it was late then too. Leaving its scope ends it.
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

  /** Performance's clock, in ms, as if it stood still too. */
  now(): number {
    return performance.now() - (this.#noted[1] ?? 0)
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
export async function millisOf(work: () => unknown): Promise<number> {
  using standstill = new Standstill()
  const beganAt = standstill.now()
  await work()
  return standstill.now() - beganAt
}

/** What a work finds in which the right moment counts: where the machine stood still meanwhile it is done again, up to four times. */
export async function whileAwake<T>(work: () => Promise<T>, again = 4): Promise<T> {
  using standstill = new Standstill()
  const found = await work()
  return standstill.isShort || again === 0 ? found : whileAwake(work, again - 1)
}
