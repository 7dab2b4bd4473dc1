import type { Report } from '../../src/domain/report'

/** For how long what came of a write says whether the next one can be made. */
const knownMillis = 1_000
/** How long whoever asks waits for a write that is tried. */
const patienceMillis = 1_000

/** Whether writes can be made, as far as is known: from those that were asked for, or from one that is tried. */
export class Readiness {
  #failedAt = -Infinity
  #storedAt = -Infinity
  /** In the operator's words; null while nothing is known to be wrong. */
  #fault: string | null = null
  #isDamaged = false
  #trial: Promise<void> | null = null
  #tell: Report = () => {}

  /** Has each change told from now on, and not each write: a command tells of its own end alone. */
  tellTo(tell: Report): void {
    this.#tell = tell
  }

  noteStored(): void {
    this.#storedAt = performance.now()
    // A write that is small may fit where others do not: one failure counts for as long as it is known.
    if (!isKnown(this.#failedAt)) this.#turn(null)
  }

  /** Notes what made a write fail. */
  noteFault(fault: string): void {
    this.#failedAt = performance.now()
    this.#turn(fault)
  }

  /** Whether nothing is known to be wrong, and nothing is tried to know it. */
  get isFaultless(): boolean {
    return this.#fault === null
  }

  get isDamaged(): boolean {
    return this.#isDamaged
  }

  /** Notes that all of the data could be read: whether a write can be made shows with the next. */
  noteSound(): void {
    this.#isDamaged = false
  }

  /** Notes what no later write makes good. */
  noteDamaged(fault: string): void {
    if (this.#isDamaged) return
    this.#isDamaged = true
    this.#fault = fault
    this.#tell(`not ready: ${fault}`, 'error')
  }

  /**
   * Whether a write can be made at the moment. However often it is asked, one is tried a second, and none where others
   * have shown it.
   *
   * @param attempt makes a write that changes nothing and reaches the disk
   */
  async isReady(attempt: () => Promise<void>): Promise<boolean> {
    const isShown = this.#fault === null && isKnown(this.#storedAt)
    if (!this.#isDamaged && !isKnown(this.#failedAt) && !isShown) {
      this.#trial ??= this.#try(attempt)
      await this.#trial
    }
    return this.#fault === null
  }

  /** Resolves once the outcome is noted, or patience has ended; then whoever asks next does not wait again. */
  #try(attempt: () => Promise<void>): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const waiting = setTimeout(() => {
      if (!isKnown(this.#storedAt)) this.#turn('the database could not be written within a second')
      resolve()
    }, patienceMillis)
    // It is no reason for the process to go on.
    waiting.unref()
    const end = () => {
      clearTimeout(waiting)
      this.#trial = null
      resolve()
    }
    attempt().then(end, end)
    return promise
  }

  #turn(fault: string | null): void {
    if (this.#isDamaged) return
    const wasReady = this.#fault === null
    this.#fault = fault
    if (fault === null && !wasReady) this.#tell('ready again', 'info')
    else if (fault !== null && wasReady) this.#tell(`not ready: ${fault}`, 'error')
  }
}

function isKnown(at: number): boolean {
  return performance.now() - at < knownMillis
}
