import type { Watched } from '../../src/domain/database'
import { Refusal } from '../../src/domain/errors'
import type { Report } from '../../src/domain/report'
import { Readiness } from '../findings/readiness'
import { DatabaseFailure, unwrapped } from './client/failure'
import { ClockWatch } from './server/clock'
import { beatMillis, type Node } from './server/nodes'

/** How often the server is asked how large the database is. */
const sizeMillis = 60_000

/** Whether writes can be made to a server, by what became of those that were asked for, or by a beat of this node. */
export class Health extends Readiness {
  #beating: Timer | undefined
  #lastBeat: Promise<void> = Promise.resolve()
  #hasEnded = false
  readonly #clock = new ClockWatch()
  #size: number | null = null
  #sizeAt = -Infinity

  constructor(private readonly node: Node) {
    super()
  }

  /** What the server's clock shows beyond this machine's, in ms; null until it was read. */
  get clockDifference(): number | null {
    return this.#clock.difference
  }

  /** How large the database is, in bytes; null until the server was asked. */
  get size(): number | null {
    return this.#size
  }

  /** Takes what made a write fail; what is not the database's fault is none of its concern. */
  noteFailed(error: unknown): void {
    const failure = unwrapped(error)
    if (!(failure instanceof DatabaseFailure)) return
    // A constraint that stops a statement, and one that has to be tried again, are the everyday life of several nodes.
    if (failure.meaning !== 'constraint' && failure.meaning !== 'retry') this.noteFault(failure.message)
  }

  /** Begins to look after the database. @param isServer whether the other nodes are to see this one at work from now on */
  watch(tell: Report, isServer: boolean): Watched {
    this.tellTo(tell)
    if (isServer && this.#beating === undefined) {
      // The others go by it too, so it beats even while bookings show that all is well.
      this.#beating = setInterval(() => this.#keepBeating(tell), beatMillis)
      this.#beating.unref()
      // At once: an upgrade that this server could not go on beside is refused from now on.
      this.#keepBeating(tell)
    }
    return { isReady: async () => (await this.isReady(() => this.#tryBeat())) && this.#clock.isFit }
  }

  /** Takes leave of the other nodes, as far as the server can be reached. */
  async end(): Promise<void> {
    clearInterval(this.#beating)
    // One that is under way, or comes later, would bring it back.
    this.#hasEnded = true
    await this.#lastBeat
    if (this.#beating !== undefined) await this.node.note(null).catch(() => {})
  }

  #keepBeating(tell: Report): void {
    // Whatever keeps it from being read is told by the beat. One after another: the last is waited for at the end.
    this.#lastBeat = this.#lastBeat
      .then(() => this.#beat())
      .then(() => this.#lookAround(tell).catch(() => {}))
      .then(() => this.node.noteReadiness(this.isFaultless && this.#clock.isFit).catch(() => {}))
  }

  async #lookAround(tell: Report): Promise<void> {
    this.#clock.note(await this.node.readClock(), tell)
    if (performance.now() - this.#sizeAt < sizeMillis) return
    this.#sizeAt = performance.now()
    this.#size = await this.node.readSize()
  }

  /** At once, whatever is under way. */
  #tryBeat(): Promise<void> {
    const beat = this.#beat()
    this.#lastBeat = Promise.all([this.#lastBeat, beat]).then(() => {})
    return beat
  }

  /** However it ends, it is noted. */
  async #beat(): Promise<void> {
    if (this.#hasEnded) return
    try {
      await this.node.beat()
      this.noteStored()
    } catch (error) {
      const failure = unwrapped(error)
      const isKnown = failure instanceof DatabaseFailure || failure instanceof Refusal
      this.noteFault(isKnown ? failure.message : 'the database could not be written')
    }
  }
}
