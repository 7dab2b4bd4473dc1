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
const ScreeningText = Text({ minLength: 1, maxLength: 1000 })

const timestamp = (description: string) => Text({ format: 'date-time', maxLength: 500, description })

export const BookingData = Type.Object(
  {
    selfSchedulingProviderId: Type.Integer({ description: 'A providerId of the search' }),
    utcStartTime: timestamp('Exactly as the search told it: UTC, with a trailing Z'),
    utcEndTime: timestamp('Exactly 45 minutes after utcStartTime'),
  },
  { ...open, title: 'BookingData', description: 'The slot to book; a request without it is an intake' },
)

export const MemberData = Type.Object(
  {
    email: Text({
      format: 'email',
      minLength: 1,
      maxLength: 254,
      description: 'Unique among all members of the service, whatever its case',
    }),
    firstName: Name,
    lastName: Name,
    country: CountryCode,
    preferredName: Type.Optional(Text({ maxLength: 200 })),
    preferredPronouns: Type.Optional(Line),
    dob: Type.Optional(Text({ format: 'date', description: 'Date of birth, not in the future' })),
    gender: Type.Optional(Line),
    maritalStatus: Type.Optional(Line),
    clientType: Type.Optional(Line),
    leaveVoicemail: Type.Optional(Choice(['Yes', 'No'])),
    phoneNumber: Type.Optional(
      Text({
        format: 'phone-number',
        maxLength: 500,
        description: 'A leading + and 7 to 15 digits; spaces, dots, hyphens and parentheses between them',
      }),
    ),
    streetAddress: Type.Optional(Line),
    suite: Type.Optional(Text({ maxLength: 500, description: 'May be empty' })),
    city: Type.Optional(Line),
    state: Type.Optional(Line),
    zipCode: Type.Optional(Line),
    reasonForSeekingSupport: Type.Optional(Text({ maxLength: 4000 })),
    preferredModality: Type.Optional(Text({ maxLength: 500, description: 'Free text' })),
    preferredSpokenLanguage: Type.Optional({
      ...LanguageTag,
      description: 'BCP 47 language tag; en for a new member where none is sent',
    }),
  },
  {
    ...open,
    title: 'MemberData',
    description: 'What is known of the member; what a later call leaves out stays as it is',
  },
)

const ScreeningAnswer = Type.Object(
  { question: ScreeningText, answer: ScreeningText },
  { ...open, title: 'ScreeningAnswer', description: 'A question of the PHQ-9 and what the member answered' },
)

export const BookingRequestBody = Type.Object(
  {
    user: Type.Object({ external_user_id: ExternalUserId }, open),
    bookingData: Type.Optional(BookingData),
    memberData: MemberData,
    phq9Data: Type.Array(ScreeningAnswer, { maxItems: 100, description: 'May be empty' }),
  },
  { ...open, title: 'BookingRequest', description: 'A booking request, or an intake without bookingData' },
)

const nullable = <T extends Parameters<typeof Type.Union>[0][number]>(schema: T, description: string) =>
  Type.Union([schema, Type.Null()], { description })

export const BookingResponse = Type.Object(
  {
    id: Type.Integer({ description: 'Identifies the booking request' }),
    providerId: nullable(Type.Integer(), 'Null for an intake until a provider is assigned'),
    authorizationNumber: nullable(Type.String(), 'Null for an intake until a provider is assigned'),
    phoneNumber: Type.String({ description: "The member's; empty where there is none" }),
    preferredModality: Type.String({ description: "The member's; empty where there is none" }),
    acceptedAt: nullable(Type.String({ format: 'date-time' }), 'Null until the request is accepted'),
    declinedAt: nullable(Type.String({ format: 'date-time' }), 'Null unless the request is declined'),
    member: Type.Object({
      id: Type.Integer({ description: "The service's id of the member" }),
      firstName: Type.String(),
      email: Type.String(),
    }),
    utcStartTime: nullable(Type.String({ format: 'date-time' }), 'Null for an intake without a slot'),
  },
  { title: 'BookingResponse', description: 'A booking request or an intake as it was stored' },
)

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
      detail: {
        operationId: 'submitBookingRequest',
        tags: ['Bookings'],
        summary: 'Submit a booking request or an intake',
        description:
          'Finds or creates the member by user.external_user_id, updates it with memberData and submits a ' +
          'request for a slot, or an intake where bookingData is left out. A refused call changes nothing.',
      },
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
