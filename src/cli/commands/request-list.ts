import { type Command, Option } from 'commander'
import { type RequestRecord, requestStates } from '../../domain/booking-request'
import { Refusal } from '../../domain/errors'
import type { RequestFilter } from '../../domain/ports/store'
import type { NinthItem } from '../../domain/screening'
import type { Records } from '../../operations/context'
import { readProvider, readProviders, requireMember, requirePartner } from '../../operations/find-records'
import { partnerNames } from '../../operations/partners'
import {
  isAnyAtRisk,
  listQueue,
  type Queue,
  type QueuedRequest,
  type QueueWish,
} from '../../operations/queue'
import { formatInstant, minuteMillis } from '../../scheduling/calendar'
import { lengthOfTime, localDate, recordId, utcInstant, wholeNumber } from '../arguments'
import { type Call, json, recordsCommand } from '../command'
import { makeAct } from '../storage'
import { counted } from '../terminal/layout'
import { type Answer, ageText, type CommonFlags, instantText, printNotice } from '../terminal/output'
import { type Columns, columnsOf, rowsAnswer } from '../terminal/table'

type Sort = QueueWish['sort']

interface Flags extends CommonFlags {
  readonly intakes?: boolean
  readonly risk?: boolean
  readonly state?: RequestFilter['state']
  readonly provider?: string
  readonly partner?: string
  readonly member?: number
  readonly on?: number
  readonly since?: number
  readonly age?: number
  readonly sort?: Sort
  readonly limit: number
  readonly page: number
}

export function requestListCommand(): Command {
  const states = new Option('--state <state>', 'requests in this state; waiting means unassigned or pending')
  const sort = new Option('--sort <order>', 'by age (oldest first), slot (soonest) or risk (highest)')
  return recordsCommand({
    name: 'list',
    description: 'List requests, the oldest first, one page at a time',
    options: [
      ['--risk', 'waiting requests, and those with unread risk, the highest PHQ-9 risk first; audited'],
      ['--intakes', 'only intakes (default: waiting ones, the highest risk first)'],
      states.choices([...requestStates, 'waiting']),
      ['--provider <ref>', 'only requests with this provider'],
      ['--partner <partner>', 'only requests of this partner; name or id'],
      ['--member <id>', 'only requests of this member', recordId],
      ['--on <date>', "only requests with a slot on this date, in the provider's time zone", localDate],
      ['--since <instant>', 'only requests submitted at this UTC instant or later', utcInstant],
      ['--age <length>', 'only requests of this age or older, such as 90min, 12h, 3d or 2w', lengthOfTime],
      sort.choices(['age', 'slot', 'risk'] satisfies Sort[]),
      ['--limit <n>', 'the number of requests on a page', wholeNumber(1, 10_000), 50],
      ['--page <n>', 'the number of the page', wholeNumber(1, 1_000_000), 1],
      json(),
    ],
    examples: [
      'anteroom request list --risk',
      'anteroom request list --state waiting --age 3d --sort slot',
      'anteroom request list --provider on-1 --on 2026-12-01 --json | jq -r .[].id',
    ],
    run: list,
  })
}

async function list({ context, flags }: Call<Records, Flags>): Promise<Answer> {
  const wish = await queueWishOf(context, flags)
  const doing = makeAct()
  const queue = await listQueue(context, wish, doing)
  const names = await namesOf(
    context,
    queue.requests.map(({ request }) => request),
  )
  const rows = queue.requests.map((queued) => presentQueued(queued, names, doing.at, wish))
  const columns = {
    ...columnsOf<Row>('id', ...(isGrouped(queue) ? (['requests'] as const) : [])),
    ...(wish.sort === 'risk' ? riskColumns : queueColumns),
  }
  const empty = wish.page === 1 ? 'There are no requests.' : 'There are no more requests.'
  if (flags.json && queue.isMore) printNotice(`there are more requests; ${nextPage(wish)}`)
  if (!flags.json && wish.sort !== 'risk') await warnOfWaitingRisk(context)
  const { json, text } = rowsAnswer(rows, columns, empty, { leaveOut })
  return { json, text: [text, queue.requests.length > 0 ? ['', pageText(queue, wish, doing.at)] : []] }
}

async function queueWishOf(context: Records, flags: Flags): Promise<QueueWish> {
  const { intakes = false, state, provider, partner, member, on, since, age, limit, page } = flags
  const filter: RequestFilter = {
    intakesOnly: intakes,
    state,
    providerId: provider === undefined ? undefined : (await readProvider(context, provider)).id,
    partnerId: partner === undefined ? undefined : (await requirePartner(context, partner)).id,
    memberId: member === undefined ? undefined : (await requireMember(context, { id: member })).id,
    slotDay: on,
    submittedFrom: since,
    submittedUntil: age === undefined ? undefined : context.clock.now() - age,
  }
  const perMember = !flags.json && member === undefined
  return { filter, sort: sortOf(flags), perMember, page, pageSize: limit }
}

/** The default order is by risk for waiting intakes, and by age for other lists. */
function sortOf({ risk, intakes, sort, state }: Flags): Sort {
  if (risk) {
    if (sort === undefined || sort === 'risk') return 'risk'
    throw new Refusal('field_invalid', '--risk cannot be combined with another --sort')
  }
  return sort ?? (intakes && (state === undefined || state === 'waiting') ? 'risk' : 'age')
}

/** Returns two maps: from provider ids to refs, and from partner ids to names. */
export async function namesOf(records: Records, requests: readonly RequestRecord[]) {
  const { providers } = await readProviders(records, requests)
  return {
    providers: new Map(providers.map(({ id, ref }) => [id, ref])),
    partners: await partnerNames(records),
  }
}

export function presentRow(
  request: RequestRecord,
  { providers, partners }: Awaited<ReturnType<typeof namesOf>>,
) {
  const { id, isIntake, state, providerId, startsAt, submittedAt, member } = request
  return {
    id,
    kind: isIntake ? 'intake' : 'booking request',
    state,
    submittedAt: formatInstant(submittedAt),
    provider: providerId === null ? null : (providers.get(providerId) ?? null),
    utcStartTime: instantText(startsAt),
    member: member?.id ?? null,
    partner: (member && partners.get(member.partnerId)) ?? null,
    externalUserId: member?.externalUserId ?? null,
  }
}

function presentQueued(
  { request, risk, count }: QueuedRequest,
  names: Awaited<ReturnType<typeof namesOf>>,
  now: number,
  { sort, perMember }: QueueWish,
) {
  const { submittedAt } = request
  return {
    ...presentRow(request, names),
    ageMinutes: Math.max(0, Math.floor((now - submittedAt) / minuteMillis)),
    ...(perMember && { requests: count }),
    ...(sort === 'risk' && { ninthItem: risk?.ninthItem ?? null, severity: risk?.severity ?? null }),
  }
}

type Row = ReturnType<typeof presentQueued>

const queueColumns: Columns<Row> = {
  KIND: ({ kind }) => (kind === 'intake' ? kind : 'booking'),
  ...columnsOf('state'),
  AGE: ({ ageMinutes }) => ageText(0, ageMinutes * minuteMillis),
  ...columnsOf('provider'),
  SLOT: ({ utcStartTime }) => utcStartTime,
  ...columnsOf('member', 'partner'),
  "PARTNER'S ID": ({ externalUserId }) => externalUserId,
}

const riskMarks: Record<NinthItem, string | null> = {
  'non-zero': '!! item 9',
  unclear: '?? unclear',
  zero: null,
  'not asked': null,
}

const riskColumns: Columns<Row> = {
  RISK: ({ ninthItem }) => (ninthItem ? riskMarks[ninthItem] : null),
  SEVERITY: ({ ninthItem, severity }) => severity ?? (ninthItem ? 'incomplete' : null),
  ...queueColumns,
}

function isGrouped({ requests }: Queue): boolean {
  return requests.some(({ count }) => count > 1)
}

/** Columns that are hidden on a narrow terminal, in this order. */
const leaveOut = ['MEMBER', 'PARTNER', "PARTNER'S ID", 'KIND']

function nextPage({ page }: QueueWish): string {
  return `for the next page, use --page ${page + 1}`
}

function pageText(queue: Queue, wish: QueueWish, now: number): string {
  const { requests, isMore, oldestWaitingAt } = queue
  const before = (wish.page - 1) * wish.pageSize
  const isAll = before === 0 && !isMore
  const which = isGrouped(queue)
    ? `${counted(requests.length, 'member')} with ${requests.reduce((sum, { count }) => sum + count, 0)} requests`
    : isAll
      ? counted(requests.length, 'request')
      : `requests ${before + 1} to ${before + requests.length}`
  const oldest =
    oldestWaitingAt === null ? 'none is waiting' : `the oldest has waited ${ageText(oldestWaitingAt, now)}`
  const each = isGrouped(queue) ? '; to list those of one member, use --member ID' : ''
  return `${which}; ${oldest}${each}${isMore ? `; ${nextPage(wish)}` : ''}.`
}

/** Lists that are not sorted by risk may show urgent requests only on a later page. */
async function warnOfWaitingRisk(context: Records): Promise<void> {
  if (!(await isAnyAtRisk(context))) return
  printNotice(
    'some waiting requests have a raised or unclear ninth PHQ-9 item; anteroom request list --risk lists them first',
  )
}
