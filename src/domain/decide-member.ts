import type { RequestRecord, ScreeningAnswer } from './booking-request'
import { holdsSlot } from './decide-move'
import type { Member } from './member'
import { type Decision, decideState, outcome, unknownRecord, type Write } from './writes'

/** All that is held on a person. Instants in ms. */
export interface MemberExport {
  readonly member: Member
  readonly createdAt: number
  readonly updatedAt: number
  readonly requests: readonly (Omit<RequestRecord, 'member'> & {
    readonly screeningAnswers: readonly ScreeningAnswer[]
  })[]
}

export function decideMemberState(member: Member | null, active: boolean): Decision {
  return decideState('member', member, active)
}

/** All that is held may be handed over; the audit log tells who did. */
export function decideExport(held: MemberExport | null): Decision<MemberExport> {
  if (!held) return unknownRecord('member')
  return { ...outcome('member.export', 'member', held.member.id, []), answer: () => held }
}

/**
 * Removes a member for good, their answers included. The bare facts of their requests stay, tied to nobody, and so do
 * the slots that these hold: the answer is the ids of such requests.
 */
export function decideErasure(member: Member | null, requests: readonly RequestRecord[]): Decision<number[]> {
  if (!member) return unknownRecord('member')
  const forgotten = requests.map(
    ({ id }): Write => ({ set: 'request', id, to: { memberId: null, screeningAnswers: null } }),
  )
  const holding = requests.filter(({ state, startsAt }) => holdsSlot(state) && startsAt !== null)
  return {
    ...outcome('member.erase', 'member', member.id, [...forgotten, { remove: 'member', id: member.id }]),
    answer: () => holding.map(({ id }) => id),
  }
}
