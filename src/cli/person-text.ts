import type { Member } from '../domain/member'
import type { Records } from '../operations/context'
import { listPartners } from '../operations/partners'
import { shorten } from './layout'
import { formatJson } from './output'

/** A person as questions name them, so that whoever is asked sees whom it is about: `Ada Lovelace, quietwater's P-123`. */
export async function personText(records: Records, member: Member | null): Promise<string> {
  if (!member) return 'a person who was erased'
  const { firstName, lastName } = member.profile
  const partner = (await listPartners(records)).find(({ id }) => id === member.partnerId)
  return `${inQuestion(`${firstName} ${lastName}`)}, ${partner?.name}'s ${inQuestion(member.externalUserId)}`
}

/** More columns of a name would push the question that it stands in out of sight. */
const mostColumns = 60
const nameLike = /^[\p{L}\p{M}\p{N} .,'’()_@+#-]*$/u

/** What a partner chose, within a question: in quotes where it could be read as the end of that, or as another. */
function inQuestion(text: string): string {
  const shown = shorten(text, mostColumns)
  return nameLike.test(text) ? shown : formatJson(shown)
}
