import { cancelOwnRequest } from '../../operations/transitions'
import { bodyRefusals } from '../body'
import { changeRefusals, exampleCurrent, ownChange, partnerCall, path, replyWith } from './current-request'
import { endpoint } from './endpoint'

export const cancelRequest = endpoint({
  ...ownChange,
  path: `${path}cancel/`,
  operationId: 'cancelBookingRequest',
  summary: 'Cancel a booking request or an intake',
  description:
    'Cancels an unassigned, pending or accepted request, and frees its slot. A body is ignored. The call is idempotent: ' +
    'a cancelled request is returned unchanged. An addition to the contract.',
  refusals: {
    body_too_large: bodyRefusals.body_too_large,
    ...changeRefusals,
    request_started: 'the session has started',
  },
  examples: (slot) => {
    const value = exampleCurrent(slot, { state: 'cancelled', cancelledAt: '2026-11-24T09:30:00.000Z' })
    return { answer: { cancelled: { summary: 'The cancelled request', value } } }
  },
  handler: (context) => async (call) =>
    replyWith(await cancelOwnRequest(context, partnerCall(call), call.authenticated)),
})
