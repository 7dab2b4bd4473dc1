import type { Act } from '../audit'
import { holdsSlot, type RequestNote, type RequestRecord, type ScreeningAnswer } from '../booking-request'
import { Refusal } from '../errors'
import type { Member } from '../member'
import { type Decision, decideState, outcome, setting, unknownRecord, type Write } from '../ports/writes'
import { removals } from './submission'

/** All that is held on a person. Instants in ms. */
export interface MemberExport {
  readonly member: Member
  readonly createdAt: number
  readonly updatedAt: number
  readonly requests: readonly (Omit<RequestRecord, 'member'> & {
    readonly screeningAnswers: readonly ScreeningAnswer[]
    readonly notes: readonly RequestNote[]
  })[]
}

export function decideMemberState(member: Member | null, active: boolean): Decision {
  return decideState('member', member, active)
}

/** Who has an e-mail address may be told; the audit log tells who asked, and of whom they were told. */
export function decideFinding(member: Member | null): Decision<Member | null> {
  return {
    ...outcome('member.find', member && 'member', member?.id ?? null, []),
    answer: () => member,
  }
}

/** The address of a member is nobody's, and theirs is empty until their partner tells one again. */
export function decideEmailRelease(member: Member | null, { at }: Act): Decision {
  if (!member) return unknownRecord('member')
  const { id, profile } = member
  if (profile.email === '') return new Refusal('move_unknown', 'the member has no e-mail address')
  const to = { profile: { ...profile, email: '' }, updatedAt: at }
  return setting('member.release-email', 'member', id, to)
}

/** All that is held may be handed over; the audit log tells who did. */
export function decideExport(held: MemberExport | null): Decision<MemberExport> {
  if (!held) return unknownRecord('member')
  return { ...outcome('member.export', 'member', held.member.id, []), answer: () => held }
}

/**
 * Removes a member for good, their answers and what staff wrote about their requests included. The bare facts of their requests stay, tied to nobody, and so do
 * the slots that these hold: the answer is the ids of such requests.
 */
export function decideErasure(
  member: Member | null,
  requests: readonly Pick<RequestRecord, 'id' | 'state' | 'startsAt'>[],
  noteIds: readonly number[],
): Decision<number[]> {
  if (!member) return unknownRecord('member')
  // The same object for all: an engine sets alike records in one statement.
  const to = { memberId: null, screeningAnswers: null }
  const forgotten = requests.map(({ id }): Write => ({ set: 'request', id, to }))
  // What was answered tells of the person too.
  const answers = removals(requests.map(({ id }) => id))
  const holding = requests.filter(({ state, startsAt }) => holdsSlot(state) && startsAt !== null)
  return {
    ...outcome('member.erase', 'member', member.id, [
      ...forgotten,
      ...answers,
      ...noteIds.map((id): Write => ({ remove: 'note', id })),
      { remove: 'member', id: member.id },
    ]),
    answer: () => holding.map(({ id }) => id),
  }
}
