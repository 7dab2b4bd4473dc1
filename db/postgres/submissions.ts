import type { SubmissionDraft } from '../../src/domain/decide-submission'
import { Refusal } from '../../src/domain/errors'
import { Distribution, durationBounds } from '../../src/domain/measures'
import { newRecordKey, type Vault } from '../../src/domain/vault'
import { DatabaseFailure, toRefusal } from './client/failure'
import { patience } from './client/patience'
import type { Pool } from './client/pool'
import { isLost } from './read'
import type { Session } from './session'
import { type Answer, Attempts, type End } from './submission-attempts'
import { type Asked, namesOf } from './submission-facts'
import { isWorthAnotherTry } from './transaction'

/** Group commit: submissions in one transaction. */
const largestGroup = 64
/**
 * Transactions of this node that are under way at once: while one waits for the disk, another is decided. Fewer submissions
 * than these wait for the one that is under way, since a large group takes little more than a small one.
 */
const [mostUnderWay, worthAnother] = [2, largestGroup / 2]
/** How often a group that others were faster than is decided anew. */
const mostTries = 20

/** Who looks after what is written to. */
export interface Watch {
  noteStored(): void
  noteFailed(error: unknown): void
}

interface Job extends Asked {
  readonly queuedAt: number
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: unknown) => void
}

/**
 * Submissions, stored in groups: each group's locks are taken in one order, one statement reads everything, the domain decides
 * one after another, and what it decided is written as sets.
 */
export class Submissions {
  #queue: Job[] = []
  #underWay = 0
  /** Those that leave a line in the audit log, and whether one of them is under way. */
  #toAudit: Job[] = []
  #isAuditing = false
  #scheduled = false
  #whenIdle: PromiseWithResolvers<void> | null = null
  #refusing: ReturnType<typeof setTimeout> | null = null
  #failedGroups = 0
  /** When a group was last stored, or found to need nothing stored, on performance's clock. */
  #storedAt = -Infinity
  /** When the same became of one that leaves a line in the audit log, or the first that waits for it began to. */
  #auditedAt = -Infinity
  readonly groupSizes = new Distribution([1, 2, 4, 8, 16, 32, 64, 128])
  readonly commitMillis = new Distribution(durationBounds)

  constructor(
    private readonly pool: Pool<Session>,
    private readonly vault: Vault,
    private readonly watch: Watch,
    private readonly most = largestGroup,
  ) {}

  /** Submissions that are not begun. */
  get depth(): number {
    return this.#queue.length
  }

  /** Transactions that were begun, or tried to be, and not committed. */
  get failedGroups(): number {
    return this.#failedGroups
  }

  /** Resolves once the submission is stored, or is not to be. @throws Refusal storage_busy or storage_failed */
  async submit(draft: SubmissionDraft): Promise<Answer> {
    const asked = { draft, names: namesOf(this.vault, draft), recordKey: newRecordKey() }
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    this.#queue.push({ ...asked, queuedAt: performance.now(), resolve, reject })
    this.#schedule()
    this.#refuseLate()
    return promise
  }

  /** Whoever waits behind groups of which none is stored is told so in time: where some are, the service is only slow. */
  #refuseLate(): void {
    const [first] = this.#queue
    if (this.#refusing || !first) return
    this.#refusing = setTimeout(
      () => {
        this.#refusing = null
        // Each is asked for once: time goes on, and who became late in between would be forgotten.
        const { late = [], early = [] } = Object.groupBy(this.#queue, (job) =>
          this.#patienceLeft([job]) < patience.leastAttempt ? 'late' : 'early',
        )
        this.#queue = early
        for (const job of late) job.reject(toRefusal(new DatabaseFailure('busy')))
        this.#refuseLate()
      },
      Math.max(0, this.#patienceLeft([first]) - patience.leastAttempt),
    )
    this.#refusing.unref()
  }

  /**
   * What is left of the patience of whoever submitted first: while what is written is answered, it is only slow. Answers do not
   * count once a group could not be stored: a server whose standby is gone answers all but COMMIT, and one of which a table is
   * locked all before that; nor for who leaves a line in the audit log, since others do not wait for the lock of that.
   */
  #patienceLeft(group: readonly Job[], isAudited = false): number {
    const first = Math.min(...group.map(({ queuedAt }) => queuedAt))
    const storedAt = isAudited ? this.#auditedAt : this.#storedAt
    return Math.max(first, storedAt) + patience.submission - performance.now()
  }

  /** Whoever waits may have waited for long enough by now. */
  #noteFailing(): void {
    clearTimeout(this.#refusing ?? undefined)
    this.#refusing = null
    this.#refuseLate()
  }

  /** Resolves once all that was asked for is answered: who asked for it may be gone. */
  async drain(): Promise<void> {
    if (this.#isIdle) return
    this.#whenIdle ??= Promise.withResolvers()
    await this.#whenIdle.promise
  }

  get #isIdle(): boolean {
    return this.#queue.length + this.#toAudit.length + this.#underWay === 0 && !this.#isAuditing
  }

  /** What comes in in one turn of the event loop goes together. */
  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      while (this.#mayBegin() && this.#beginGroup());
      // Those for whom it was to begin may have been refused meanwhile.
      if (this.#isIdle) this.#whenIdle?.resolve()
    })
  }

  #mayBegin(): boolean {
    const isWorthAnother = this.#queue.length >= Math.min(worthAnother, this.most)
    return this.#underWay === 0 || (this.#underWay < mostUnderWay && isWorthAnother)
  }

  #beginGroup(): boolean {
    if (this.#queue.length === 0) return false
    const group = this.#queue.splice(0, this.most)
    this.#underWay++
    this.#store(group).finally(() => {
      this.#underWay--
      if (this.#queue.length > 0) this.#schedule()
      else if (this.#isIdle) this.#whenIdle?.resolve()
    })
    return true
  }

  /** Stores a group, whatever becomes of it in between, and answers each of it, or has it decided apart. */
  async #store(group: readonly Job[]): Promise<void> {
    try {
      const ends = await this.#storeGroup(group, false)
      const those = (what: End['is']) => group.filter((_, index) => ends[index]?.is === what)
      this.#queue.unshift(...those('to come after'))
      const toAudit = those('to be audited')
      // It took its time to find out that they are: that is not held against them.
      if (!this.#isAuditing && toAudit.length > 0) this.#auditedAt = performance.now()
      this.#toAudit.push(...toAudit)
      for (const [index, job] of group.entries()) answer(job, ends[index] as End)
      if (!this.#isAuditing) this.#storeAudited()
    } catch (error) {
      for (const job of group) job.reject(toRefusal(error))
    }
  }

  /** One after another, beside the groups: a partner may send hundreds together, and nobody who leaves no line waits for them. */
  async #storeAudited(): Promise<void> {
    this.#isAuditing = true
    for (let job = this.#toAudit.shift(); job; job = this.#toAudit.shift()) {
      try {
        answer(job, (await this.#storeGroup([job], true))[0] as End)
      } catch (error) {
        job.reject(toRefusal(error))
      }
    }
    this.#isAuditing = false
    if (this.#isIdle) this.#whenIdle?.resolve()
  }

  async #storeGroup(group: readonly Job[], isAudited: boolean): Promise<End[]> {
    const attempts = new Attempts(group, isAudited)
    const beganAt = performance.now()
    let failingUntil = Infinity
    for (let tries = 1; ; tries++) {
      const left = Math.min(
        patience.attempt,
        this.#patienceLeft(group, isAudited),
        failingUntil - performance.now(),
      )
      // Those that are stored one by one may have waited for each other.
      if (left < patience.leastAttempt) throw new DatabaseFailure('busy')
      try {
        const ends = await this.pool.use((session) => attempts.run(session), left)
        if (ends) {
          this.#storedAt = performance.now()
          if (isAudited) this.#auditedAt = this.#storedAt
          this.watch.noteStored()
          this.groupSizes.note(group.length)
          this.commitMillis.note(performance.now() - beganAt)
          return ends
        }
      } catch (error) {
        this.#failedGroups++
        this.watch.noteFailed(error)
        // Who waits for the lock of the audit log is in nobody else's way.
        if (isLost(error) || (!isAudited && isWorthAnotherTry(error))) this.#noteFailing()
        if (isConstraint(error)) return this.#storeApart(group, isAudited, error)
        if (!isWorthAnotherTry(error) && !isLost(error)) throw error
        failingUntil = Math.min(failingUntil, performance.now() - left + patience.submission)
      }
      if (tries === mostTries) throw new DatabaseFailure('busy')
    }
  }

  /** One of them cannot be stored: that hurts no other. By halves, so that most stay together. */
  async #storeApart(group: readonly Job[], isAudited: boolean, error: unknown): Promise<End[]> {
    // An authorization number that another request has, say, which is drawn at random.
    if (group.length === 1) return [{ is: 'failed', error: overtaken(error) }]
    const middle = Math.ceil(group.length / 2)
    const ends: End[] = []
    for (const half of [group.slice(0, middle), group.slice(middle)]) {
      const failing = (error: unknown): End[] => half.map(() => ({ is: 'failed', error }))
      ends.push(...(await this.#storeGroup(half, isAudited).catch(failing)))
    }
    return ends
  }
}

function overtaken(error: unknown): unknown {
  const isNumber = (error as DatabaseFailure).constraint === 'booking_requests_authorization_number_key'
  return isNumber ? new Refusal('slot_unavailable', 'the slot is not available') : error
}

function answer(job: Job, end: End): void {
  if (end.is === 'failed') job.reject(toRefusal(end.error))
  else if (end.is === 'answered') job.resolve(end.answer)
}

function isConstraint(error: unknown): boolean {
  return error instanceof DatabaseFailure && error.meaning === 'constraint'
}
