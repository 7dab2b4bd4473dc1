import { dayMillis, hourMillis } from '../../scheduling/calendar'
import type { Act } from '../audit'
import {
  type BookingRequest,
  type Receipt,
  type Replay,
  type RequestedSlot,
  type Submission,
  slotMillis,
} from '../booking-request'
import { Refusal } from '../errors'
import type { Limits } from '../limits'
import { emptyProfile, foldEmail, type Member, type MemberProfile } from '../member'
import type { Version } from '../ports/directory-feed'
import { type Change, type Decision, isCallerStale, isStale, type Outcome, type Write } from '../ports/writes'

/** A submission, with the slot's state in a snapshot of the directory. */
export interface SubmissionDraft extends Submission {
  readonly version: Version
  /** `taken` if a request holds the slot or part of it; null for an intake. */
  readonly slotState: 'offered' | 'taken' | 'not offered' | 'provider unknown' | null
  /** The provider's current offset at the slot, in minutes east of UTC; null for an intake or an unknown provider. */
  readonly localOffsetMinutes: number | null
  /** Null for an intake. */
  readonly authorizationNumber: string | null
  readonly submittedAt: number
  readonly limits: Pick<Limits, 'openRequests' | 'emailConflicts'>
}

export interface SubmissionFacts extends RetryFacts {
  /** Directory changes since the draft's version, except taken slots; null if they are no longer stored. */
  readonly since: readonly Change[] | null
  readonly member: Member | null
  /** The member, of any partner, to whom the e-mail address belongs. */
  readonly emailOwnerId: number | null
  /** Requests that hold an overlapping slot of the provider. */
  readonly holders: readonly SlotHolder[]
  /** The member's slots with any provider. Past slots may be missing. */
  readonly held: readonly HeldSlot[]
  /** The time in ms of the conflict that emailConflictQuery selects; null if there is none. */
  readonly conflictAt: number | null
}

export interface SlotHolder {
  readonly requestId: number
  readonly memberId: number | null
  readonly startsAt: number
}

export type HeldSlot = Omit<SlotHolder, 'memberId'>

/** Maximum of e-mail conflicts in the audit log per partner and hour. More would flood the log. */
const maxAudited = 1_000

/**
 * Selects one e-mail conflict of the partner: number `back` from the newest, if it is later than `after` (ms). If this
 * conflict exists, the partner has reached the limit.
 */
export function emailConflictQuery(draft: SubmissionDraft) {
  const { submittedAt, limits } = draft
  const { actor } = submitterOf(draft)
  return { actor, after: submittedAt - hourMillis, back: limits.emailConflicts ?? maxAudited }
}

export function submitterOf({ partnerId, submittedAt }: SubmissionDraft): Act {
  return { actor: `partner ${partnerId}`, at: submittedAt }
}

/**
 * Decides whether a submission is stored. The order of checks is fixed (decisions, Order of checks). The slot comes
 * before the e-mail address, so that an unavailable slot cannot be used to probe addresses. A Refusal writes nothing, so
 * a refusal with an audit line is returned inside an Outcome, as its answer.
 */
export function decideSubmission(
  draft: SubmissionDraft,
  facts: SubmissionFacts,
): 'stale' | Decision<BookingRequest | Replay | Refusal> {
  const { slot } = draft
  const { member } = facts
  // The token may have been revoked while the submission waited in the write queue.
  if (isCallerStale(facts.since)) return 'stale'
  if (slot && isStale(facts.since, slot.providerId)) return 'stale'
  const replay = decideReplay(draft.submittedAt, facts)
  if (replay) return replay
  // The draft saw the slot as taken, but the slot was released in the meantime.
  if (draft.slotState === 'taken' && facts.holders.length === 0) return 'stale'
  if (member && !member.active) return new Refusal('member_deactivated', 'the member is deactivated')
  const refusal = slot && (refuseSlot(draft, facts) ?? refuseHolding(draft, slot, facts))
  return refusal || refuseEmail(draft, facts) || store(draft, facts)
}

function refuseSlot({ slot, slotState }: SubmissionDraft, { member, holders }: SubmissionFacts) {
  if (holders.some(({ memberId, startsAt }) => memberId === member?.id && startsAt === slot?.startsAt)) {
    return new Refusal('slot_already_yours', 'the member already holds this slot')
  }
  if (slotState === 'provider unknown') {
    return new Refusal('provider_unknown', 'no provider with this id can be booked')
  }
  const isFree = slotState === 'offered' && holders.length === 0
  return isFree ? null : new Refusal('slot_unavailable', 'the slot is not available')
}

function refuseHolding(
  { submittedAt, limits }: SubmissionDraft,
  { startsAt }: RequestedSlot,
  { held }: SubmissionFacts,
) {
  if (overlappingWith(startsAt, held)) {
    return new Refusal(
      'slot_conflicts_with_yours',
      'the member already has a slot that overlaps with this one',
    )
  }
  const future = held.filter((slot) => slot.startsAt > submittedAt)
  const most = limits.openRequests
  if (most === null || future.length < most) return null
  const why = `the member has ${most} open requests with a future slot, and may not have more`
  return new Refusal('too_many_open_requests', why)
}

/** Returns the member's slot that overlaps one with this start (ms). */
export function overlappingWith(startsAt: number, held: readonly HeldSlot[]): HeldSlot | undefined {
  return held.find((slot) => Math.abs(slot.startsAt - startsAt) < slotMillis)
}

/**
 * A partner that sends many addresses of other members may be probing who is in care. Above the limit, every address
 * that the member does not have yet is refused, even a free one. Otherwise, the response would show which addresses are
 * known.
 */
function refuseEmail(
  draft: SubmissionDraft,
  { member, emailOwnerId, conflictAt }: SubmissionFacts,
): Refusal | Outcome<Refusal> | null {
  const isNew = !member || foldEmail(member.profile.email) !== foldEmail(draft.member.email)
  if (isNew && conflictAt !== null && draft.limits.emailConflicts !== null) {
    const why = 'too many e-mail addresses of other members were sent'
    const retryAfterSeconds = Math.ceil((conflictAt + hourMillis - draft.submittedAt) / 1000)
    return new Refusal('email_conflicts_limited', why, { action: 'try again later', retryAfterSeconds })
  }
  if (emailOwnerId === null || emailOwnerId === member?.id) return null
  const refusal = new Refusal('email_taken', 'already belongs to a different member')
  if (conflictAt !== null) return refusal
  const fact = { action: 'member.email-conflict', noun: 'member', id: emailOwnerId } as const
  return { writes: [], taken: [], audit: { ...fact, outcome: refusal.kind }, answer: () => refusal }
}

function store(draft: SubmissionDraft, facts: SubmissionFacts): Decision<BookingRequest> {
  const { partnerId, externalUserId, slot, submittedAt, authorizationNumber } = draft
  const { member: known } = facts
  const profile: MemberProfile = { ...(known?.profile ?? emptyProfile), ...draft.member }
  const active = known?.active ?? true
  const changed = { profile, updatedAt: submittedAt }
  const row = { ...changed, partnerId, externalUserId, active, createdAt: submittedAt }
  const member: Write = known ? { set: 'member', id: known.id, to: changed } : { add: 'member', row }
  const state = slot ? ('pending' as const) : ('unassigned' as const)
  const startsAt = slot?.startsAt ?? null
  const providerId = slot?.providerId ?? null
  const memberId = known?.id ?? ('added' as const)
  const request = { state, providerId, authorizationNumber, startsAt, acceptedAt: null, declinedAt: null }
  const requestRow = {
    ...request,
    memberId,
    isIntake: slot === null,
    endsAt: startsAt === null ? null : startsAt + slotMillis,
    localOffsetMinutes: draft.localOffsetMinutes,
    screeningAnswers: draft.screeningAnswers,
    submittedAt,
  }
  return {
    writes: [
      member,
      { add: 'request', row: requestRow },
      ...replayWrites(draft, facts, { memberId, request, submittedAt }, profile),
    ],
    taken: slot ? [slot.providerId] : [],
    audit: null,
    answer: ([memberId, id]) => ({
      ...request,
      id: id as number,
      member: { id: memberId as number, partnerId, externalUserId, active, profile },
    }),
  }
}

/** How long a response is stored for retries. */
const replayMillis = dayMillis

export interface KeptAnswer {
  readonly requestId: number
  readonly submittedAt: number
  /** Null if the body was different. */
  readonly receipt: Receipt | null
}

export interface RetryFacts {
  /** The response stored under the partner's idempotency key, even if it has expired; null if there is none. */
  readonly kept: KeptAnswer | null
}

export function expiredBy(now: number): number {
  return now - replayMillis
}

/** Repeats the stored response, even if the request has changed since, and writes nothing. Null if this is no retry. */
export function decideReplay(submittedAt: number, { kept }: RetryFacts): Decision<Replay> | null {
  if (!kept || kept.submittedAt <= expiredBy(submittedAt)) return null
  const { receipt } = kept
  if (!receipt) {
    return new Refusal('idempotency_key_reused', 'was already sent with a different body', {
      action: 'use a new key',
    })
  }
  return { writes: [], taken: [], audit: null, answer: () => ({ ...receipt, isReplay: true }) }
}

/** Returns the writes that store a response for retries: none if the submission has no idempotency key. */
export function replayWrites(
  { retry, partnerId }: Submission,
  { kept }: RetryFacts,
  answered: Pick<Extract<Write, { add: 'replay' }>['row'], 'memberId' | 'request' | 'submittedAt'>,
  profile: MemberProfile,
): Write[] {
  if (!retry) return []
  const { firstName, email, phoneNumber, preferredModality } = profile
  const row = {
    ...answered,
    ...{ partnerId, retry, requestId: 'added' as const },
    profile: { firstName, email, phoneNumber, preferredModality },
  }
  // An expired response under the same key would violate the unique index.
  return [...removals(kept ? [kept.requestId] : []), { add: 'replay', row }]
}

export function decideForgetting(expired: readonly number[]): Decision<number> {
  return { writes: removals(expired), taken: [], audit: null, answer: () => expired.length }
}

export function removals(requestIds: readonly number[]): Write[] {
  return requestIds.map((id) => ({ remove: 'replay', id }))
}
