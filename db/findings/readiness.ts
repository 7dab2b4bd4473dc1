import type { Report } from '../../src/domain/measures'

/** In ms. After a write, no trial write is needed for this long. */
const knownMillis = 1_000
const trialMillis = 1_000

/** Decides if the database is writable. If there was no recent write, makes a trial write. */
export class Readiness {
  #failedAt = -Infinity
  #storedAt = -Infinity
  /** Message for the operator; null if no fault is known. */
  #fault: string | null = null
  #isDamaged = false
  #trial: Promise<void> | null = null
  #report: Report = () => {}

  reportTo(report: Report): void {
    this.#report = report
  }

  noteStored(): void {
    this.#storedAt = performance.now()
    // On a full disk a small write may succeed, so a recent failure still counts.
    if (!isKnown(this.#failedAt)) this.#turn(null)
  }

  noteFault(fault: string): void {
    this.#failedAt = performance.now()
    this.#turn(fault)
  }

  /** True if no fault is known. Makes no trial write. */
  get isFaultless(): boolean {
    return this.#fault === null
  }

  get isDamaged(): boolean {
    return this.#isDamaged
  }

  /** Call this after a check that found no damage. The next successful write then makes the database ready. */
  noteSound(): void {
    this.#isDamaged = false
  }

  /** Records damage. Only noteSound clears the damage; a successful write does not. */
  noteDamaged(fault: string): void {
    if (this.#isDamaged) return
    this.#isDamaged = true
    this.#fault = fault
    this.#report(`not ready: ${fault}`, 'error')
  }

  /** Makes at most one trial write a second. @param attempt a write that reaches the disk and changes nothing */
  async isReady(attempt: () => Promise<void>): Promise<boolean> {
    const isShown = this.#fault === null && isKnown(this.#storedAt)
    if (!this.#isDamaged && !isKnown(this.#failedAt) && !isShown) {
      this.#trial ??= this.#try(attempt)
      await this.#trial
    }
    return this.#fault === null
  }

  #try(attempt: () => Promise<void>): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const waiting = setTimeout(() => {
      if (!isKnown(this.#storedAt)) this.#turn('no write to the database succeeded within a second')
      resolve()
    }, trialMillis)
    // The timer must not keep the process alive.
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
    if (fault === null && !wasReady) this.#report('ready again', 'info')
    else if (fault !== null && wasReady) this.#report(`not ready: ${fault}`, 'error')
  }
}

function isKnown(at: number): boolean {
  return performance.now() - at < knownMillis
}
