import { type BookingRequest, type Submission, slotMillis } from './booking-request'
import type { Version } from './directory-feed'
import { Refusal } from './errors'
import { type Member, type MemberProfile, untold } from './member'
import { type Change, type Decision, isCallerStale, isStale, type Write } from './writes'

/** A submission with what a snapshot of the directory says of the slot that it asks for. */
export interface SubmissionDraft extends Submission {
  /** The snapshot's version. */
  readonly version: Version
  /** Null for an intake, as are the two below. */
  readonly slotState: 'offered' | 'not offered' | 'provider unknown' | null
  /** Minutes east of UTC of the provider's clock at the slot, by the zone data of now. */
  readonly localOffsetMinutes: number | null
  /** Goes with the provider. */
  readonly authorizationNumber: string | null
  /** ms */
  readonly submittedAt: number
}

/** What holds at the moment of writing. */
export interface SubmissionFacts {
  /** What of the directory has changed since the draft's version; null where that can no longer be told. */
  readonly since: readonly Change[] | null
  /** The partner's member of that id. */
  readonly member: Member | null
  /** The member, of whichever partner, to whom the e-mail address belongs. */
  readonly emailOwnerId: number | null
  /** Who holds a slot of the provider that touches the one asked for. */
  readonly holders: readonly SlotHolder[]
}

/** A request that holds a slot. */
export interface SlotHolder {
  readonly requestId: number
  readonly memberId: number | null
  /** ms */
  readonly startsAt: number
}

/**
 * Whether a submission is stored, and what it makes of the member. The order of checks is the decisions' (Order of
 * checks): the slot comes before the e-mail, or a slot that cannot be had would ask whose an address is.
 */
export function decideSubmission(
  draft: SubmissionDraft,
  facts: SubmissionFacts,
): 'stale' | Decision<BookingRequest> {
  const { slot } = draft
  const { member, emailOwnerId } = facts
  // A token may have been revoked while this waited for its turn to be written.
  if (isCallerStale(facts.since)) return 'stale'
  if (slot && isStale(facts.since, slot.providerId)) return 'stale'
  if (member && !member.active) return new Refusal('member_deactivated', 'the member is deactivated')
  const refusal = slot && refuseSlot(draft, facts)
  if (refusal) return refusal
  if (emailOwnerId !== null && emailOwnerId !== member?.id) {
    return new Refusal('email_taken', 'already belongs to a different member')
  }
  return store(draft, member)
}

function refuseSlot({ slot, slotState }: SubmissionDraft, { member, holders }: SubmissionFacts) {
  if (holders.some((held) => held.memberId === member?.id && held.startsAt === slot?.startsAt)) {
    return new Refusal('slot_already_yours', 'the member already holds this slot')
  }
  if (slotState === 'provider unknown') {
    return new Refusal('provider_unknown', 'names no provider who can be booked')
  }
  const isFree = slotState === 'offered' && holders.length === 0
  return isFree ? null : new Refusal('slot_unavailable', 'the slot is not available')
}

function store(draft: SubmissionDraft, known: Member | null): Decision<BookingRequest> {
  const { partnerId, externalUserId, slot, submittedAt, authorizationNumber } = draft
  const profile: MemberProfile = { ...(known?.profile ?? untold), ...draft.member }
  const active = known?.active ?? true
  const told = { profile, updatedAt: submittedAt }
  const row = { ...told, partnerId, externalUserId, active, createdAt: submittedAt }
  const member: Write = known ? { set: 'member', id: known.id, to: told } : { add: 'member', row }
  const state = slot ? ('pending' as const) : ('unassigned' as const)
  const startsAt = slot?.startsAt ?? null
  const providerId = slot?.providerId ?? null
  const facts = { state, providerId, authorizationNumber, startsAt, acceptedAt: null, declinedAt: null }
  const request = {
    ...facts,
    memberId: known?.id ?? ('added' as const),
    isIntake: slot === null,
    endsAt: startsAt === null ? null : startsAt + slotMillis,
    localOffsetMinutes: draft.localOffsetMinutes,
    screeningAnswers: draft.screeningAnswers,
    submittedAt,
  }
  return {
    writes: [member, { add: 'request', row: request }],
    taken: slot ? [slot.providerId] : [],
    audit: null,
    answer: ([memberId, id]) => ({
      ...facts,
      id: id as number,
      member: { id: memberId as number, partnerId, externalUserId, active, profile },
    }),
  }
}
