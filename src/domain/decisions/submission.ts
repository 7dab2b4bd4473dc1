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

/** A submission with what a snapshot of the directory says of the slot that it asks for. */
export interface SubmissionDraft extends Submission {
  /** The snapshot's version. */
  readonly version: Version
  /** Taken where somebody holds it or a part of it. Null for an intake, as are the two below. */
  readonly slotState: 'offered' | 'taken' | 'not offered' | 'provider unknown' | null
  /** Minutes east of UTC of the provider's clock at the slot, by the zone data of now. */
  readonly localOffsetMinutes: number | null
  /** Goes with the provider. */
  readonly authorizationNumber: string | null
  /** ms */
  readonly submittedAt: number
  /** What the member may hold, and the partner send. */
  readonly limits: Pick<Limits, 'openRequests' | 'emailConflicts'>
}

/** What holds at the moment of writing. */
export interface SubmissionFacts extends RetryFacts {
  /** Changes of the directory since the draft's version, except taken slots; null if they are no longer kept. */
  readonly since: readonly Change[] | null
  /** The partner's member of that id. */
  readonly member: Member | null
  /** The member, of whichever partner, to whom the e-mail address belongs. */
  readonly emailOwnerId: number | null
  /** Who holds a slot of the provider that touches the one asked for. */
  readonly holders: readonly SlotHolder[]
  /** The slots of the member, of whichever provider; those that are over may be missing. */
  readonly held: readonly HeldSlot[]
  /** When the conflict was that conflictAsked asks for, in ms; null if there is none. */
  readonly conflictAt: number | null
}

/** A request that holds a slot. */
export interface SlotHolder {
  readonly requestId: number
  readonly memberId: number | null
  /** ms */
  readonly startsAt: number
}

/** A slot that a member holds by a request. */
export type HeldSlot = Omit<SlotHolder, 'memberId'>

/** The conflicts of a partner that are noted in an hour where any number may be: more would flood the audit log. */
const mostNoted = 1_000

/**
 * Which of the conflicts that were noted of a partner decides about the next: of those after an instant (ms), the one so
 * many back from the newest.
 */
export function emailConflictQuery(draft: SubmissionDraft) {
  const { submittedAt, limits } = draft
  const { actor } = submitterOf(draft)
  return { actor, after: submittedAt - hourMillis, back: limits.emailConflicts ?? mostNoted }
}

/** In whose name a submission is written, and what is noted of it. */
export function submitterOf({ partnerId, submittedAt }: SubmissionDraft): Act {
  return { actor: `partner ${partnerId}`, at: submittedAt }
}

/**
 * Whether a submission is stored, and what it makes of the member. The order of checks is the decisions' (Order of
 * checks): a retry is one whatever has happened since, and the slot comes before the e-mail, or a slot that cannot be had
 * would ask whose an address is. A refusal that is to be noted is the answer of an outcome.
 */
export function decideSubmission(
  draft: SubmissionDraft,
  facts: SubmissionFacts,
): 'stale' | Decision<BookingRequest | Replay | Refusal> {
  const { slot } = draft
  const { member } = facts
  // A token may have been revoked while this waited for its turn to be written.
  if (isCallerStale(facts.since)) return 'stale'
  if (slot && isStale(facts.since, slot.providerId)) return 'stale'
  const replay = decideReplay(draft.submittedAt, facts)
  if (replay) return replay
  // Whoever held it has given it back since.
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
    return new Refusal('provider_unknown', 'names no provider who can be booked')
  }
  const isFree = slotState === 'offered' && holders.length === 0
  return isFree ? null : new Refusal('slot_unavailable', 'the slot is not available')
}

/** What a member holds already can stand in the way of another slot. */
function refuseHolding(
  { submittedAt, limits }: SubmissionDraft,
  { startsAt }: RequestedSlot,
  { held }: SubmissionFacts,
) {
  if (overlappingWith(startsAt, held)) {
    return new Refusal('slot_conflicts_with_yours', 'the member holds a slot that overlaps with this one')
  }
  const toCome = held.filter((slot) => slot.startsAt > submittedAt)
  const most = limits.openRequests
  if (most === null || toCome.length < most) return null
  const why = `the member has ${most} open requests with a slot to come, and may have no more`
  return new Refusal('too_many_open_requests', why)
}

/** The slot among those of a member that overlaps with one that starts at an instant (ms). */
export function overlappingWith(startsAt: number, held: readonly HeldSlot[]): HeldSlot | undefined {
  return held.find((slot) => Math.abs(slot.startsAt - startsAt) < slotMillis)
}

/**
 * Whoever sends many addresses of different members is asking who is in care. Beyond the limit every address that
 * is new to its member is refused, whoever has it: otherwise the difference would be the answer.
 */
function refuseEmail(
  draft: SubmissionDraft,
  { member, emailOwnerId, conflictAt }: SubmissionFacts,
): Refusal | Outcome<Refusal> | null {
  const isNew = !member || foldEmail(member.profile.email) !== foldEmail(draft.member.email)
  if (isNew && conflictAt !== null && draft.limits.emailConflicts !== null) {
    const why = 'too many addresses of different members were sent; try again later'
    const retryAfterSeconds = Math.ceil((conflictAt + hourMillis - draft.submittedAt) / 1000)
    return new Refusal('email_conflicts_limited', why, { retryAfterSeconds })
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
      ...keepingAnswer(draft, facts, { memberId, request, submittedAt }, profile),
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

/** How long an answer is kept for retries (decisions, Idempotency-Key). */
const keptMillis = dayMillis

/** The response that is kept for retries of an earlier submission. */
export interface KeptAnswer {
  readonly requestId: number
  /** ms */
  readonly submittedAt: number
  /** Null if the body was different. */
  readonly receipt: Receipt | null
}

/** What the transaction reads about retries. */
export interface RetryFacts {
  /** The response kept under the partner and the key, expired or not; null without one, or without a key. */
  readonly kept: KeptAnswer | null
}

/** The latest response time (ms) that has expired at an instant (ms). */
export function expiredBy(now: number): number {
  return now - keptMillis
}

/**
 * The decision on a retry: the first response, whatever became of the request since, and no writes. Null if this is no
 * retry. Refusals are not kept, so a refused submission is decided again.
 */
export function decideReplay(submittedAt: number, { kept }: RetryFacts): Decision<Replay> | null {
  if (!kept || kept.submittedAt <= expiredBy(submittedAt)) return null
  const { receipt } = kept
  if (!receipt) {
    return new Refusal('idempotency_key_reused', 'was sent before with another body')
  }
  return { writes: [], taken: [], audit: null, answer: () => ({ ...receipt, isReplay: true }) }
}

/** The writes that keep a submission's response for retries; none without a key. */
export function keepingAnswer(
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
  // An expired response that is still stored would collide with the next under its key.
  return [...removals(kept ? [kept.requestId] : []), { add: 'replay', row }]
}

/** Removes expired responses. Answers how many. */
export function decideForgetting(expired: readonly number[]): Decision<number> {
  return { writes: removals(expired), taken: [], audit: null, answer: () => expired.length }
}

/** Removes the responses kept for some requests. */
export function removals(requestIds: readonly number[]): Write[] {
  return requestIds.map((id) => ({ remove: 'replay', id }))
}
