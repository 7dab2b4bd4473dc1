import { type Static, Type } from '@sinclair/typebox'
import { type RequestedSlot, requestStates } from '../../domain/booking-request'
import { maximumPageSize } from '../../domain/page'
import type { ChangedRequest } from '../../domain/ports/store'
import { Choice } from '../../domain/validation'
import { listChanges } from '../../operations/requests'
import { formatInstant } from '../../scheduling/calendar'
import { digestOf, Representation, tagOf } from '../representation'
import { BookingResponse } from './booking-request'
import { CancelledAt, exampleCurrent, states } from './current-request'
import { endpoint } from './endpoint'
import { Id, PageSize, presentTimestamp } from './fields'

const path = '/partners/v1/booking-request-changes/'
const cursor = '2-5f0c7e1b9a3d4c2e8f6a7b1d'

const { providerId, authorizationNumber, utcStartTime, acceptedAt, declinedAt } = BookingResponse.properties

const RequestChange = Type.Object(
  {
    id: Id('Id of the booking request or intake'),
    state: Choice([...requestStates, 'erased'], {
      description: `${states}. erased: the member was erased, and every other field is null`,
    }),
    ...{ providerId, authorizationNumber, utcStartTime, acceptedAt, declinedAt, cancelledAt: CancelledAt },
  },
  { title: 'RequestChange', description: 'The state of a request after its last change' },
)

const ChangePageBody = Type.Object(
  {
    results: Type.Array(RequestChange, { description: 'Requests in order of their last change' }),
    next: Type.String({ description: 'Full URL of what changes after this page; also on the last page' }),
  },
  { title: 'RequestChangePage', description: 'A page of changed requests' },
)

export const requestChanges = endpoint({
  method: 'GET',
  path,
  operationId: 'listBookingRequestChanges',
  tag: 'Bookings',
  summary: 'List the requests that have changed',
  description:
    'Lists each request of this partner once, at the position of its last change. Without `after` the list begins with the ' +
    'oldest. To follow changes, call `next` again and again. A cursor never expires, but after the operator has restored a ' +
    'backup it gets `cursor_invalid`: read the list from the beginning. An addition to the contract.',
  query: Type.Object({
    after: Type.Optional(Type.String({ description: 'Cursor from next; opaque', examples: [cursor] })),
    page_size: PageSize(maximumPageSize),
  }),
  budget: 'reads',
  answer: { status: 200, description: 'A page of changes', schema: ChangePageBody, isRevalidated: true },
  refusals: {
    field_invalid: 'page_size: must be at most 100',
    cursor_invalid: 'belongs to another list; read the list from the beginning',
  },
  examples: (slot, baseUrl) => ({ answer: { page: examplePage(slot, baseUrl) } }),
  handler:
    (context, baseUrl) =>
    async ({ query, caller }) => {
      const { after = null, page_size: pageSize } = query
      const page = await listChanges(context, caller.partner, after, pageSize ?? maximumPageSize)
      const next = urlOf(baseUrl, page.next, pageSize)
      const body = Buffer.from(JSON.stringify({ results: page.results.map(presentChange), next }))
      return { body: new Representation(new Blob([body]), tagOf([digestOf(body)])) }
    },
})

function urlOf(baseUrl: string, cursor: string, pageSize?: number): string {
  return `${baseUrl}${path}?after=${cursor}${pageSize === undefined ? '' : `&page_size=${pageSize}`}`
}

export function presentChange(request: ChangedRequest): Static<typeof RequestChange> {
  const { id, isErased, startsAt } = request
  if (isErased) return { id, state: 'erased', ...erased }
  const { state, providerId, authorizationNumber, acceptedAt, declinedAt, cancelledAt } = request
  return {
    ...{ id, state, providerId, authorizationNumber },
    utcStartTime: startsAt === null ? null : formatInstant(startsAt),
    acceptedAt: presentTimestamp(acceptedAt),
    declinedAt: presentTimestamp(declinedAt),
    cancelledAt: presentTimestamp(cancelledAt),
  }
}

const erased = {
  providerId: null,
  authorizationNumber: null,
  utcStartTime: null,
  acceptedAt: null,
  declinedAt: null,
  cancelledAt: null,
}

function examplePage(slot: RequestedSlot, baseUrl: string) {
  const { phoneNumber: _, preferredModality: __, member: ___, ...change } = exampleCurrent(slot)
  const next = urlOf(baseUrl, cursor)
  return {
    summary: 'A pending booking request, and one of an erased member',
    value: { results: [change, { id: 2, state: 'erased' as const, ...erased }], next },
  }
}
