import { Type } from '@sinclair/typebox'
import { languageName } from '../../domain/language'
import type { Member } from '../../domain/member'
import { lookUpMember } from '../../operations/members'
import { endpoint } from './endpoint'
import { ExternalUserId, exampleMember, Id } from './fields'

const UserBody = Type.Object(
  {
    id: Id("The service's id of the member"),
    firstName: Type.String(),
    lastName: Type.String(),
    email: Type.String(),
    userType: Type.String({ description: 'Always member' }),
    country: Type.String({ description: 'ISO 3166-1 alpha-2' }),
    preferredSpokenLanguage: Type.String({ description: "The language's English name" }),
    preferredSpokenLanguageCode: Type.String({ description: 'BCP 47 language tag' }),
    externalUserId: Type.String({ description: "The partner's own id of the member" }),
  },
  { title: 'Member', description: 'A member whom the partner created' },
)

export const user = endpoint({
  method: 'GET',
  path: '/partners/v1/user/',
  operationId: 'lookUpMember',
  tag: 'Members',
  summary: 'Look a member up',
  description: "Finds a member, created by a booking request or an intake, by the partner's own id.",
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
  return {
    id,
    firstName: profile.firstName,
    lastName: profile.lastName,
    email: profile.email,
    userType: 'member',
    country: profile.country,
    preferredSpokenLanguage: languageName(profile.preferredSpokenLanguage),
    preferredSpokenLanguageCode: profile.preferredSpokenLanguage,
    externalUserId,
  }
}
