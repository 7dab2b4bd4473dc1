import { lookUpRequest } from '../../operations/requests'
import { currentAnswer, exampleCurrent, ownRefusals, path, RequestPath, replyWith } from './current-request'
import { endpoint } from './endpoint'

export const readRequest = endpoint({
  method: 'GET',
  path,
  operationId: 'readBookingRequest',
  tag: 'Bookings',
  summary: 'Read a booking request or an intake',
  description:
    'Returns the current values of a request of this partner, and its state. An addition to the contract.',
  params: RequestPath,
  budget: 'reads',
  answer: currentAnswer,
  refusals: ownRefusals,
  examples: (slot) => ({
    answer: { pending: { summary: 'A pending booking request', value: exampleCurrent(slot) } },
  }),
  handler:
    (context) =>
    async ({ params, caller, now }) =>
      replyWith(await lookUpRequest(context, caller.partner, params.id, now)),
})
