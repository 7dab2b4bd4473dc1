import { Type } from '@sinclair/typebox'
import {
  type Receipt,
  type RequestedSlot,
  type Retry,
  type Submission,
  slotMillis,
} from '../../domain/booking-request'
import { Refusal } from '../../domain/errors'
import { isPastDate } from '../../domain/member'
import type { Partner } from '../../domain/partner'
import { Choice, Text } from '../../domain/validation'
import { submitBookingRequest } from '../../operations/submit-booking-request'
import { formatInstant, parseInstant } from '../../scheduling/calendar'
import { endpoint } from './endpoint'
import {
  CountryCode,
  ExternalUserId,
  exampleMember,
  exampleProfile,
  exampleTimes,
  Id,
  LanguageTag,
  nullable,
  presentSlot,
  presentTimestamp,
  SlotTime,
} from './fields'
import { user } from './user'

const Name = Text({ minLength: 1, maxLength: 200 })
const Line = Text({ maxLength: 500 })
const ScreeningText = Text({ minLength: 1, maxLength: 1000 })

const slotTime = (name: keyof typeof exampleTimes, description: string) =>
  Text({ format: 'date-time', maxLength: 500, description, examples: [exampleTimes[name]] })

const BookingData = Type.Object(
  {
    selfSchedulingProviderId: Id('A providerId of the search'),
    utcStartTime: slotTime('utcStartTime', 'Exactly as received from the search: UTC, with a trailing Z'),
    utcEndTime: slotTime('utcEndTime', 'Exactly as received from the search: 45 minutes after utcStartTime'),
  },
  { title: 'BookingData', description: 'The slot to book; a request without it is an intake' },
)

const MemberData = Type.Object(
  {
    email: Text({
      format: 'email',
      minLength: 1,
      maxLength: 254,
      description:
        'At most 64 characters before the @; unique among all members of the service, whatever its case',
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
    leaveVoicemail: Type.Optional(
      Choice(['Yes', 'No'], { title: 'LeaveVoicemail', description: 'Whether a message may be left' }),
    ),
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
    title: 'MemberData',
    description: 'What is known of the member; what a later call leaves out stays as it is',
  },
)

const ScreeningAnswer = Type.Object(
  { question: ScreeningText, answer: ScreeningText },
  { title: 'ScreeningAnswer', description: 'A question of the PHQ-9 and what the member answered' },
)

const BookingRequestBody = Type.Object(
  {
    user: Type.Object(
      { external_user_id: ExternalUserId },
      { title: 'UserReference', description: 'Whom the request is for' },
    ),
    bookingData: Type.Optional(BookingData),
    memberData: MemberData,
    phq9Data: Type.Array(ScreeningAnswer, { maxItems: 100, description: 'May be empty' }),
  },
  { title: 'BookingRequest', description: 'A booking request, or an intake without bookingData' },
)

const MemberReference = Type.Object(
  { id: Id("The service's id of the member"), firstName: Type.String(), email: Type.String() },
  { title: 'MemberReference', description: 'Whom the request is for' },
)

const BookingResponse = Type.Object(
  {
    id: Id('Identifies the booking request'),
    providerId: nullable(
      Type.Integer({ format: 'int64' }),
      'Null for an intake until a provider is assigned',
    ),
    authorizationNumber: nullable(Type.String(), 'Null for an intake until a provider is assigned'),
    phoneNumber: Type.String({ description: "The member's; empty where there is none" }),
    preferredModality: Type.String({ description: "The member's; empty where there is none" }),
    acceptedAt: nullable(Type.String({ format: 'date-time' }), 'Null until the request is accepted'),
    declinedAt: nullable(
      Type.String({ format: 'date-time' }),
      'Null unless the request is declined or the intake is closed',
    ),
    member: MemberReference,
    utcStartTime: nullable(SlotTime, 'Null for an intake without a slot'),
  },
  { title: 'BookingResponse', description: 'A booking request or an intake as it was stored' },
)

const keyName = 'Idempotency-Key'

const BookingHeaders = Type.Object({
  [keyName]: Type.Optional(
    Text({
      format: 'printable-ascii',
      minLength: 1,
      maxLength: 255,
      description:
        'Addition to the contract. One for a request and all its retries, as a UUID: whoever got no answer sends the same ' +
        'request with the same key again, and nothing is stored twice. Kept for 24 hours',
      examples: ['8e03978e-40d5-43dd-bc93-6894a57f9324'],
    }),
  ),
})

export const bookingRequest = endpoint({
  method: 'POST',
  path: '/partners/v1/booking-request/',
  operationId: 'submitBookingRequest',
  tag: 'Bookings',
  summary: 'Submit a booking request or an intake',
  description:
    'Finds or creates the member by user.external_user_id, updates it with memberData and submits a ' +
    'request for a slot, or an intake where bookingData is left out. A refused call changes nothing.\n\n' +
    'Retries (an addition to the contract): the 201 to a call with an `Idempotency-Key` is kept for 24 hours. The same ' +
    'key with the same body, byte for byte, is answered with it again, with `Idempotency-Replayed: true`, whatever ' +
    'has become of the request since; with another body it is 422. A refusal is not kept: the next call with its key ' +
    'is judged anew. So a call that got no answer can be sent again until it gets one.',
  headers: BookingHeaders,
  body: BookingRequestBody,
  budget: 'bookings',
  answer: {
    status: 201,
    description: 'The booking request, or the intake, that was stored',
    schema: BookingResponse,
    headers: {
      'Idempotency-Replayed': {
        description:
          'Addition to the contract. `true` where this is the answer to an earlier call with the same Idempotency-Key; left out otherwise',
        schema: { type: 'string', enum: ['true'] },
      },
    },
    links: {
      memberOfRequest: {
        to: user,
        description: 'The member can be looked up by the external_user_id that was sent',
        parameters: { external_user_id: '$request.body#/user/external_user_id' },
      },
    },
  },
  refusals: {
    field_invalid: 'memberData.email: not an e-mail address',
    idempotency_key_reused: 'was sent before with another body',
    member_deactivated: 'the member is deactivated',
    provider_unknown: 'names no provider who can be booked',
    slot_unavailable: 'the slot is not available',
    slot_already_yours: 'the member already holds this slot',
    slot_conflicts_with_yours: 'the member holds a slot that overlaps with this one',
    too_many_open_requests: 'the member has 10 open requests with a slot to come, and may have no more',
    email_conflicts_limited: 'too many addresses of different members were sent; try again later',
    email_taken: 'already belongs to a different member',
  },
  examples: (slot) => ({ request: exampleRequests(slot), answer: exampleResponses(slot) }),
  handler:
    (context) =>
    async ({ body, caller, now, authenticated, headers, bytes }) => {
      const retry = toRetry(headers[keyName], bytes)
      const submission = { ...toSubmission(body, caller.partner, now), retry }
      const stored = await submitBookingRequest(context, submission, now, authenticated)
      const isReplay = 'isReplay' in stored
      return {
        body: presentBookingRequest(stored),
        ...(isReplay && { headers: { 'Idempotency-Replayed': 'true' } }),
        counted: isReplay ? { isReplay } : { stored: submission.slot ? 'booking' : 'intake' },
      }
    },
})

function exampleRequests({ providerId, startsAt }: RequestedSlot) {
  const intake = {
    user: { external_user_id: exampleMember.externalUserId },
    memberData: exampleProfile,
    phq9Data: [{ question: 'Little interest or pleasure in doing things?', answer: 'Several days' }],
  }
  const bookingData = { selfSchedulingProviderId: providerId, ...presentSlot(startsAt) }
  return {
    booking: { summary: 'A booking request for a slot of the search', value: { ...intake, bookingData } },
    intake: { summary: 'An intake: a request without a provider or a slot', value: intake },
  }
}

function exampleResponses(slot: RequestedSlot) {
  const open = { acceptedAt: null, declinedAt: null, member: exampleMember }
  const authorizationNumber = '7K3Q-M0XA-9RTV'
  const booking: Receipt = { id: 1, state: 'pending', authorizationNumber, ...slot, ...open }
  const unassigned = { providerId: null, authorizationNumber: null, startsAt: null }
  const intake: Receipt = { id: 2, state: 'unassigned', ...unassigned, ...open }
  return {
    booking: { summary: 'The answer to a booking request', value: presentBookingRequest(booking) },
    intake: { summary: 'The answer to an intake', value: presentBookingRequest(intake) },
  }
}

/** latin1 maps each byte to one character, so different bodies never become the same text. */
function toRetry(key: string | undefined, bytes: Uint8Array): Retry | null {
  return key === undefined ? null : { key, body: Buffer.from(bytes).toString('latin1') }
}

/** @throws Refusal field_invalid for rules that a schema cannot express */
function toSubmission(
  body: typeof BookingRequestBody.static,
  partner: Partner,
  now: number,
): Omit<Submission, 'retry'> {
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

/** Drops fields that the contract does not define. */
function knownMembers(memberData: typeof MemberData.static): typeof MemberData.static {
  const known = Object.entries(memberData).filter(([name]) => Object.hasOwn(MemberData.properties, name))
  return Object.fromEntries(known) as typeof memberData
}

export function presentBookingRequest(request: Receipt): typeof BookingResponse.static {
  const { id, providerId, authorizationNumber, acceptedAt, declinedAt, startsAt, member } = request
  return {
    id,
    providerId,
    authorizationNumber,
    phoneNumber: member.profile.phoneNumber ?? '',
    preferredModality: member.profile.preferredModality ?? '',
    acceptedAt: presentTimestamp(acceptedAt),
    declinedAt: presentTimestamp(declinedAt),
    member: { id: member.id, firstName: member.profile.firstName, email: member.profile.email },
    utcStartTime: startsAt === null ? null : formatInstant(startsAt),
  }
}
