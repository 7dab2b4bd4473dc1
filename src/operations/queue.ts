import type { Act, AuditEntry } from '../domain/audit'
import type { RequestRecord } from '../domain/booking-request'
import { Refusal } from '../domain/errors'
import type { PageRequest } from '../domain/page'
import type { OwnedRequest, RequestFilter, RequestPart, Store } from '../domain/ports/store'
import { pause } from '../domain/ports/time'
import { isAtRisk, type Risk, riskOf } from '../domain/screening'
import { dayMillis } from '../scheduling/calendar'
import type { Records } from './context'
import { noteAct } from './maintenance'
import { noteReadings } from './notebook'

/** A request in the queue. `risk` is null if the request has no answers, or if the queue is not sorted by risk. */
export interface QueuedRequest {
  readonly request: RequestRecord
  readonly risk: Risk | null
  /** The number of requests in this row: 1, or all of the member if the queue is `perMember`. */
  readonly count: number
}

/** Filter, order and page of the queue. Pages count from 1. */
export interface QueueWish extends PageRequest {
  readonly filter: RequestFilter
  /** `age`: by submission; `slot`: by the slot's start; `risk`: waiting requests only, highest risk first. */
  readonly sort: 'age' | 'slot' | 'risk'
  /** One row for each member with waiting requests, so that one member cannot bury the others. */
  readonly perMember?: boolean
}

export type Queue = Awaited<ReturnType<typeof listQueue>>

/**
 * Returns one page of the queue. The audit log records the number of members shown. If the queue is sorted by risk, the log
 * also records each request whose risk was read. `oldestWaitingAt` (ms) is null if no request of the filter waits.
 * @throws Refusal field_invalid if the queue is sorted by risk, but the filter selects requests that do not wait
 */
export async function listQueue(records: Records, wish: QueueWish, act: Act) {
  const { store } = records
  const filter = wish.sort === 'risk' ? waitingOf(wish.filter) : wish.filter
  const rows = await rowsOf(records, wish, filter, act.at)
  const shown = rows.slice(0, wish.pageSize)
  const found = await store.read((facts) => facts.requests.findAll(shown.map(({ id }) => id)))
  const requests = shown.flatMap(({ risk, count }, at): QueuedRequest | [] => {
    const request = found[at]
    return request ? { request, risk, count } : []
  })
  const people = requests.filter(({ request }) => request.member).length
  await noteReadings(records, [
    { ...act, action: 'request.list', record: null, outcome: `done: ${people}` },
    ...requests.filter(({ risk }) => risk).map(({ request }) => readingOf(request, act)),
  ])
  const { oldestAt } = await store.read((facts) => facts.requests.countWaiting(filter))
  return { requests, isMore: rows.length > wish.pageSize, oldestWaitingAt: oldestAt }
}

function readingOf({ id }: RequestRecord, act: Act): AuditEntry {
  return { ...act, action: 'request.read-risk', record: `request ${id}`, outcome: 'done' }
}

function isWaiting({ state }: RequestFilter): boolean {
  return state === 'waiting' || state === 'unassigned' || state === 'pending'
}

function waitingOf(filter: RequestFilter): RequestFilter {
  const { state = 'waiting' } = filter
  if (isWaiting({ state }) || state === 'cancelled') return { ...filter, state }
  const why = `only waiting and cancelled requests can be sorted by risk, but the state is ${state}`
  throw new Refusal('field_invalid', why)
}

type Row = OwnedRisk & Pick<QueuedRequest, 'count'>

/** Returns the rows of a page, and the first row of the next page. */
async function rowsOf(records: Records, wish: QueueWish, filter: RequestFilter, now: number): Promise<Row[]> {
  const { store } = records
  const { sort, page, pageSize } = wish
  const isGrouped = wish.perMember && isWaiting(filter)
  const isWhole = isGrouped || sort === 'risk'
  const order = sort === 'slot' ? 'slot' : 'submission'
  const [offset, most] = [(page - 1) * pageSize, pageSize + 1]
  const part: Partial<RequestPart> = isWhole ? { order } : { order, offset, most }
  const cancelled = sort === 'risk' ? await store.read(({ requests }) => requests.unreadRisks()) : []
  const wanted = sort === 'risk' && filter.state === 'cancelled' ? { ...filter, ids: cancelled } : filter
  const owned = await store.read(({ requests }) => requests.listOwned(wanted, part))
  let rows = owned.map((one): Row => ({ ...one, risk: null, count: 1 }))
  if (!isWhole) return rows
  if (sort === 'risk') {
    const unread = wish.filter.state === undefined ? await unreadAmong(records, filter, now, owned) : []
    const risks = await Array.fromAsync(risksOf(store, [...owned, ...unread]))
    rows = risks.sort(byUrgency(new Set(cancelled))).map((one) => ({ ...one, count: 1 }))
  }
  return (isGrouped ? firstOfEach(rows) : rows).slice(offset, offset + most)
}

/** Accepting and cancelling are not reading: accepted and cancelled requests with unread risk stay in the queue. */
async function unreadAmong(
  records: Records,
  filter: RequestFilter,
  now: number,
  waiting: readonly OwnedRequest[],
) {
  const known = new Set(waiting.map(({ id }) => id))
  const ids = (await listUnreadRisk(records, now)).filter((id) => !known.has(id))
  if (ids.length === 0) return []
  return records.store.read(({ requests }) => requests.listOwned({ ...filter, state: undefined, ids }))
}

/** Highest urgency first, then longest waiting time. Cancelled requests cannot push others of the same urgency back. */
function byUrgency(cancelled: ReadonlySet<number>) {
  return (one: OwnedRisk, other: OwnedRisk) =>
    (other.risk?.urgency ?? -1) - (one.risk?.urgency ?? -1) ||
    Number(cancelled.has(one.id)) - Number(cancelled.has(other.id)) ||
    one.id - other.id
}

function firstOfEach(ranked: readonly Row[]): Row[] {
  // Requests of erased people have no member, so each is a row of its own.
  const groups = Map.groupBy(ranked, ({ id, memberId }) => memberId ?? -id)
  return [...groups.values()].flatMap(([first, ...others]) =>
    first ? { ...first, count: 1 + others.length } : [],
  )
}

type OwnedRisk = OwnedRequest & { readonly risk: Risk | null }

const [openedAtOnce, knownAtOnce] = [100, 5_000]
/** Nearly all slots start within 30 days. */
const horizonMillis = 30 * dayMillis

/** Risk by request id, for each open database. In memory only, because a stored risk would be readable. */
const remembered = new WeakMap<Store, Map<number, Risk | null>>()

function memoryOf(store: Store): Map<number, Risk | null> {
  const memory = remembered.get(store) ?? new Map<number, Risk | null>()
  remembered.set(store, memory)
  return memory
}

/** Yields the risk of each request, in order. Opens answers only once, because they never change. Lets others in. */
async function* risksOf(store: Store, requests: readonly OwnedRequest[]): AsyncGenerator<OwnedRisk> {
  const memory = memoryOf(store)
  for (let start = 0; start < requests.length; start += openedAtOnce) {
    const some = requests.slice(start, start + openedAtOnce)
    const unknown = some
      .filter(({ id, memberId }) => memberId !== null && !memory.has(id))
      .map(({ id }) => id)
    if (unknown.length > 0 || start % knownAtOnce === 0) await pause(0)
    if (unknown.length > 0) {
      const answers = await store.read(({ requests }) => requests.readableAnswers(unknown))
      for (const id of unknown) {
        const decrypted = answers.get(id) ?? null
        memory.set(id, decrypted?.length === 0 ? null : riskOf(decrypted))
      }
    }
    for (const { id, memberId } of some) if (memberId === null) memory.delete(id)
    yield* some.map((request) => ({ ...request, risk: memory.get(request.id) ?? null }))
  }
}

/** Returns true if any waiting request is at risk: the ninth answer is non-zero or needs review by a person. */
export async function isAnyAtRisk({ store }: Records): Promise<boolean> {
  const waiting = await store.read(({ requests }) => requests.listOwned({ state: 'waiting' }))
  for await (const { risk } of risksOf(store, waiting)) {
    if (isAtRisk(risk)) return true
  }
  return false
}

/**
 * Returns the ids of requests at risk whose answers staff have not read, oldest first: those that wait, those that are
 * accepted for a time after `now` (ms), and cancelled ones.
 */
export async function listUnreadRisk({ store }: Pick<Records, 'store'>, now: number): Promise<number[]> {
  const waiting = await store.read(({ requests }) => requests.listOwned({ state: 'waiting' }))
  const cancelled = await store.read(async ({ requests }) => {
    const ids = await requests.unreadRisks()
    return ids.length > 0 ? requests.listOwned({ ids }) : []
  })
  const all = new Map([...waiting, ...cancelled].map((request) => [request.id, request]))
  // Day by day, so that others get a turn: a network may have 100,000 booked slots.
  for (let from = now; from < Number.MAX_SAFE_INTEGER; ) {
    const until = from < now + horizonMillis ? from + dayMillis : Number.MAX_SAFE_INTEGER
    const coming = await store.read(({ requests }) => requests.slotsBetween(from, until))
    for (const { requestId: id, memberId } of coming) all.set(id, { id, memberId })
    await pause(0)
    from = until
  }
  const memory = memoryOf(store)
  for (const id of memory.keys()) if (!all.has(id)) memory.delete(id)
  const atRisk: number[] = []
  for await (const { id, risk } of risksOf(store, [...all.values()])) if (isAtRisk(risk)) atRisk.push(id)
  return (await unreadOf(store, atRisk)).sort((one, other) => one - other)
}

async function unreadOf(store: Store, ids: readonly number[]): Promise<number[]> {
  const read = new Set(await store.read(({ audit }) => audit.listReviewed(ids)))
  return ids.filter((id) => !read.has(id))
}

export interface ShownRisk {
  /** Null if there are no answers. */
  readonly risk: Risk | null
  /** True if the request is at risk, and staff have not read the answers. */
  readonly isUnread: boolean
}

/** Reads the risk of a request. If the request is at risk, adds an audit line. */
export async function readRisk(records: Records, { id, member }: RequestRecord, act: Act) {
  const { store } = records
  const [found] = await Array.fromAsync(risksOf(store, [{ id, memberId: member?.id ?? null }]))
  const risk = found?.risk ?? null
  if (!isAtRisk(risk)) return { risk, isUnread: false }
  await noteAct(records, act, 'request.read-risk', `request ${id}`)
  return { risk, isUnread: (await unreadOf(store, [id])).length > 0 }
}
