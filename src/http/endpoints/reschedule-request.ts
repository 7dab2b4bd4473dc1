import { rescheduleOwnRequest } from '../../operations/transitions'
import { BookingData, toSlot } from './booking-request'
import { changeRefusals, exampleCurrent, ownChange, partnerCall, path, replyWith } from './current-request'
import { endpoint } from './endpoint'
import { presentSlot } from './fields'

export const rescheduleRequest = endpoint({
  ...ownChange,
  path: `${path}reschedule/`,
  operationId: 'rescheduleBookingRequest',
  summary: 'Move a booking request to another slot',
  description:
    'Moves a pending or accepted request to another slot, of the same provider or another. The request becomes pending ' +
    'again and keeps its id and authorizationNumber. If the call is rejected, it keeps its slot. The call is idempotent: a ' +
    'request that already has the slot is returned unchanged. An addition to the contract.',
  body: BookingData,
  within: 'bookingData.',
  refusals: {
    ...changeRefusals,
    request_without_slot: 'the request has no slot',
    request_started: 'the session has started',
    provider_unknown: 'no provider with this id can be booked',
    slot_unavailable: 'the slot is not available',
    slot_conflicts_with_yours: 'the member already has a slot that overlaps with this one',
  },
  examples: (slot) => ({
    request: {
      slot: {
        summary: 'A slot from the search',
        value: { selfSchedulingProviderId: slot.providerId, ...presentSlot(slot.startsAt) },
      },
    },
    answer: { moved: { summary: 'The moved request', value: exampleCurrent(slot) } },
  }),
  handler: (context) => async (call) =>
    replyWith(await rescheduleOwnRequest(context, partnerCall(call), toSlot(call.body), call.authenticated)),
})
