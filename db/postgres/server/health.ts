import { Refusal } from '../../../src/domain/errors'
import type { Report } from '../../../src/domain/measures'
import type { Watched } from '../../../src/domain/ports/database'
import { Readiness } from '../../findings/readiness'
import { DatabaseFailure, unwrapped } from '../client/failure'
import { ClockWatch } from './clock'
import { beatMillis, type Node } from './nodes'

/** How often the database's size is read. */
const sizeMillis = 60_000

/** Failures that say nothing about whether the server accepts writes. */
const passing: ReadonlySet<DatabaseFailure['meaning']> = new Set(['constraint', 'retry', 'busy'])

/** Whether the server accepts writes: shown by the writes of callers, or by a heartbeat of this node. */
export class Health extends Readiness {
  /** The size of the database in bytes; null until it was read. */
  size: number | null = null
  readonly #clock = new ClockWatch()
  #sizeAt = -Infinity
  #beating: Timer | undefined
  #lastBeat: Promise<void> = Promise.resolve()
  #hasEnded = false

  constructor(private readonly node: Node) {
    super()
  }

  /** How far the server's clock is ahead of this machine's, in ms; null until it was read. */
  get clockDifference(): number | null {
    return this.#clock.difference
  }

  /** Notes why a write failed. Constraints and retries are normal with several nodes, and a full queue is this node's own. */
  noteFailed(error: unknown): void {
    const failure = unwrapped(error)
    if (!(failure instanceof DatabaseFailure)) return
    if (!passing.has(failure.meaning)) this.noteFault(failure.message)
  }

  /** @param isServer whether this node sends heartbeats, by which the other nodes see it */
  watch(report: Report, isServer: boolean): Watched {
    this.reportTo(report)
    if (isServer && this.#beating === undefined) {
      this.#beating = setInterval(() => this.#keepBeating(report), beatMillis)
      this.#beating.unref()
      // At once: it blocks upgrades that this server could not go on working with.
      this.#keepBeating(report)
    }
    return { isReady: async () => (await this.isReady(() => this.#tryBeat())) && this.#clock.isFit }
  }

  /** Removes this node from the list of servers, if the database can be reached. */
  async end(): Promise<void> {
    clearInterval(this.#beating)
    // A heartbeat that came later would list it again.
    this.#hasEnded = true
    await this.#lastBeat
    if (this.#beating !== undefined) await this.node.note(null).catch(() => {})
  }

  /** Heartbeats run one after another. A failure to read the clock or size is not reported: the heartbeat reports it. */
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

  /** Does not wait for a heartbeat that is running. */
  #tryBeat(): Promise<void> {
    const beat = this.#beat()
    this.#lastBeat = Promise.all([this.#lastBeat, beat]).then(() => {})
    return beat
  }

  /** Notes the outcome, and never rejects. */
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
