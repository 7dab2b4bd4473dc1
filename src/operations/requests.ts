import type { Act, AuditEntry } from '../domain/audit'
import {
  holdsSlot,
  type RequestNote,
  type RequestRecord,
  type ScreeningAnswer,
} from '../domain/booking-request'
import {
  decideAcceptance,
  decideDecline,
  decideDeclines,
  decideNote,
  decideReading,
  decideReadingNotes,
  refuseTransition,
} from '../domain/decisions/transitions'
import { Refusal } from '../domain/errors'
import type { PageRequest } from '../domain/page'
import type { Partner } from '../domain/partner'
import type { RequestFilter, Store } from '../domain/ports/store'
import { pause } from '../domain/ports/time'
import { isAtRisk, type Risk, riskOf, type ScreeningScore, scoreScreening } from '../domain/screening'
import { type Records, thenShow } from './context'
import { noteAct } from './maintenance'

/** Accepts a pending request. @throws Refusal record_unknown, move_unknown */
export function acceptRequest(records: Records, id: number, act: Act): Promise<void> {
  const accepted = records.store.change(
    act,
    ({ requests }) => [requests.find(id)],
    (request) => decideAcceptance(request, act),
  )
  return thenShow(records, accepted)
}

/**
 * Declines a pending or accepted request; its slot is free again.
 *
 * @param reason for staff alone, kept as a note
 * @throws Refusal record_unknown, move_unknown, field_invalid for the length of the reason
 */
export function declineRequest(records: Records, id: number, act: Act, reason?: string): Promise<void> {
  const declined = records.store.change(
    act,
    ({ requests }) => [requests.find(id)],
    (request) => decideDecline(request, act, reason),
  )
  return thenShow(records, declined)
}

/** @throws Refusal move_unknown for what cannot be declined */
export function requireDeclinable(request: RequestRecord): void {
  const refusal = refuseTransition(request, 'declined')
  if (refusal) throw refusal
}

/** The ids of the requests of a partner's since an instant (ms) that can be declined, and how many have no provider yet. */
export async function listSubmitted({ store }: Records, { id }: Partner, since: number) {
  const submitted = await store.read(({ requests }) => requests.submittedBy(id, since))
  const open = submitted.filter(({ state }) => holdsSlot(state))
  const unassigned = submitted.filter(({ state }) => state === 'unassigned')
  return { ids: open.map(({ id }) => id), unassigned: unassigned.length }
}

/** How many requests are declined, and how many lines written, in one transaction. */
const [declinedAtOnce, notedAtOnce] = [100, 500]
/** Pause between two transactions, in which others write. */
const pauseMillis = 25

/**
 * Declines many requests: some at a time, each transaction all or nothing, so that others can write in between. Those that
 * cannot be declined any more are passed over. Tells how many it declined.
 */
export async function declineRequests(
  records: Records,
  ids: readonly number[],
  act: Act,
  reason?: string,
): Promise<number> {
  let declined = 0
  for (let start = 0; start < ids.length; start += declinedAtOnce) {
    if (start > 0) await pause(pauseMillis)
    const some = ids.slice(start, start + declinedAtOnce)
    declined += await records.store.change(
      act,
      ({ requests }) => [requests.findAll(some)],
      (found) => decideDeclines(found, act, reason),
    )
  }
  return thenShow(records, Promise.resolve(declined))
}

/** The screening answers of a request and what can be said of them. */
export interface Screening {
  readonly answers: readonly ScreeningAnswer[]
  readonly score: ScreeningScore
}

/** Reads the screening answers of a request, which the audit log keeps. @throws Refusal record_unknown */
export async function readScreening({ store }: Records, id: number, act: Act): Promise<Screening> {
  const answers = await store.change(
    act,
    ({ requests }) => [requests.find(id), requests.screeningOf(id)],
    decideReading,
  )
  return { answers, score: scoreScreening(answers) }
}

/** A request of the queue, and what its screening says of the risk; null where no answers are held or none was asked. */
export interface QueuedRequest {
  readonly request: RequestRecord
  readonly risk: Risk | null
}

/** Which part of the queue is asked for; pages are counted from 1. */
export interface QueueWish extends PageRequest {
  readonly filter: RequestFilter
  /** By submission; by the start of the slot; or those at risk first, of those that wait. */
  readonly sort: 'age' | 'slot' | 'risk'
}

/** One page of the queue. */
export interface Queue {
  readonly requests: readonly QueuedRequest[]
  /** Whether there is a next page. */
  readonly isMore: boolean
  /** When the oldest request that matches and waits was submitted, in ms; null if none waits. */
  readonly oldestWaitingAt: number | null
}

/**
 * One page of the requests, in the order in which they should be worked. The audit log keeps how many people it shows,
 * and by `risk`, of each request that has one, that its risk was read.
 *
 * @throws Refusal field_invalid where the risk is asked of requests that are handled
 */
export async function listQueue(records: Records, wish: QueueWish, act: Act): Promise<Queue> {
  const { store } = records
  const filter = wish.sort === 'risk' ? waitingOf(wish.filter) : wish.filter
  const found = wish.sort === 'risk' ? await pageByRisk(store, filter, wish) : await queuePage(store, wish)
  const requests = found.slice(0, wish.pageSize)
  const people = requests.filter(({ request }) => request.member).length
  await noteReadings(records, [
    { ...act, action: 'request.list', record: null, outcome: `done: ${people}` },
    ...requests.filter(({ risk }) => risk).map(({ request }) => readingOf(request, act)),
  ])
  const { oldestAt } = await store.read((facts) => facts.requests.countWaiting(filter))
  return { requests, isMore: found.length > wish.pageSize, oldestWaitingAt: oldestAt }
}

function readingOf({ id }: RequestRecord, act: Act): AuditEntry {
  return { ...act, action: 'request.read-risk', record: `request ${id}`, outcome: 'done' }
}

/** Those that are handled have left. */
function waitingOf(filter: RequestFilter): RequestFilter {
  const { state = 'waiting' } = filter
  if (state === 'waiting' || state === 'unassigned' || state === 'pending') return { ...filter, state }
  throw new Refusal('field_invalid', `only requests that wait are put in order of risk, and none is ${state}`)
}

/** One request more than the page shows, if there is a next page. */
async function queuePage(
  store: Store,
  { filter, sort, page, pageSize }: QueueWish,
): Promise<QueuedRequest[]> {
  const order = sort === 'slot' ? 'slot' : 'submission'
  const part = { order, offset: (page - 1) * pageSize, most: pageSize + 1 } as const
  return (await store.read(({ requests }) => requests.list(filter, part))).map((request) => ({
    request,
    risk: null,
  }))
}

/** One request more than the page shows, if there is a next page. */
async function pageByRisk(
  store: Store,
  filter: RequestFilter,
  { page, pageSize }: PageRequest,
): Promise<QueuedRequest[]> {
  const first = (page - 1) * pageSize
  const shown = (await listByRisk(store, filter)).slice(first, first + pageSize + 1)
  const found = await Promise.all(
    shown.map(async ({ id, risk }) => {
      return { request: await store.read(({ requests }) => requests.find(id)), risk }
    }),
  )
  return found.flatMap(({ request, risk }) => (request ? [{ request, risk }] : []))
}

/** The requests with the risk of each, the most urgent first, and of equal ones that which has waited longer. */
async function listByRisk(store: Store, filter: RequestFilter): Promise<RequestRisk[]> {
  const ids = await store.read(({ requests }) => requests.listIds(filter))
  const ranked = await Array.fromAsync(risksOf(store, ids))
  return ranked.sort((a, b) => (b.risk?.urgency ?? -1) - (a.risk?.urgency ?? -1))
}

/** A request and what its screening says of the risk; null where no answers are held. */
export interface RequestRisk {
  readonly id: number
  readonly risk: Risk | null
}

/** Whose answers are opened at once. */
const openedAtOnce = 1_000

/** The risk of each of the requests named, in their order; the answers are forgotten at once. */
export async function* risksOf(store: Store, ids: readonly number[]): AsyncGenerator<RequestRisk> {
  for (let start = 0; start < ids.length; start += openedAtOnce) {
    const some = ids.slice(start, start + openedAtOnce)
    const answers = await store.read(({ requests }) => requests.readableAnswers(some))
    for (const id of some) {
      const given = answers.get(id) ?? null
      yield { id, risk: given?.length === 0 ? null : riskOf(given) }
    }
  }
}

/** Whether any request waits whose ninth item is not zero, or is for a person to look at. */
export async function isAnyAtRisk({ store }: Records): Promise<boolean> {
  const waiting = await store.read(({ requests }) => requests.listIds({ state: 'waiting' }))
  for await (const { risk } of risksOf(store, waiting)) {
    if (isAtRisk(risk)) return true
  }
  return false
}

/** Of how many of the requests named whose ninth item is not zero, or for a person to look at, nobody has read the answers. */
export async function countUnreadRisk(store: Store, ids: readonly number[]): Promise<number> {
  const atRisk: number[] = []
  for await (const { id, risk } of risksOf(store, ids)) if (isAtRisk(risk)) atRisk.push(id)
  return atRisk.length - (await store.read(({ audit }) => audit.listReviewed(atRisk))).length
}

/** Whether a request's ninth item is not zero, or for a person to look at; the audit log keeps that this was told. */
export async function readRisk(records: Records, id: number, act: Act): Promise<boolean> {
  for await (const { risk } of risksOf(records.store, [id])) {
    if (!isAtRisk(risk)) continue
    await noteAct(records, act, 'request.read-risk', `request ${id}`)
    return true
  }
  return false
}

/**
 * Notes in the audit log what somebody is about to be shown: some lines at a time, so that bookings are stored in between.
 * Who is stopped meanwhile has been shown nothing.
 */
export async function noteReadings(
  { store }: Pick<Records, 'store'>,
  lines: readonly AuditEntry[],
): Promise<void> {
  for (let start = 0; start < lines.length; start += notedAtOnce) {
    if (start > 0) await pause(pauseMillis)
    await store.appendAudit(lines.slice(start, start + notedAtOnce))
  }
}

/** Writes about a request, for staff alone, and tells the note's id. @throws Refusal record_unknown, move_unknown, field_invalid */
export function addNote({ store }: Records, requestId: number, text: string, act: Act): Promise<number> {
  return store.change(
    act,
    ({ requests }) => [requests.find(requestId)],
    (request) => decideNote(request, text, act),
  )
}

/** Reads what staff wrote about a request, oldest first, which the audit log keeps. @throws Refusal record_unknown */
export function readNotes({ store }: Records, requestId: number, act: Act): Promise<readonly RequestNote[]> {
  return store.change(
    act,
    ({ requests, notes }) => [requests.find(requestId), notes.listOf(requestId)],
    decideReadingNotes,
  )
}

/** How many notes there are on a request: that there are some is no reading. */
export async function countNotes({ store }: Records, requestId: number): Promise<number> {
  return (await store.read(({ notes }) => notes.idsOf(requestId))).length
}
