import { Refusal } from '../../../src/domain/errors'
import type { Report } from '../../../src/domain/measures'
import type { Watched } from '../../../src/domain/ports/database'
import { Readiness } from '../../findings/readiness'
import { DatabaseFailure, unwrapped } from '../client/failure'
import { ClockWatch } from './clock'
import { beatMillis, type Node } from './nodes'

const sizeMillis = 60_000

/** Failures that do not affect readiness. They occur in normal operation too. */
const passing: ReadonlySet<DatabaseFailure['meaning']> = new Set(['constraint', 'retry', 'busy'])

/** Decides if the database is writable. Uses the outcome of all writes and of this node's heartbeats. */
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

  /** The database server's time minus this machine's time, in ms; null until measured. */
  get clockDifference(): number | null {
    return this.#clock.difference
  }

  /** Ignores failures that are normal with several nodes or under load. */
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
      // Sends the first heartbeat at once, so that an incompatible upgrade sees this running node.
      this.#keepBeating(report)
    }
    return { isReady: async () => (await this.isReady(() => this.#tryBeat())) && this.#clock.isFit }
  }

  /** Removes this node from the list of nodes, if the database is reachable. */
  async end(): Promise<void> {
    clearInterval(this.#beating)
    this.#hasEnded = true
    await this.#lastBeat
    if (this.#beating !== undefined) await this.node.note(null).catch(() => {})
  }

  /** Sends one heartbeat at a time. Failed readings of clock and size are ignored. */
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
