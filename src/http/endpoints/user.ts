import { Type } from '@sinclair/typebox'
import { languageName } from '../../domain/language'
import type { Member } from '../../domain/member'
import { lookUpMember } from '../../operations/members'
import { endpoint } from './endpoint'
import { ExternalUserId, exampleMember, Id } from './fields'

const UserBody = Type.Object(
  {
    id: Id("The service's id for the member"),
    firstName: Type.String({ description: 'First name' }),
    lastName: Type.String({ description: 'Last name' }),
    email: Type.String({ description: 'E-mail address' }),
    userType: Type.String({ description: 'Always member' }),
    country: Type.String({ description: 'ISO 3166-1 alpha-2 country code' }),
    preferredSpokenLanguage: Type.String({ description: 'English name of the preferred language' }),
    preferredSpokenLanguageCode: Type.String({ description: 'BCP 47 tag of the preferred language' }),
    externalUserId: Type.String({ description: "The partner's stable id for the member" }),
  },
  { title: 'Member', description: 'A member that the partner created' },
)

export const user = endpoint({
  method: 'GET',
  path: '/partners/v1/user/',
  operationId: 'lookUpMember',
  tag: 'Members',
  summary: 'Look up a member',
  description: "Finds a member by the partner's id. Members are created by booking requests and intakes.",
  query: Type.Object({ external_user_id: ExternalUserId }),
  budget: 'reads',
  answer: { status: 200, description: 'The member', schema: UserBody },
  refusals: {
    field_invalid: 'external_user_id: is required',
    member_not_found: 'no member has this id',
    member_deactivated: 'the member is deactivated',
  },
  examples: () => ({ answer: { member: { summary: 'A member', value: presentMember(exampleMember) } } }),
  handler:
    (context) =>
    async ({ query, caller, now }) => ({
      body: presentMember(await lookUpMember(context, caller.partner, query.external_user_id, now)),
    }),
})

export function presentMember({ id, externalUserId, profile }: Member): typeof UserBody.static {
  const { firstName, lastName, email, country, preferredSpokenLanguage: code } = profile
  const language = { preferredSpokenLanguage: languageName(code), preferredSpokenLanguageCode: code }
  return { id, firstName, lastName, email, userType: 'member', country, ...language, externalUserId }
}
