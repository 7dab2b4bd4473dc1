import { Refusal } from '../../../src/domain/errors'
import type { Report } from '../../../src/domain/measures'
import type { Watched } from '../../../src/domain/ports/database'
import { Readiness } from '../../findings/readiness'
import { DatabaseFailure, unwrapped } from '../client/failure'
import { ClockWatch } from './clock'
import { beatMillis, type Node } from './nodes'

const sizeMillis = 60_000

/** These failures show no fault. They also occur while the database server accepts writes. */
const passing: ReadonlySet<DatabaseFailure['meaning']> = new Set(['constraint', 'retry', 'busy'])

/** Derives write readiness from the writes of callers and the heartbeats of this node. */
export class Health extends Readiness {
  /** Database size in bytes; null until measured. */
  size: number | null = null
  readonly #clock = new ClockWatch()
  #sizeAt = -Infinity
  #beating: Timer | undefined
  #lastBeat: Promise<void> = Promise.resolve()
  #hasEnded = false

  constructor(private readonly node: Node) {
    super()
  }

  /** How far the database server's clock is ahead of this machine's, in ms; null until measured. */
  get clockDifference(): number | null {
    return this.#clock.difference
  }

  /** Ignores failures in `passing`: they are normal with several nodes or under load. */
  noteFailed(error: unknown): void {
    const failure = unwrapped(error)
    if (!(failure instanceof DatabaseFailure)) return
    if (!passing.has(failure.meaning)) this.noteFault(failure.message)
  }

  /** @param isServer true if this node sends heartbeats */
  watch(report: Report, isServer: boolean): Watched {
    this.reportTo(report)
    if (isServer && this.#beating === undefined) {
      this.#beating = setInterval(() => this.#keepBeating(report), beatMillis)
      this.#beating.unref()
      // Sends the first heartbeat at once. An upgrade to an incompatible schema must see that this node runs.
      this.#keepBeating(report)
    }
    return { isReady: async () => (await this.isReady(() => this.#tryBeat())) && this.#clock.isFit }
  }

  /** Removes this node from the list of nodes, if the database is reachable. */
  async end(): Promise<void> {
    clearInterval(this.#beating)
    // Stops heartbeats, because a later one would list this node again.
    this.#hasEnded = true
    await this.#lastBeat
    if (this.#beating !== undefined) await this.node.note(null).catch(() => {})
  }

  /** Sends one heartbeat at a time. Failed readings of clock and size are ignored: the heartbeat shows the fault. */
  #keepBeating(report: Report): void {
    this.#lastBeat = this.#lastBeat
      .then(() => this.#beat())
      .then(() => this.#readServer(report).catch(() => {}))
      .then(() => this.node.noteReadiness(this.isFaultless && this.#clock.isFit).catch(() => {}))
  }

  async #readServer(report: Report): Promise<void> {
    this.#clock.note(await this.node.readClock(), report)
    if (performance.now() - this.#sizeAt < sizeMillis) return
    this.#sizeAt = performance.now()
    this.size = await this.node.readSize()
  }

  /** Sends a heartbeat even if another one is running. */
  #tryBeat(): Promise<void> {
    const beat = this.#beat()
    this.#lastBeat = Promise.all([this.#lastBeat, beat]).then(() => {})
    return beat
  }

  /** Records the outcome for readiness. Never rejects. */
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
