import type { Act } from '../audit'
import {
  holdsSlot,
  type RequestEnd,
  type RequestNote,
  type RequestRecord,
  type RequestWithAnswers,
} from '../booking-request'
import { Refusal } from '../errors'
import { type Member, type MemberEdit, valuesBefore } from '../member'
import { type AuditFact, type Decision, outcome, setting, unknownRecord, type Write } from '../ports/writes'
import { removals } from './submission'

/** All data stored about a person. Instants in ms. */
export interface MemberExport {
  readonly member: Member
  readonly createdAt: number
  readonly updatedAt: number
  readonly requests: readonly (RequestWithAnswers & { readonly notes: readonly RequestNote[] })[]
}

/**
 * Corrects or clears fields of a member. @param asked as shown in the confirmation prompt; null for none
 * @param owner the member that has the new e-mail address; null for none
 */
export function decideEdit(
  member: Member | null,
  owner: Member | null,
  asked: Member | null,
  edit: MemberEdit,
  { at }: Act,
): Decision {
  if (!member) return unknownRecord('member')
  const names = Object.keys(valuesBefore(member, edit))
  if (asked && Object.keys(valuesBefore(member, asked.profile)).length > 0) {
    return new Refusal('not_confirmed', 'the member changed while the question was open, so nothing was done')
  }
  if (names.length === 0) return new Refusal('move_unknown', 'the member already has these values')
  if (owner && owner.id !== member.id) {
    return new Refusal('email_taken', 'the e-mail address already belongs to a different member')
  }
  const to = { profile: { ...member.profile, ...edit }, updatedAt: at }
  const audit = { action: 'member.edit', noun: 'member', id: member.id, outcome: `done: ${names.join(', ')}` }
  return { ...setting('member.edit', 'member', member.id, to), audit: audit as AuditFact }
}

/** Empties the member's e-mail address, so that another member can use it. */
export function decideEmailRelease(member: Member | null, { at }: Act): Decision {
  if (!member) return unknownRecord('member')
  const { id, profile } = member
  if (profile.email === '') return new Refusal('move_unknown', 'the member has no e-mail address')
  const to = { profile: { ...profile, email: '' }, updatedAt: at }
  return setting('member.release-email', 'member', id, to)
}

/** Allows an export. The audit log records who exported the data. */
export function decideExport(data: MemberExport | null): Decision<MemberExport> {
  if (!data) return unknownRecord('member')
  return { ...outcome('member.export', 'member', data.member.id, []), answer: () => data }
}

/** A member whose last request ended long ago. */
export interface DueMember {
  readonly id: number
  /** ms */
  readonly endedAt: number
  /** A request that is unassigned or pending; null for none. The member must then not be erased. */
  readonly openRequest: number | null
}

/** Returns the members whose last request ended before `before` (ms), given all requests of some members. */
export function dueAmong(requests: readonly RequestEnd[], before: number): DueMember[] {
  return [...Map.groupBy(requests, ({ memberId }) => memberId)].flatMap(([id, theirs]) => {
    const endedAt = theirs.reduce((latest, request) => Math.max(latest, endOf(request)), 0)
    const open = theirs.find(({ state }) => state === 'unassigned' || state === 'pending')
    return endedAt < before ? [{ id, endedAt, openRequest: open?.id ?? null }] : []
  })
}

/** The end of the slot, or else the last act on the request. */
function endOf({ submittedAt, endsAt, acceptedAt, declinedAt, cancelledAt }: RequestEnd): number {
  return Math.max(submittedAt, endsAt ?? 0, acceptedAt ?? 0, declinedAt ?? 0, cancelledAt ?? 0)
}

/** Erases the members that are due and have no open request. Answers their ids. */
export function decideDueErasure(
  requests: readonly RequestEnd[],
  notes: readonly MemberNote[],
  before: number,
): Decision<number[]> {
  const ids = dueAmong(requests, before).flatMap(({ id, openRequest }) => (openRequest === null ? id : []))
  const isTheirs = ({ memberId }: { readonly memberId: number }) => ids.includes(memberId)
  return {
    writes: erasing(ids, requests.filter(isTheirs), notes.filter(isTheirs)),
    taken: [],
    audit: ids.map((id) => ({ action: 'member.erase', noun: 'member', id })),
    answer: () => ids,
  }
}

/** A note on a member's request. */
export interface MemberNote {
  readonly id: number
  readonly memberId: number
}

function erasing(
  ids: readonly number[],
  requests: readonly { readonly id: number }[],
  notes: readonly { readonly id: number }[],
): Write[] {
  // All writes share one object, because engines combine adjacent writes with the same object into one statement.
  const to = { memberId: null, screeningAnswers: null, sentProfile: null }
  return [
    ...requests.map(({ id }): Write => ({ set: 'request', id, to })),
    // Also remove the responses stored for retries, because they contain personal data.
    ...removals(requests.map(({ id }) => id)),
    ...requests.map(({ id }): Write => ({ remove: 'unreadRisk', id })),
    ...notes.map(({ id }): Write => ({ remove: 'note', id })),
    ...ids.map((id): Write => ({ remove: 'member', id })),
  ]
}

/**
 * Deletes a member, their screening answers, and the notes on their requests. The requests and their slots
 * remain. Answers the ids of the requests that hold a slot.
 */
export function decideErasure(
  member: Member | null,
  requests: readonly Pick<RequestRecord, 'id' | 'state' | 'startsAt'>[],
  notes: readonly MemberNote[],
): Decision<number[]> {
  if (!member) return unknownRecord('member')
  const holding = requests.filter(({ state, startsAt }) => holdsSlot(state) && startsAt !== null)
  return {
    ...outcome('member.erase', 'member', member.id, erasing([member.id], requests, notes)),
    answer: () => holding.map(({ id }) => id),
  }
}
