import { Type } from '@sinclair/typebox'
import { type Receipt, type RequestedSlot, slotMillis } from '../../domain/booking-request'
import { Refusal } from '../../domain/errors'
import type { Partner } from '../../domain/partner'
import { Text } from '../../domain/validation'
import { submitBookingRequest } from '../../operations/requests'
import { formatInstant, parseInstant } from '../../scheduling/calendar'
import { endpoint } from './endpoint'
import {
  ExternalUserId,
  exampleMember,
  exampleProfile,
  exampleTimes,
  Id,
  nullable,
  presentSlot,
  presentTimestamp,
  SlotTime,
} from './fields'
import { MemberData, toMemberUpdate } from './member-data'
import { user } from './user'

const ScreeningText = (description: string) => Text({ minLength: 1, maxLength: 1000, description })

const slotTime = (name: keyof typeof exampleTimes, description: string) =>
  Text({ format: 'date-time', maxLength: 500, description, examples: [exampleTimes[name]] })

export const BookingData = Type.Object(
  {
    selfSchedulingProviderId: Id('A providerId from the search'),
    utcStartTime: slotTime('utcStartTime', 'Exactly as received from the search: UTC, with a trailing Z'),
    utcEndTime: slotTime('utcEndTime', 'Exactly as received from the search: 45 minutes after utcStartTime'),
  },
  { title: 'BookingData', description: 'The slot to book. A request without it is an intake' },
)

const ScreeningAnswer = Type.Object(
  { question: ScreeningText('Text of the question'), answer: ScreeningText("Text of the member's answer") },
  { title: 'ScreeningAnswer', description: "A question of the PHQ-9 and the member's answer" },
)

const BookingRequestBody = Type.Object(
  {
    user: Type.Object(
      { external_user_id: Text({ ...ExternalUserId, format: 'not-blank' }) },
      { title: 'UserReference', description: 'Identifies the member that the request is for' },
    ),
    bookingData: Type.Optional(BookingData),
    memberData: MemberData,
    phq9Data: Type.Array(ScreeningAnswer, { maxItems: 100, description: 'PHQ-9 answers; may be empty' }),
  },
  { title: 'BookingRequest', description: 'A booking request, or an intake if bookingData is omitted' },
)

const MemberReference = Type.Object(
  {
    id: Id("The service's id for the member"),
    firstName: Type.String({ description: 'First name' }),
    email: Type.String({ description: 'E-mail address' }),
  },
  { title: 'MemberReference', description: 'The member that the request is for' },
)

const Timestamp = Type.String({ format: 'date-time' })

export const BookingResponse = Type.Object(
  {
    id: Id('Id of the booking request or intake'),
    providerId: nullable(Type.Integer({ format: 'int64' }), 'Null for an intake without a provider'),
    authorizationNumber: nullable(Type.String(), 'Null for an intake without a provider'),
    phoneNumber: Type.String({ description: 'Phone number of the member; empty if unknown' }),
    preferredModality: Type.String({ description: 'Preferred form of session; empty if unknown' }),
    acceptedAt: nullable(Timestamp, 'Null until the request is accepted'),
    declinedAt: nullable(Timestamp, 'When the request was declined or the intake closed; otherwise null'),
    member: MemberReference,
    utcStartTime: nullable(SlotTime, 'Start of the slot; null for an intake without a slot'),
  },
  { title: 'BookingResponse', description: 'The stored booking request or intake' },
)

const keyName = 'Idempotency-Key'

const BookingHeaders = Type.Object({
  [keyName]: Type.Optional(
    Text({
      format: 'printable-ascii',
      minLength: 1,
      maxLength: 255,
      description:
        'Addition to the contract. A unique key for each request, for example a UUID. If no response arrives, ' +
        'send the same request with the same key again: it is stored only once. A key is valid for 24 hours',
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
    'Finds or creates the member by user.external_user_id, updates it with memberData, and submits a booking ' +
    'request for a slot. Without bookingData it submits an intake. A rejected call changes nothing.\n\n' +
    'Retries (an addition to the contract): if a call with an `Idempotency-Key` gets no response, send it again ' +
    'with the same key. The service stores each 201 response for 24 hours. The same key with the same body, byte ' +
    'for byte, gets the stored response with `Idempotency-Replayed: true`, even if the request has changed since. ' +
    'The same key with a different body gets 422. Error responses are not stored, so a retry is processed again.',
  headers: BookingHeaders,
  body: BookingRequestBody,
  budget: 'bookings',
  answer: {
    status: 201,
    description: 'The stored booking request or intake',
    schema: BookingResponse,
    headers: {
      'Idempotency-Replayed': {
        description:
          'Addition to the contract. `true` if this is the stored response to an earlier call with the same Idempotency-Key; otherwise omitted',
        schema: { type: 'string', enum: ['true'] },
      },
    },
    links: {
      memberOfRequest: {
        to: user,
        description: 'Look up the member by the external_user_id of the request',
        parameters: { external_user_id: '$request.body#/user/external_user_id' },
      },
    },
  },
  refusals: {
    field_invalid: 'memberData.email: must be an e-mail address',
    idempotency_key_reused: 'was already sent with a different body; use a new key',
    member_deactivated: 'the member is deactivated',
    provider_unknown: 'no provider with this id can be booked',
    slot_unavailable: 'the slot is not available',
    slot_already_yours: 'the member already holds this slot',
    slot_conflicts_with_yours: 'the member already has a slot that overlaps with this one',
    too_many_open_requests: 'the member has 10 open requests with a future slot, and may not have more',
    email_conflicts_limited: 'too many e-mail addresses of other members were sent; try again later',
    email_taken: 'already belongs to a different member',
  },
  examples: (slot) => ({ request: exampleRequests(slot), answer: exampleResponses(slot) }),
  handler:
    (context) =>
    async ({ body, caller, now, authenticated, headers, bytes, intake }) => {
      const key = headers[keyName]
      // latin1 maps each byte to one character. Two different bodies thus never become the same text.
      const retry = key === undefined ? null : { key, body: Buffer.from(bytes).toString('latin1') }
      const asked = toSubmission(body, caller.partner, now)
      const budget = asked.slot ? null : intake()
      const submission = { ...asked, retry, rateRefusal: budget?.refusal ?? null }
      const stored = await submitBookingRequest(context, submission, now, authenticated).catch((error) => {
        budget?.giveBack()
        throw error
      })
      const isReplay = 'isReplay' in stored
      if (isReplay) budget?.giveBack()
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
    booking: { summary: 'A booking request for a slot from the search', value: { ...intake, bookingData } },
    intake: { summary: 'An intake, without a provider or a slot', value: intake },
  }
}

const open = { acceptedAt: null, declinedAt: null, member: exampleMember }

export function exampleBooking(slot: RequestedSlot): Receipt {
  return { id: 1, state: 'pending', authorizationNumber: '7K3Q-M0XA-9RTV', ...slot, ...open }
}

function exampleResponses(slot: RequestedSlot) {
  const unassigned = { providerId: null, authorizationNumber: null, startsAt: null }
  const intake: Receipt = { id: 2, state: 'unassigned', ...unassigned, ...open }
  return {
    booking: {
      summary: 'The response to a booking request',
      value: presentBookingRequest(exampleBooking(slot)),
    },
    intake: { summary: 'The response to an intake', value: presentBookingRequest(intake) },
  }
}

/** @throws Refusal field_invalid if the body violates a rule that the schema cannot express */
function toSubmission(body: typeof BookingRequestBody.static, partner: Partner, now: number) {
  const { user, bookingData, memberData, phq9Data } = body
  return {
    partnerId: partner.id,
    externalUserId: user.external_user_id,
    member: toMemberUpdate(memberData, now),
    slot: bookingData ? toSlot(bookingData, 'bookingData.') : null,
    screeningAnswers: phq9Data.map(({ question, answer }) => ({ question, answer })),
  }
}

/** @param within prefix of the field in the message @throws Refusal field_invalid unless it takes 45 minutes */
export function toSlot(
  { selfSchedulingProviderId, utcStartTime, utcEndTime }: typeof BookingData.static,
  within = '',
): RequestedSlot {
  const startsAt = parseInstant(utcStartTime) as number
  if (parseInstant(utcEndTime) !== startsAt + slotMillis) {
    throw new Refusal('field_invalid', `${within}utcEndTime: must be exactly 45 minutes after utcStartTime`)
  }
  return { providerId: selfSchedulingProviderId, startsAt }
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
