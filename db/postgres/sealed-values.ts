import type { Finding } from '../../src/domain/upkeep'
import { sealedFinding } from '../findings/findings'
import type { Session } from './session'

/** Whether all that is sealed can be opened, and every member is found by their own address. */
export async function findSealed({ members, requests, notes, replays, partners }: Session): Promise<Finding> {
  const faulty = await Array.fromAsync(members.listFaulty())
  const idsWhere = (isUnreadable: boolean) =>
    faulty.filter((member) => member.isUnreadable === isUnreadable).map(({ id }) => `member ${id}`)
  const unreadable = [
    ...(await partners.listUnreadableKeys()).map((kid) => `key ${kid}`),
    ...idsWhere(true),
    ...(await Array.fromAsync(requests.listUnreadable(), (id) => `request ${id}`)),
    ...(await Array.fromAsync(notes.listUnreadable(), (id) => `note ${id}`)),
    ...(await Array.fromAsync(replays.listUnreadable(), (id) => `the answer to request ${id}`)),
  ]
  return sealedFinding(unreadable, idsWhere(false))
}
