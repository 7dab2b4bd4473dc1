import { spyOn } from 'bun:test'

/** Performance's clock, held: it goes on by what a test lets pass alone, however slow the machine is. Leaving its scope frees it. */
export class HeldTime implements Disposable {
  #now = Math.ceil(performance.now())
  readonly #clock = spyOn(performance, 'now').mockImplementation(() => this.#now)

  /** Lets some ms pass. */
  pass(millis: number): void {
    this.#now += millis
  }

  [Symbol.dispose](): void {
    this.#clock.mockRestore()
  }
}
