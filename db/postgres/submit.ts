import type { BookingRequest, Replay } from '../../src/domain/booking-request'
import { decideSubmission, type SubmissionDraft, submitterOf } from '../../src/domain/decisions/submission'
import { Refusal } from '../../src/domain/errors'
import { Distribution, durationBounds } from '../../src/domain/measures'
import { pause } from '../../src/domain/ports/time'
import { newRecordKey, type Vault } from '../../src/domain/ports/vault'
import { linesOf } from '../../src/domain/ports/writes'
import { changesOf } from '../queries/changes'
import { replacedIn } from '../queries/requests/partner-requests'
import { DatabaseFailure, toRefusal } from './client/failure'
import type { Pool } from './client/pool'
import { Deadline, timeouts } from './client/timeouts'
import { sharing, taking, takingNamed } from './locks'
import type { Session } from './session'
import { type Keys, keysOf } from './submission-facts'
import { type Acts, type Done, noted, transact } from './transaction'

/** A refusal with an audit line is returned and not thrown, so that COMMIT stores the line. */
export type Answer = BookingRequest | Replay | Refusal | 'stale'

/**
 * Shares of a call's timeout: the maximum for all attempts, the maximum for one attempt, and the minimum for a new
 * attempt.
 */
const [allShare, oneShare, leastShare] = [0.95, 0.75, 0.2]

/** Queued audit lines of this time (ms) are appended to the log together. */
const settlingMillis = 1_000

/** Receives the outcome of writes, for readiness. */
export interface Watch {
  noteStored(): void
  noteFailed(error: unknown): void
}

interface PendingSubmission {
  readonly draft: SubmissionDraft
  readonly keys: Keys
  readonly recordKey: string
  /** Value of performance.now(). */
  readonly endsAt: number
}

/** Each submission is one transaction of three round trips: locks, facts, then writes with COMMIT. */
export class Submissions {
  readonly #underWay = new Set<Promise<Answer>>()
  failed = 0
  /** Always 1, because each submission is one transaction. */
  readonly groupSizes = new Distribution([1])
  readonly commitMillis = new Distribution(durationBounds)
  #settling: Promise<void> | null = null

  constructor(
    private readonly pool: Pool<Session>,
    private readonly vault: Vault,
    private readonly acts: Pick<Acts, 'inTurn' | 'settle'>,
    private readonly watch: Watch,
  ) {}

  async submit(draft: SubmissionDraft): Promise<Answer> {
    const endsAt = performance.now() + allShare * timeouts.call
    const keys = keysOf(this.vault, draft)
    const stored = this.#store({ draft, keys, recordKey: newRecordKey(), endsAt })
    this.#underWay.add(stored)
    const forget = () => void this.#underWay.delete(stored)
    stored.then(forget, forget)
    try {
      return await stored
    } catch (error) {
      throw isNumberTaken(error)
        ? new Refusal('slot_unavailable', 'the slot is not available')
        : toRefusal(error)
    }
  }

  /** Also appends the queued audit lines. */
  async drain(): Promise<void> {
    await Promise.allSettled(this.#underWay)
    if (this.#settling) await this.#settle()
  }

  /** Lines that cannot be appended now stay queued for the next act, node or command. */
  #settle(): Promise<void> {
    return this.acts.settle().catch(() => {})
  }

  #settleSoon(): void {
    this.#settling ??= pause(settlingMillis).then(() => {
      this.#settling = null
      return this.#settle()
    })
  }

  async #store(asked: PendingSubmission): Promise<Answer> {
    const answer = await this.#transact(asked, false)
    if (answer !== 'to be audited') return answer
    const late = Promise.withResolvers<never>()
    using _ = new Deadline(asked.endsAt - performance.now(), () => late.reject(new DatabaseFailure('busy')))
    const audited = this.acts.inTurn(() => this.#transact(asked, true)) as Promise<Answer>
    return await Promise.race([audited, late.promise])
  }

  async #transact(asked: PendingSubmission, isAudited: boolean): Promise<Answer | 'to be audited'> {
    const beganAt = performance.now()
    const keys = Object.values(asked.keys).filter((key) => key !== null)
    const left = () => asked.endsAt - performance.now()
    const how = {
      locks: [
        // A conflict that is being audited excludes other submissions, because it counts against their limit.
        ...(isAudited ? [taking('audit'), taking('directory')] : [sharing('directory')]),
        takingNamed(keys, asked.draft.slot),
      ],
      attemptMillis: () =>
        left() < leastShare * timeouts.call ? null : Math.min(oneShare * timeouts.call, left()),
      noteFailed: (error: unknown) => {
        if (error instanceof DatabaseFailure) this.failed++
        this.watch.noteFailed(error)
      },
    }
    let isQueued = false
    const answer = await transact(this.pool, how, async (session) => {
      const done = await decideAndWrite(session, asked, isAudited)
      isQueued = done.queued !== undefined && done.queued.length > 0
      return done
    })
    if (isQueued) this.#settleSoon()
    this.watch.noteStored()
    this.groupSizes.note(1)
    this.commitMillis.note(performance.now() - beganAt)
    return answer
  }
}

function isNumberTaken(error: unknown): boolean {
  return (error as DatabaseFailure).constraint === 'booking_requests_authorization_number_key'
}

/** @param isAudited true if the transaction holds the audit lock */
async function decideAndWrite(
  { submissions, records }: Session,
  { draft, keys, recordKey }: PendingSubmission,
  isAudited: boolean,
): Promise<Done<Answer | 'to be audited'>> {
  const found = await submissions.read(draft, keys)
  const decision = decideSubmission(draft, found.facts)
  if (decision === 'stale') return { ...noted, answer: decision }
  if (decision instanceof Refusal) throw decision
  // Only a refusal takes the audit lock, because the next refusal counts its line. Other lines are queued.
  const isRefusal = decision.writes.length === 0
  if (decision.audit && isRefusal && !isAudited) return { ...noted, answer: 'to be audited' }
  const { ids, pending } = await records.write(decision.writes, {
    members: found.sealedMembers,
    requestKeys: [recordKey],
    ids: { member: [found.memberId], request: [found.requestId] },
  })
  const lines = linesOf(decision, submitterOf(draft), ids[0])
  return {
    answer: decision.answer(ids),
    lines: isRefusal ? lines : [],
    queued: isRefusal ? [] : lines,
    changed: changesOf(decision, ids),
    replaced: replacedIn(decision, ids),
    pending,
    ...(decision.writes.length > 0 && { recordKey }),
  }
}
