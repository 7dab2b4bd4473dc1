import type { Act } from '../audit'
import { holdsSlot, type RequestNote, type RequestRecord, type RequestWithAnswers } from '../booking-request'
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

/** Allows a search for a member. The audit log records the actor and the member. */
export function decideFinding(member: Member | null): Decision<Member | null> {
  return {
    ...outcome('member.find', member && 'member', member?.id ?? null, []),
    answer: () => member,
  }
}

/** Empties the member's e-mail address, so that another member can use it. */
export function decideEmailRelease(member: Member | null, { at }: Act): Decision {
  if (!member) return unknownRecord('member')
  const { id, profile } = member
  if (profile.email === '') return new Refusal('move_unknown', 'the member has no e-mail address')
  const to = { profile: { ...profile, email: '' }, updatedAt: at }
  return setting('member.release-email', 'member', id, to)
}

/**
 * Corrects or clears fields of a member. @param asked the member that the operator was asked about
 * @param owner the member that has the new e-mail address; null for none
 */
export function decideEdit(
  member: Member | null,
  owner: Member | null,
  asked: Member,
  edit: MemberEdit,
  { at }: Act,
): Decision {
  if (!member) return unknownRecord('member')
  const names = Object.keys(valuesBefore(member, edit))
  if (Object.keys(valuesBefore(member, asked.profile)).length > 0) {
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

/** Allows an export. The audit log records who exported the data. */
export function decideExport(data: MemberExport | null): Decision<MemberExport> {
  if (!data) return unknownRecord('member')
  return { ...outcome('member.export', 'member', data.member.id, []), answer: () => data }
}

/**
 * Deletes a member, their screening answers, and the notes on their requests. The requests and their slots
 * remain. Answers the ids of the requests that hold a slot.
 */
export function decideErasure(
  member: Member | null,
  requests: readonly Pick<RequestRecord, 'id' | 'state' | 'startsAt'>[],
  noteIds: readonly number[],
): Decision<number[]> {
  if (!member) return unknownRecord('member')
  // All writes share one object, because engines combine adjacent writes with the same object into one statement.
  const to = { memberId: null, screeningAnswers: null, sentProfile: null }
  const anonymized = requests.map(({ id }): Write => ({ set: 'request', id, to }))
  // Also remove the responses stored for retries, because they contain personal data.
  const answers = removals(requests.map(({ id }) => id))
  const holding = requests.filter(({ state, startsAt }) => holdsSlot(state) && startsAt !== null)
  return {
    ...outcome('member.erase', 'member', member.id, [
      ...anonymized,
      ...answers,
      ...noteIds.map((id): Write => ({ remove: 'note', id })),
      { remove: 'member', id: member.id },
    ]),
    answer: () => holding.map(({ id }) => id),
  }
}
