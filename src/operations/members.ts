import type { Act } from '../domain/audit'
import type { Member } from '../domain/member'
import type { MemberExport } from '../domain/store'
import type { Records } from './context'

/** Refuses a member's look-ups and bookings for them, with 403. */
export function deactivateMember({ store }: Records, { id }: Member, _act: Act): Promise<void> {
  return store.setMemberActive(id, false)
}

/** Lets a member be looked up and booked for again. */
export function reactivateMember({ store }: Records, { id }: Member, _act: Act): Promise<void> {
  return store.setMemberActive(id, true)
}

/** All that is held on a member, answers included; the audit log keeps who had it. */
export function exportMember({ store }: Records, { id }: Member, _act: Act): Promise<MemberExport> {
  return store.exportMember(id)
}

/** What the erasure of a member has left. */
export interface Erasure {
  /** The ids of their requests whose slots stay taken. */
  readonly holding: readonly number[]
  /** Whether the write-ahead log was truncated too: until it is, what was erased can be read from its file. */
  readonly isPurged: boolean
}

/** Removes a member for good; the bare facts of their requests stay, tied to nobody. */
export async function eraseMember({ store }: Records, { id }: Member, _act: Act): Promise<Erasure> {
  const requests = await store.listRequests({ intakesOnly: false, unassignedOnly: false })
  const holding = requests
    .filter(({ member, state, startsAt }) => member?.id === id && state !== 'declined' && startsAt !== null)
    .map((request) => request.id)
  const { isLogCut } = await store.eraseMember(id)
  return { holding, isPurged: isLogCut }
}
