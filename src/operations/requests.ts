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
 * Declines a pending or accepted request and frees its slot. @param reason for staff only, stored as a note
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

/** @throws Refusal move_unknown if the request cannot be declined */
export function requireDeclinable(request: RequestRecord): void {
  const refusal = refuseTransition(request, 'declined')
  if (refusal) throw refusal
}

/**
 * Reads a partner's requests submitted since `since` (ms). Returns the ids of the requests that can be declined, and the
 * number of intakes that have no provider yet.
 */
export async function listSubmitted({ store }: Records, { id }: Partner, since: number) {
  const submitted = await store.read(({ requests }) => requests.submittedBy(id, since))
  const open = submitted.filter(({ state }) => holdsSlot(state))
  const unassigned = submitted.filter(({ state }) => state === 'unassigned')
  return { ids: open.map(({ id }) => id), unassigned: unassigned.length }
}

const [declinedAtOnce, notedAtOnce] = [100, 500]
/** Pause between transactions for other writers, in ms. */
const pauseMillis = 25

/**
 * Declines requests in batches, with pauses for other writers. Skips requests that cannot be declined. Returns the
 * number of declined requests.
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

export interface Screening {
  readonly answers: readonly ScreeningAnswer[]
  readonly score: ScreeningScore
}

/** Reads a request's screening answers, with an audit line. @throws Refusal record_unknown */
export async function readScreening({ store }: Records, id: number, act: Act): Promise<Screening> {
  const answers = await store.change(
    act,
    ({ requests }) => [requests.find(id), requests.screeningOf(id)],
    decideReading,
  )
  return { answers, score: scoreScreening(answers) }
}

/** A request in the queue. `risk` is null if the request has no answers, or if the queue is not sorted by risk. */
export interface QueuedRequest {
  readonly request: RequestRecord
  readonly risk: Risk | null
}

/** Filter, order and page of the queue. Pages count from 1. */
export interface QueueWish extends PageRequest {
  readonly filter: RequestFilter
  /** `age`: by submission; `slot`: by the slot's start; `risk`: waiting requests only, highest risk first. */
  readonly sort: 'age' | 'slot' | 'risk'
}

export interface Queue {
  readonly requests: readonly QueuedRequest[]
  readonly isMore: boolean
  /** Submission time (ms) of the oldest waiting request in the filter; null if no request waits. */
  readonly oldestWaitingAt: number | null
}

/**
 * Returns one page of the queue. The audit log records the number of members shown. If the queue is sorted by risk, the log
 * also records each request whose risk was read.
 * @throws Refusal field_invalid if the queue is sorted by risk, but the filter selects requests that do not wait
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

function waitingOf(filter: RequestFilter): RequestFilter {
  const { state = 'waiting' } = filter
  if (state === 'waiting' || state === 'unassigned' || state === 'pending') return { ...filter, state }
  throw new Refusal('field_invalid', `only waiting requests can be sorted by risk, but the state is ${state}`)
}

/** Returns a page of requests, and the first request of the next page. */
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

/** Returns a page of requests, and the first request of the next page. */
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

/** Sorts requests by urgency, highest first, then by waiting time, longest first. */
async function listByRisk(store: Store, filter: RequestFilter): Promise<RequestRisk[]> {
  const ids = await store.read(({ requests }) => requests.listIds(filter))
  const ranked = await Array.fromAsync(risksOf(store, ids))
  return ranked.sort((a, b) => (b.risk?.urgency ?? -1) - (a.risk?.urgency ?? -1))
}

interface RequestRisk {
  readonly id: number
  readonly risk: Risk | null
}

const openedAtOnce = 1_000

/** Yields the risk of each request, in order. Does not keep decrypted answers. */
async function* risksOf(store: Store, ids: readonly number[]): AsyncGenerator<RequestRisk> {
  for (let start = 0; start < ids.length; start += openedAtOnce) {
    const some = ids.slice(start, start + openedAtOnce)
    const answers = await store.read(({ requests }) => requests.readableAnswers(some))
    for (const id of some) {
      const decrypted = answers.get(id) ?? null
      yield { id, risk: decrypted?.length === 0 ? null : riskOf(decrypted) }
    }
  }
}

/** Returns true if any waiting request is at risk: the ninth answer is non-zero or needs review by a person. */
export async function isAnyAtRisk({ store }: Records): Promise<boolean> {
  const waiting = await store.read(({ requests }) => requests.listIds({ state: 'waiting' }))
  for await (const { risk } of risksOf(store, waiting)) {
    if (isAtRisk(risk)) return true
  }
  return false
}

/** Counts the requests at risk whose answers staff have not read. */
export async function countUnreadRisk(store: Store, ids: readonly number[]): Promise<number> {
  const atRisk: number[] = []
  for await (const { id, risk } of risksOf(store, ids)) if (isAtRisk(risk)) atRisk.push(id)
  return atRisk.length - (await store.read(({ audit }) => audit.listReviewed(atRisk))).length
}

/** Returns true if a request is at risk. In that case, adds an audit line. */
export async function readRisk(records: Records, id: number, act: Act): Promise<boolean> {
  for await (const { risk } of risksOf(records.store, [id])) {
    if (!isAtRisk(risk)) continue
    await noteAct(records, act, 'request.read-risk', `request ${id}`)
    return true
  }
  return false
}

/** Adds audit lines before data is shown. Works in batches, so that bookings can be stored between two batches. */
export async function noteReadings(
  { store }: Pick<Records, 'store'>,
  lines: readonly AuditEntry[],
): Promise<void> {
  for (let start = 0; start < lines.length; start += notedAtOnce) {
    if (start > 0) await pause(pauseMillis)
    await store.appendAudit(lines.slice(start, start + notedAtOnce))
  }
}

/** Adds a note for staff. Returns its id. @throws Refusal record_unknown, move_unknown, field_invalid */
export function addNote({ store }: Records, requestId: number, text: string, act: Act): Promise<number> {
  return store.change(
    act,
    ({ requests }) => [requests.find(requestId)],
    (request) => decideNote(request, text, act),
  )
}

/** Reads a request's notes, oldest first, with an audit line. @throws Refusal record_unknown */
export function readNotes({ store }: Records, requestId: number, act: Act): Promise<readonly RequestNote[]> {
  return store.change(
    act,
    ({ requests, notes }) => [requests.find(requestId), notes.listOf(requestId)],
    decideReadingNotes,
  )
}

/** Counts a request's notes. Counting is not recorded as reading. */
export async function countNotes({ store }: Records, requestId: number): Promise<number> {
  return (await store.read(({ notes }) => notes.idsOf(requestId))).length
}
