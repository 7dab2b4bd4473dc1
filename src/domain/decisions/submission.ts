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
import { emptyProfile, foldEmail, type Member, type MemberProfile, valuesBefore } from '../member'
import type { Version } from '../ports/directory-feed'
import {
  type AuditFact,
  type Change,
  type Decision,
  isCallerStale,
  isStale,
  type Write,
} from '../ports/writes'

/** A submission with the state of the slot, taken from a snapshot of the directory. */
export interface SubmissionDraft extends Submission {
  readonly version: Version
  /** `taken` if a request holds an overlapping slot; null for an intake. */
  readonly slotState: 'offered' | 'taken' | 'not offered' | 'provider unknown' | null
  /** The provider's UTC offset at the slot, in minutes (east is positive). Null for an intake or unknown provider. */
  readonly localOffsetMinutes: number | null
  /** Null for an intake. The assignment of the intake sets the number. */
  readonly authorizationNumber: string | null
  readonly submittedAt: number
  readonly limits: Pick<Limits, 'openRequests' | 'openIntakes' | 'emailConflicts'>
}

export interface SubmissionFacts extends RetryFacts {
  /** Directory changes since the draft, without taken slots. Null if these changes are no longer stored. */
  readonly since: readonly Change[] | null
  readonly member: Member | null
  /** The id of the member with this e-mail address. The member may belong to another partner. */
  readonly emailOwnerId: number | null
  /** Requests with an overlapping slot of the same provider. */
  readonly holders: readonly SlotHolder[]
  /** The member's slots with all providers. Past slots may be missing. */
  readonly held: readonly HeldSlot[]
  /** The number of the member's intakes without a provider. */
  readonly openIntakes: number
  /** The time (ms) of the e-mail conflict found with emailConflictQuery; null if none was found. */
  readonly conflictAt: number | null
}

export interface SlotHolder {
  readonly requestId: number
  readonly memberId: number | null
  readonly startsAt: number
}

export type HeldSlot = Omit<SlotHolder, 'memberId'>

/** The maximum number of e-mail conflicts that are logged per partner and hour. */
const maxAudited = 1_000

/**
 * Returns a query that shows whether the partner has reached the limit of e-mail conflicts. The query selects conflict
 * number `back`, counted from the newest, if that conflict is later than `after` (ms).
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
 * Decides whether a submission is stored. The order of checks is fixed (decisions, Order of checks). The slot is
 * checked before the e-mail address. Otherwise, a partner could probe addresses with an unavailable slot. A refusal
 * with an audit line is the answer of an Outcome, because a Refusal writes nothing.
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
  const refusal = slot
    ? (refuseSlot(draft, facts) ?? refuseHolding(draft, slot, facts))
    : (refuseIntake(draft, facts) ?? draft.rateRefusal)
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

function refuseIntake({ limits: { openIntakes: most } }: SubmissionDraft, { openIntakes }: SubmissionFacts) {
  if (most === null || openIntakes < most) return null
  const why = `the member has ${most} intakes without a provider, and may not have more`
  return new Refusal('too_many_open_requests', why)
}

/** Returns the held slot that overlaps with a slot at `startsAt` (ms); undefined if there is none. */
export function overlappingWith(startsAt: number, held: readonly HeldSlot[]): HeldSlot | undefined {
  return held.find((slot) => Math.abs(slot.startsAt - startsAt) < slotMillis)
}

/**
 * A partner that sends many addresses of other members may be probing who is in care. Above the limit, every new
 * address is refused. If free addresses were accepted, the response would show which addresses are known.
 */
function refuseEmail(draft: SubmissionDraft, { member, emailOwnerId, conflictAt }: SubmissionFacts) {
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
  const before = valuesBefore(known, draft.member)
  const isChanged = Object.entries(draft.member).some(
    ([name, value]) => Reflect.get(known?.profile ?? {}, name) !== value,
  )
  const member: Write = known ? { set: 'member', id: known.id, to: changed } : { add: 'member', row }
  const state = slot ? ('pending' as const) : ('unassigned' as const)
  const startsAt = slot?.startsAt ?? null
  const providerId = slot?.providerId ?? null
  const memberId = known?.id ?? ('added' as const)
  const request = { state, providerId, authorizationNumber, startsAt, acceptedAt: null, declinedAt: null }
  const requestRow = {
    ...request,
    ...{ partnerId, memberId, cancelledAt: null },
    isIntake: slot === null,
    endsAt: startsAt === null ? null : startsAt + slotMillis,
    localOffsetMinutes: draft.localOffsetMinutes,
    screeningAnswers: draft.screeningAnswers,
    sentProfile: { sent: draft.member, before },
    submittedAt,
  }
  return {
    writes: [
      ...(isChanged ? [member] : []),
      { add: 'request', row: requestRow },
      ...replayWrites(draft, facts, { memberId, request, submittedAt }, profile),
    ],
    taken: slot ? [slot.providerId] : [],
    audit: memberFact(known, before),
    answer: (ids) => ({
      ...request,
      id: ids[isChanged ? 1 : 0] as number,
      member: { id: known?.id ?? (ids[0] as number), partnerId, externalUserId, active, profile },
    }),
  }
}

/** The audit line shows the names of the changed fields, never their values. */
function memberFact(known: Member | null, before: Partial<MemberProfile>): AuditFact | null {
  if (!known) return { action: 'member.create', noun: 'member', id: null }
  const names = Object.keys(before)
  if (names.length === 0) return null
  return { action: 'member.update', noun: 'member', id: known.id, outcome: `done: ${names.join(', ')}` }
}

/** How long a response is stored for retries. */
const replayMillis = dayMillis

export interface KeptAnswer {
  readonly requestId: number
  readonly submittedAt: number
  /** Null if the retry has a different body. */
  readonly receipt: Receipt | null
}

interface RetryFacts {
  /** The response stored for this idempotency key; null if there is none. The response may have expired. */
  readonly kept: KeptAnswer | null
}

export function expiredBy(now: number): number {
  return now - replayMillis
}

/** Answers a retry with the stored response, even if the request has changed. Returns null if this is not a retry. */
function decideReplay(submittedAt: number, { kept }: RetryFacts): Decision<Replay> | null {
  if (!kept || kept.submittedAt <= expiredBy(submittedAt)) return null
  const { receipt } = kept
  if (!receipt) {
    return new Refusal('idempotency_key_reused', 'was already sent with a different body', {
      action: 'use a new key',
    })
  }
  return { writes: [], taken: [], audit: null, answer: () => ({ ...receipt, isReplay: true }) }
}

/** Returns the writes that store a response for retries. Returns none without an idempotency key. */
function replayWrites(
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
  // Remove an expired response first, because each idempotency key is unique.
  return [...removals(kept ? [kept.requestId] : []), { add: 'replay', row }]
}

export function decideForgetting(expired: readonly number[]): Decision<number> {
  return { writes: removals(expired), taken: [], audit: null, answer: () => expired.length }
}

export function removals(requestIds: readonly number[]): Write[] {
  return requestIds.map((id) => ({ remove: 'replay', id }))
}
