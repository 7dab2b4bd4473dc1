/** In ms. A call ends within two seconds, and a frozen node blocks others for half a second at most. */
export const timeouts = {
  /** One call, from its beginning to its answer: under two seconds, because timers are late on a busy machine. */
  call: 1_800,
  /**
   * One wait for a lock, by the server. Shorter than `idle`: otherwise a second transaction of a frozen node gets the lock that
   * its first one loses, and keeps it for as long again.
   */
  lock: 350,
  /** A transaction that waits for its client, by the server. */
  idle: 400,
  /** One attempt to connect to one host. */
  connect: 1_000,
}

/** Most looks of a deadline. */
const looks = 10

/**
 * Calls back when a time is over, unless its scope ends before. If this process stood still, that counts as one of ten looks:
 * the answer may have arrived and wait to be read.
 */
export class Deadline implements Disposable {
  private readonly timer: ReturnType<typeof setInterval>

  constructor(millis: number, onLate: () => void) {
    let left = looks
    this.timer = setInterval(() => {
      left -= 1
      if (left === 0) onLate()
    }, millis / looks)
  }

  [Symbol.dispose](): void {
    clearInterval(this.timer)
  }
}
