/** In ms. A call ends within 2 s. A frozen node blocks other nodes for at most 0.5 s. */
export const timeouts = {
  /** For one call. Below 2 s, because timers are late on a busy machine. */
  call: 1_800,
  /**
   * For one wait for a lock. Must be below `idle`. Otherwise a frozen node could get its lock again in a second
   * transaction.
   */
  lock: 350,
  /** For an open transaction whose client sends nothing. */
  idle: 400,
  connect: 1_000,
}

const ticks = 10

/**
 * Counts ticks of a timer. A suspension of this process counts as one tick. Answers that arrived meanwhile are still
 * read.
 */
export class Deadline implements Disposable {
  private readonly timer: ReturnType<typeof setInterval>

  constructor(millis: number, onLate: () => void) {
    let left = ticks
    this.timer = setInterval(() => {
      left -= 1
      if (left === 0) onLate()
    }, millis / ticks)
  }

  [Symbol.dispose](): void {
    clearInterval(this.timer)
  }
}
