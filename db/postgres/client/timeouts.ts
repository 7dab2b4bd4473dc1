/** In ms. A call ends within 2 s, and a frozen node blocks others for 0.5 s at most. */
export const timeouts = {
  /** One call, from start to answer. Below 2 s, because timers are late on a busy machine. */
  call: 1_800,
  /**
   * One wait for a lock, limited by the server. Shorter than `idle`: otherwise a second transaction of a
   * frozen node would get the lock that its first one loses, and block as long again.
   */
  lock: 350,
  /** A transaction that waits for its client, limited by the server. */
  idle: 400,
  connect: 1_000,
}

const ticks = 10

/** A suspension of this process counts as one of ten ticks, because the answer may have arrived unread. */
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
