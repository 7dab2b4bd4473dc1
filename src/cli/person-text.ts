import type { Member } from '../domain/member'
import type { Records } from '../operations/context'
import { partnerNames } from '../operations/partners'
import { shorten } from './layout'
import { formatJson } from './output'

interface Names {
  readonly firstName: string
  readonly lastName: string
}

/** A provider's or a member's name, as their papers have it. */
export function fullName({ firstName, lastName }: Names): string {
  return `${firstName} ${lastName}`
}

/** What a member is called: as their papers have it, and as they prefer where that is told. */
export function calledName({ profile }: Pick<Member, 'profile'>): string {
  const { preferredName } = profile
  return `${fullName(profile)}${preferredName ? ` (${preferredName})` : ''}`
}

/** A person as questions name them, so that whoever is asked sees whom it is about: `Ada Lovelace, quietwater's P-123`. */
export async function personText(records: Records, member: Member | null): Promise<string> {
  if (!member) return 'a person who was erased'
  const partner = (await partnerNames(records)).get(member.partnerId)
  return `${inQuestion(fullName(member.profile))}, ${partner}'s ${inQuestion(member.externalUserId)}`
}

/** More columns of a name would push the question that it stands in out of sight. */
const mostColumns = 60
const nameLike = /^[\p{L}\p{M}\p{N} .,'’()_@+#-]*$/u

/** What a partner chose, within a question: in quotes where it could be read as the end of that, or as another. */
function inQuestion(text: string): string {
  const shown = shorten(text, mostColumns)
  return nameLike.test(text) ? shown : formatJson(shown)
}
