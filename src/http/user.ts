import { Type } from '@sinclair/typebox'
import { languageName } from '../domain/language'
import type { Member } from '../domain/member'
import type { Context } from '../operations/context'
import { lookUpMember } from '../operations/look-up-member'
import { ExternalUserId, readQuery } from './fields'
import type { Gated } from './gate'

const path = '/partners/v1/user/'

export const UserQuery = Type.Object({ external_user_id: ExternalUserId })

export const UserBody = Type.Object(
  {
    id: Type.Integer({ description: "The service's id of the member" }),
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

/** GET user: a member whom the partner created through the booking endpoint. */
export function user(app: Gated, context: Context) {
  return app.get(
    path,
    async ({ query, caller }) =>
      presentMember(await lookUpMember(context, caller.partner, query.external_user_id)),
    {
      transform: (call) => {
        call.query = readQuery(call.request.url, UserQuery) as unknown as typeof call.query
      },
      query: UserQuery,
      response: { 200: UserBody },
      detail: {
        operationId: 'lookUpMember',
        tags: ['Members'],
        summary: 'Look a member up',
        description: "Finds a member, created by a booking request or an intake, by the partner's own id.",
      },
    },
  )
}

/** The contract's member. */
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
