/** In ms. A call ends within 2 s. A frozen node blocks other nodes for at most 0.5 s. */
export const timeouts = {
  /** For one call. Less than 2 s, because timers are late on a busy machine. */
  call: 1_800,
  /** For one wait for a lock. Must be less than `idle`. Otherwise a frozen node could take its lock again. */
  lock: 350,
  /** For an open transaction in which the client sends nothing. */
  idle: 400,
  connect: 1_000,
}

const ticks = 10

/** A timeout that counts timer ticks, not time. After this process was suspended, it can still read answers that arrived. */
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
