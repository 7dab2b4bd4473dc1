import type { Connection } from './connection'
import { DatabaseFailure } from './failure'
import { patience } from './patience'

/** How long an answer that is late is still waited for: this process may have had no time to read it. */
const graceMillis = 10

/** Watches whether a server answers somebody who works with it (failure detector). Leaving its scope ends it. */
export class SilenceWatch implements Disposable {
  private readonly found = Promise.withResolvers<never>()
  private timer: ReturnType<typeof setTimeout> | undefined
  private isOver = false

  /**
   * @param silentMillis how long the server may answer nothing. Where that is long, it is so sooner if the server answers
   *   nobody else either: a server that stands still is told from one that is at work
   */
  constructor(
    private readonly connection: Connection,
    private readonly silentMillis: number,
  ) {
    this.lookIn(Math.min(silentMillis, patience.act), false)
  }

  /** Rejects with a DatabaseFailure once it is silent for too long; its connection is closed by then. */
  get silence(): Promise<never> {
    return this.found.promise
  }

  [Symbol.dispose](): void {
    this.isOver = true
    clearTimeout(this.timer)
  }

  private lookIn(millis: number, isLast: boolean): void {
    this.timer = setTimeout(() => this.look(isLast), millis)
  }

  private async look(isLast: boolean): Promise<void> {
    const silent = this.connection.silentMillis
    const isLong = silent >= patience.act
    const goesOn =
      silent < this.silentMillis &&
      (!isLong || (!isLast && (await this.connection.isServerThere(patience.act))))
    if (this.isOver) return
    if (goesOn) this.lookIn(Math.min(this.silentMillis - silent, patience.act - (isLong ? 0 : silent)), false)
    // An answer may have come while this process had no time to read it.
    else if (!isLast) this.lookIn(graceMillis, true)
    else {
      const meaning = this.connection.mayHaveCommitted ? 'lost' : 'retry'
      this.connection.close()
      this.found.reject(new DatabaseFailure(meaning, 'ETIMEDOUT'))
    }
  }
}
