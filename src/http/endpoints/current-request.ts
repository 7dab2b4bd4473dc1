import { type Static, Type } from '@sinclair/typebox'
import { type OwnRequest, type RequestedSlot, requestStates } from '../../domain/booking-request'
import type { PartnerCall } from '../../domain/decisions/partner-requests'
import { Choice, Text } from '../../domain/validation'
import { digestOf } from '../representation'
import { BookingResponse, exampleBooking, presentBookingRequest } from './booking-request'
import type { Call, Reply } from './endpoint'
import { nullable, presentTimestamp } from './fields'

export const path = '/partners/v1/booking-request/{id}/'

export const RequestPath = Type.Object({
  id: Type.Integer({
    minimum: 1,
    maximum: Number.MAX_SAFE_INTEGER,
    format: 'int64',
    description: 'Id of the booking request or intake',
    examples: [1],
  }),
})

export const states =
  'unassigned: an intake without a provider; pending: waits for the provider; accepted or declined: the answer; closed: ' +
  'an intake that staff ended; cancelled: ended by the partner, or by staff for the member. More states may be added'

export const CancelledAt = nullable(Type.String({ format: 'date-time' }), 'Null until it is cancelled')

const CurrentRequest = Type.Object(
  {
    ...BookingResponse.properties,
    state: Choice(requestStates, { description: states }),
    cancelledAt: CancelledAt,
  },
  { title: 'CurrentRequest', description: 'The current values of a booking request or intake' },
)

const ExpectedTag = Type.Object({
  'If-Match': Type.Optional(
    Text({
      format: 'entity-tags',
      description: 'ETag of the request as last read. If the request has changed since, the response is 412',
      examples: ['"2k9x0c6cf0b1e"'],
    }),
  ),
})

export const currentAnswer = {
  status: 200 as const,
  description: 'The current values of the request',
  schema: CurrentRequest,
  headers: {
    ETag: { description: 'Strong validator of this response, for If-Match', schema: { type: 'string' } },
  },
}

/** The parts that the endpoints share that change a request. */
export const ownChange = {
  method: 'POST',
  tag: 'Bookings',
  params: RequestPath,
  headers: ExpectedTag,
  budget: 'bookings',
  costOf: () => 1,
  answer: currentAnswer,
} as const

export const ownRefusals = {
  field_invalid: 'id: must be at least 1',
  request_not_found: 'no request has this id',
  member_deactivated: 'the member is deactivated',
}

export const changeRefusals = {
  ...ownRefusals,
  request_changed: 'the request has changed since then',
  request_closed: 'the request is declined',
}

export function exampleCurrent(slot: RequestedSlot, change: Partial<Static<typeof CurrentRequest>> = {}) {
  const booking = presentBookingRequest(exampleBooking(slot))
  return { ...booking, state: 'pending' as const, cancelledAt: null, ...change }
}

export function presentCurrent(request: OwnRequest): Static<typeof CurrentRequest> {
  const { state, cancelledAt } = request
  return { ...presentBookingRequest(request), state, cancelledAt: presentTimestamp(cancelledAt) }
}

export function replyWith(request: OwnRequest): Reply<Static<typeof CurrentRequest>> {
  return { body: presentCurrent(request), headers: { ETag: tagOf(request) } }
}

/** Returns the strong entity tag of a request (RFC 9110 §8.8.3). Any shown value changes it. */
function tagOf(request: OwnRequest): string {
  return `"${digestOf(Buffer.from(JSON.stringify(presentCurrent(request)))).toString(36)}"`
}

type OwnCall = Call<Static<typeof RequestPath>, Static<typeof ExpectedTag>, unknown, unknown>

/** The strong comparison of If-Match: a weak tag matches nothing (RFC 9110 §13.1.1). */
export function partnerCall({ caller, params, headers, now }: OwnCall): PartnerCall {
  const { id: partnerId } = caller.partner
  const { 'If-Match': ifMatch = '*' } = headers
  const tags: readonly string[] = ifMatch.match(/(?:W\/)?"[^"]*"/g) ?? []
  const isExpected = (request: OwnRequest) => ifMatch === '*' || tags.includes(tagOf(request))
  return { partnerId, requestId: params.id, act: { actor: `partner ${partnerId}`, at: now }, isExpected }
}
