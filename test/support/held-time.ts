import { spyOn } from 'bun:test'

/** Replaces `performance.now()` with a clock that only `pass` moves. Disposing restores it. */
export class FakeClock implements Disposable {
  #now = Math.ceil(performance.now())
  readonly #clock = spyOn(performance, 'now').mockImplementation(() => this.#now)

  pass(millis: number): void {
    this.#now += millis
  }

  [Symbol.dispose](): void {
    this.#clock.mockRestore()
  }
}
