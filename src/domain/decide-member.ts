import type { RequestRecord, ScreeningAnswer } from './booking-request'
import { holdsSlot } from './decide-move'
import { Refusal } from './errors'
import type { Member } from './member'
import { type Decision, outcome, type Write } from './writes'

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
  if (!member) return unknownMember()
  const action = active ? 'member.reactivate' : 'member.deactivate'
  return outcome(action, 'member', member.id, [{ set: 'member', id: member.id, to: { active } }])
}

/** All that is held may be handed over; the audit log tells who did. */
export function decideExport(held: MemberExport | null): Decision<MemberExport> {
  if (!held) return unknownMember()
  return { ...outcome('member.export', 'member', held.member.id, []), answer: () => held }
}

/**
 * Removes a member for good, their answers included. The bare facts of their requests stay, tied to nobody, and so do
 * the slots that these hold: the answer is the ids of such requests.
 */
export function decideErasure(member: Member | null, requests: readonly RequestRecord[]): Decision<number[]> {
  if (!member) return unknownMember()
  const forgotten = requests.map(
    ({ id }): Write => ({ set: 'request', id, to: { memberId: null, screeningAnswers: null } }),
  )
  const holding = requests.filter(({ state, startsAt }) => holdsSlot(state) && startsAt !== null)
  return {
    ...outcome('member.erase', 'member', member.id, [...forgotten, { remove: 'member', id: member.id }]),
    answer: () => holding.map(({ id }) => id),
  }
}

function unknownMember(): Refusal {
  return new Refusal('record_unknown', 'there is no such member')
}
