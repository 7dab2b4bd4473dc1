import { dayMillis } from '../../scheduling/calendar'
import type { Receipt, Replay, Submission } from '../booking-request'
import { Refusal } from '../errors'
import type { MemberProfile } from '../member'
import type { Decision, Write } from '../ports/writes'

/** How long an answer is kept for retries (decisions, Idempotency-Key). */
const keptMillis = dayMillis

/** What is kept for the retries of an earlier submission. */
export interface KeptAnswer {
  readonly requestId: number
  /** ms */
  readonly submittedAt: number
  /** Null where something else was sent then. */
  readonly receipt: Receipt | null
}

/** What holds of retries at the moment of writing. */
export interface RetryFacts {
  /** Under the partner and the key, however old; null where there is nothing, or no key. */
  readonly kept: KeptAnswer | null
}

/** What was answered at this instant (ms) or before is kept no longer at another. */
export function expiredBy(now: number): number {
  return now - keptMillis
}

/**
 * A retry gets the first answer, whatever has become of the request since, and changes nothing. Null for what is none. What
 * was refused was not kept: it is judged anew.
 */
export function decideReplay(submittedAt: number, { kept }: RetryFacts): Decision<Replay> | null {
  if (!kept || kept.submittedAt <= expiredBy(submittedAt)) return null
  const { receipt } = kept
  if (!receipt) {
    return new Refusal('idempotency_key_reused', 'was sent before with another body')
  }
  return { writes: [], taken: [], audit: null, answer: () => ({ ...receipt, isReplay: true }) }
}

/** The writes beside a submission that is stored, by which its retries will be known; none where it has no key. */
export function keepingAnswer(
  { retry, partnerId }: Submission,
  { kept }: RetryFacts,
  told: Pick<Extract<Write, { add: 'replay' }>['row'], 'memberId' | 'request' | 'submittedAt'>,
  profile: MemberProfile,
): Write[] {
  if (!retry) return []
  const { firstName, email, phoneNumber, preferredModality } = profile
  const row = {
    ...told,
    ...{ partnerId, retry, requestId: 'added' as const },
    profile: { firstName, email, phoneNumber, preferredModality },
  }
  // One that has expired and was not removed yet is in the way of the next under its key.
  return [...removals(kept ? [kept.requestId] : []), { add: 'replay', row }]
}

/** Removes what is kept no longer, though nobody asks for it, and tells how much that was. */
export function decideForgetting(expired: readonly number[]): Decision<number> {
  return { writes: removals(expired), taken: [], audit: null, answer: () => expired.length }
}

/** Of the answers to requests, where any were kept. */
export function removals(requestIds: readonly number[]): Write[] {
  return requestIds.map((id) => ({ remove: 'replay', id }))
}
