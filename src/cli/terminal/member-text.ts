import type { RequestRecord } from '../../domain/booking-request'
import type { DueMember } from '../../domain/decisions/members'
import type { Context } from '../../operations/context'
import type { FoundMember, FoundMembers } from '../../operations/find-records'
import type { eraseDue } from '../../operations/members'
import { formatInstant } from '../../scheduling/calendar'
import { stateOf } from '../command'
import { namesOf, presentRow } from '../commands/request-list'
import { counted, firstOf } from './layout'
import { type Answer, printNotice, type Text } from './output'
import { calledName } from './persons'
import { localText } from './request-text'
import { type Columns, columnsOf, rowsAnswer, table } from './table'

function presentFoundMember({ member, by }: FoundMember, partners: ReadonlyMap<number, string>) {
  return {
    id: member.id,
    state: stateOf(member),
    partner: partners.get(member.partnerId) ?? null,
    externalUserId: member.externalUserId,
    name: calledName(member),
    foundBy: by,
  }
}

const foundColumns: Columns<ReturnType<typeof presentFoundMember>> = {
  ...columnsOf('id', 'state', 'partner'),
  "PARTNER'S ID": ({ externalUserId }) => externalUserId,
  ...columnsOf('name'),
  'FOUND BY': ({ foundBy }) => foundBy,
}

export function foundAnswer({ found, count, searched }: FoundMembers, partners: ReadonlyMap<number, string>) {
  const rows = found.map((one) => presentFoundMember(one, partners))
  const isAll = count === found.length
  if (!isAll) printNotice(`only ${found.length} of ${count} members are shown; search for a longer text`)
  if (searched !== null) {
    const only = `only the newest ${counted(searched, 'member')} were searched`
    printNotice(`more: narrow it down; ${only}. A whole e-mail address or partner's id is found among all`)
  }
  const among = searched === null ? '' : ` among the newest ${searched}`
  const { json, text } = rowsAnswer(rows, foundColumns, `There is no such member${among}.`)
  return { json, text: [text, isAll && count > 1 ? ['', `${counted(count, 'member')}.`] : []] }
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

function presentDue({ id, endedAt, openRequest }: DueMember) {
  return { member: id, lastEndedAt: formatInstant(endedAt), openRequest }
}

const dueColumns: Columns<ReturnType<typeof presentDue>> = {
  MEMBER: ({ member }) => member,
  'LAST ENDED': ({ lastEndedAt }) => lastEndedAt,
  'OPEN REQUEST': ({ openRequest }) => openRequest,
}

export function dueAnswer(due: readonly DueMember[], years: number): Answer {
  const rows = due.map(presentDue)
  const erase = `To erase those without an open request: anteroom member erase --due --older-than ${years}y`
  const next = `${counted(due.length, 'member')}. ${erase}`
  return {
    json: rows,
    text: [table(rows, dueColumns, 'No member is due.'), due.length > 0 ? ['', next] : []],
  }
}

const mostNamed = 20

/** @param leftOut with the open request; null if the member changed or was erased meanwhile */
export function erasedAnswer(
  { erased, isPurged, keptIn }: Awaited<ReturnType<typeof eraseDue>>,
  leftOut: readonly DueMember[],
): Answer {
  const named = leftOut.map(({ id, openRequest }) => {
    return `member ${id} (${openRequest === null ? 'changed or erased meanwhile' : `request ${openRequest} is open`})`
  })
  const done = `${counted(erased.length, 'member')} erased. Their requests remain without personal data.`
  return {
    json: { erased, leftOut: leftOut.map(presentDue), purged: isPurged },
    text: [
      erased.length > 0 ? [done, keptIn] : 'No member is due.',
      named.length > 0 ? `Left out: ${firstOf(named, mostNamed)}.` : [],
    ],
  }
}
