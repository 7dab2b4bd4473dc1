import { Type } from '@sinclair/typebox'
import { type BookingRequest, type Submission, slotMillis } from '../domain/booking-request'
import { Refusal } from '../domain/errors'
import { isPastDate } from '../domain/member'
import type { Partner } from '../domain/partner'
import { Choice, Text } from '../domain/validation'
import type { Context } from '../operations/context'
import { submitBookingRequest } from '../operations/submit-booking-request'
import { formatInstant, parseInstant } from '../scheduling/calendar'
import { CountryCode, ExternalUserId, LanguageTag, readJson } from './fields'
import type { Gated } from './gate'

const path = '/partners/v1/booking-request/'

// Members of a body that are not known here are ignored.
const open = { additionalProperties: true }
const Name = Text({ minLength: 1, maxLength: 200 })
const Line = Text({ maxLength: 500 })
const Timestamp = Text({ format: 'date-time', maxLength: 500 })
const ScreeningText = Text({ minLength: 1, maxLength: 1000 })

export const BookingData = Type.Object(
  {
    selfSchedulingProviderId: Type.Integer({ description: 'A providerId of the search' }),
    utcStartTime: Timestamp,
    utcEndTime: Timestamp,
  },
  open,
)

export const MemberData = Type.Object(
  {
    email: Text({ format: 'email', minLength: 1, maxLength: 254 }),
    firstName: Name,
    lastName: Name,
    country: CountryCode,
    preferredName: Type.Optional(Text({ maxLength: 200 })),
    preferredPronouns: Type.Optional(Line),
    dob: Type.Optional(Text({ format: 'date' })),
    gender: Type.Optional(Line),
    maritalStatus: Type.Optional(Line),
    clientType: Type.Optional(Line),
    leaveVoicemail: Type.Optional(Choice(['Yes', 'No'])),
    phoneNumber: Type.Optional(Text({ format: 'phone-number', maxLength: 500 })),
    streetAddress: Type.Optional(Line),
    suite: Type.Optional(Line),
    city: Type.Optional(Line),
    state: Type.Optional(Line),
    zipCode: Type.Optional(Line),
    reasonForSeekingSupport: Type.Optional(Text({ maxLength: 4000 })),
    preferredModality: Type.Optional(Line),
    preferredSpokenLanguage: Type.Optional(LanguageTag),
  },
  open,
)

export const BookingRequestBody = Type.Object(
  {
    user: Type.Object({ external_user_id: ExternalUserId }, open),
    bookingData: Type.Optional(BookingData),
    memberData: MemberData,
    phq9Data: Type.Array(Type.Object({ question: ScreeningText, answer: ScreeningText }, open), {
      maxItems: 100,
    }),
  },
  open,
)

const nullable = <T extends Parameters<typeof Type.Union>[0][number]>(schema: T) =>
  Type.Union([schema, Type.Null()])

export const BookingResponse = Type.Object({
  id: Type.Integer(),
  providerId: nullable(Type.Integer()),
  authorizationNumber: nullable(Type.String()),
  phoneNumber: Type.String(),
  preferredModality: Type.String(),
  acceptedAt: nullable(Type.String({ format: 'date-time' })),
  declinedAt: nullable(Type.String({ format: 'date-time' })),
  member: Type.Object({ id: Type.Integer(), firstName: Type.String(), email: Type.String() }),
  utcStartTime: nullable(Type.String({ format: 'date-time' })),
})

/** POST booking-request: a booking request, or an intake without bookingData. */
export function bookingRequest(app: Gated, context: Context) {
  return app.post(
    path,
    async ({ body, caller, now, status }) => {
      const submission = toSubmission(body, caller.partner, now)
      return status(201, presentBookingRequest(await submitBookingRequest(context, submission, now)))
    },
    {
      // Elysia parses a body before it asks who is calling. It gets nothing to parse, and the body is read
      // where the caller is known and before it is validated.
      parse: () => null,
      transform: async (call) => {
        call.body = (await readJson(call.request)) as typeof call.body
      },
      body: BookingRequestBody,
      response: { 201: BookingResponse },
    },
  )
}

/** @throws Refusal field_invalid for what a schema cannot say */
function toSubmission(body: typeof BookingRequestBody.static, partner: Partner, now: number): Submission {
  const { user, bookingData, memberData, phq9Data } = body
  if (memberData.dob !== undefined && !isPastDate(memberData.dob, now)) {
    throw new Refusal('field_invalid', 'memberData.dob: must not be in the future')
  }
  return {
    partnerId: partner.id,
    externalUserId: user.external_user_id,
    member: { ...knownMembers(memberData), country: memberData.country.toUpperCase() },
    slot: bookingData ? toSlot(bookingData) : null,
    screeningAnswers: phq9Data.map(({ question, answer }) => ({ question, answer })),
  }
}

function toSlot({ selfSchedulingProviderId, utcStartTime, utcEndTime }: typeof BookingData.static) {
  const startsAt = parseInstant(utcStartTime) as number
  if (parseInstant(utcEndTime) !== startsAt + slotMillis) {
    throw new Refusal(
      'field_invalid',
      'bookingData.utcEndTime: must be exactly 45 minutes after utcStartTime',
    )
  }
  return { providerId: selfSchedulingProviderId, startsAt }
}

/** What a member's data tells, without members of the body that the contract does not know. */
function knownMembers(memberData: typeof MemberData.static): typeof MemberData.static {
  const known = Object.keys(MemberData.properties) as (keyof typeof memberData)[]
  return Object.fromEntries(
    known.filter((name) => memberData[name] !== undefined).map((name) => [name, memberData[name]]),
  ) as typeof memberData
}

/** The contract's booking response, for intakes too. */
export function presentBookingRequest(request: BookingRequest): typeof BookingResponse.static {
  const { id, providerId, authorizationNumber, acceptedAt, declinedAt, startsAt, member } = request
  const timestamp = (at: number | null) => (at === null ? null : new Date(at).toISOString())
  return {
    id,
    providerId,
    authorizationNumber,
    phoneNumber: member.profile.phoneNumber ?? '',
    preferredModality: member.profile.preferredModality ?? '',
    acceptedAt: timestamp(acceptedAt),
    declinedAt: timestamp(declinedAt),
    member: { id: member.id, firstName: member.profile.firstName, email: member.profile.email },
    utcStartTime: startsAt === null ? null : formatInstant(startsAt),
  }
}
