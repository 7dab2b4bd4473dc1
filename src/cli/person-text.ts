import type { Member } from '../domain/member'
import type { Records } from '../operations/context'
import { listPartners } from '../operations/partners'

/** A person as questions name them, so that whoever is asked sees whom it is about: `Ada Lovelace, quietwater's P-123`. */
export async function personText(records: Records, member: Member | null): Promise<string> {
  if (!member) return 'a person who was erased'
  const { firstName, lastName } = member.profile
  const partner = (await listPartners(records)).find(({ id }) => id === member.partnerId)
  return `${firstName} ${lastName}, ${partner?.name}'s ${member.externalUserId}`
}
