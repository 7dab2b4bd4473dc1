import { Type } from '@sinclair/typebox'
import { languageName } from '../domain/language'
import type { Member } from '../domain/member'
import type { Context } from '../operations/context'
import { lookUpMember } from '../operations/look-up-member'
import { ExternalUserId, readQuery } from './fields'
import type { Gated } from './gate'

const path = '/partners/v1/user/'

export const UserQuery = Type.Object({ external_user_id: ExternalUserId })

export const UserBody = Type.Object({
  id: Type.Integer(),
  firstName: Type.String(),
  lastName: Type.String(),
  email: Type.String(),
  userType: Type.String(),
  country: Type.String(),
  preferredSpokenLanguage: Type.String({ description: "The language's English name" }),
  preferredSpokenLanguageCode: Type.String({ description: 'BCP 47' }),
  externalUserId: Type.String(),
})

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
