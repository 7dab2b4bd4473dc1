/** In ms. A call ends within two seconds, and a frozen node blocks others for half a second at most. */
export const timeouts = {
  /** One call, from its beginning to its answer: under two seconds, because timers are late on a busy machine. */
  call: 1_800,
  /**
   * One wait for a lock, limited by the server. Shorter than `idle`: otherwise a second transaction of a frozen node gets the lock that
   * its first one loses, and keeps it for as long again.
   */
  lock: 350,
  /** A transaction that waits for its client, limited by the server. */
  idle: 400,
  /** One attempt to connect to one host. */
  connect: 1_000,
}

const ticks = 10

/**
 * Calls back after some time, unless its scope ends before. If this process stands still, that counts as one tick of ten: the
 * answer may have arrived and wait to be read.
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
