import type { RequestRecord } from '../../domain/booking-request'
import type { Context } from '../../operations/context'
import type { FoundMember } from '../../operations/find-records'
import { stateOf } from '../command'
import { namesOf, presentRow } from '../commands/request-list'
import type { Text } from './output'
import { calledName } from './persons'
import { localText } from './request-text'
import { type Columns, columnsOf, table } from './table'

export function presentFoundMember({ member, by }: FoundMember, partners: ReadonlyMap<number, string>) {
  return {
    id: member.id,
    state: stateOf(member),
    partner: partners.get(member.partnerId) ?? null,
    externalUserId: member.externalUserId,
    name: calledName(member),
    foundBy: by,
  }
}

export const foundColumns: Columns<ReturnType<typeof presentFoundMember>> = {
  ...columnsOf('id', 'state', 'partner'),
  "PARTNER'S ID": ({ externalUserId }) => externalUserId,
  ...columnsOf('name'),
  'FOUND BY': ({ foundBy }) => foundBy,
}

/** Returns a member's requests, newest first. `localTime` is in the provider's zone. */
export async function presentRequests(context: Context, requests: readonly RequestRecord[]) {
  const names = await namesOf(context, requests)
  return requests.toReversed().map((request) => {
    const { id, kind, state, submittedAt, provider, utcStartTime } = presentRow(request, names)
    return { id, kind, state, submittedAt, provider, utcStartTime, localTime: localText(context, request) }
  })
}

type RequestRow = Awaited<ReturnType<typeof presentRequests>>[number]

const requestColumns: Columns<RequestRow> = {
  ...columnsOf('id', 'kind', 'state', 'provider'),
  'LOCAL TIME': ({ localTime, utcStartTime }) => localTime ?? utcStartTime,
  SUBMITTED: ({ submittedAt }) => submittedAt,
}

const mostRequests = 20

export function requestsText(memberId: number, rows: readonly RequestRow[]): Text {
  const older = `${rows.length - mostRequests} older: anteroom request list --member ${memberId}`
  const shown = table(rows.slice(0, mostRequests), requestColumns, 'No requests.')
  return ['', shown, rows.length > mostRequests ? older : []]
}
