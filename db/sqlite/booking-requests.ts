import { and, asc, count, eq, gt, gte, inArray, lt, sql } from 'drizzle-orm'
import { type RequestRecord, type ScreeningAnswer, slotMillis } from '../../src/domain/booking-request'
import type { HeldSlot, SlotHolder } from '../../src/domain/decide-submission'
import type { TakenSlot } from '../../src/domain/directory-feed'
import { Refusal } from '../../src/domain/errors'
import type { ProvidersDay, RequestFilter, RequestPart, WaitingCount } from '../../src/domain/store'
import type { Vault } from '../../src/domain/vault'
import type { Walk } from '../queries/engine'
import { requestFilter } from '../queries/request-filter'
import {
  type AnswersRow,
  areAnswersReadable,
  factsOf,
  openAnswers,
  requestColumns,
  toRecord,
} from '../sealed/requests'
import { refuseDuplicate } from './constraint'
import { type Drizzle, isAmong, placeholders } from './drizzle'
import { type RecordTable, recordTable } from './record-table'
import { bookingRequests, members } from './schema'

// In words, as the partial index has it: with parameters in their place SQLite would read the whole table.
const holdsSlot = sql`${bookingRequests.state} in ('pending', 'accepted') and ${bookingRequests.startsAt} is not null`

const { isWaiting, isWanted, orderOf } = requestFilter({ requests: bookingRequests, members })

/** Queries on booking requests and intakes. */
export function bookingRequestQueries(db: Drizzle, vault: Vault) {
  const { id, ids, partnerId, from, until } = placeholders('id', 'ids', 'partnerId', 'from', 'until')
  const select = () =>
    db
      .select({ request: bookingRequests, member: members })
      .from(bookingRequests)
      .leftJoin(members, eq(members.id, bookingRequests.memberId))
  const byId = select().where(eq(bookingRequests.id, id)).prepare()
  const { startsAt } = bookingRequests
  const heldBetween = select()
    .where(and(isAmong(bookingRequests.providerId, ids), holdsSlot, gte(startsAt, from), lt(startsAt, until)))
    .prepare()
  // The plus: not by the partner's members, of whom there may be many more than requests since an instant.
  const isTheirs = sql`+${members.partnerId} = ${partnerId}`
  const submitted = db
    .select({ id: bookingRequests.id, state: bookingRequests.state })
    .from(bookingRequests)
    .innerJoin(members, and(eq(members.id, bookingRequests.memberId), isTheirs))
    .where(gte(bookingRequests.submittedAt, from))
    .orderBy(bookingRequests.submittedAt, bookingRequests.id)
    .prepare()

  const find = (id: number): RequestRecord | null => {
    const row = byId.get({ id })
    return row ? toRecord(vault, row.request, row.member) : null
  }
  const wantedIds = (filter: RequestFilter, order: ReturnType<typeof orderOf>) =>
    db
      .select({ id: bookingRequests.id })
      .from(bookingRequests)
      .where(isWanted(filter))
      .orderBy(...order)

  return {
    ...personQueries(db, vault),

    list(filter: RequestFilter, part?: RequestPart): RequestRecord[] {
      const order = orderOf(part)
      // Chosen before they are read: whose they are is looked up for those of the page alone, and nothing sealed is sorted.
      const chosen = part && wantedIds(filter, order).limit(part.most).offset(part.offset)
      const rows = select()
        .where(chosen ? inArray(bookingRequests.id, chosen) : isWanted(filter))
        .orderBy(...order)
        .all()
      return rows.map(({ request, member }) => toRecord(vault, request, member))
    },

    countWaiting(filter: RequestFilter): WaitingCount {
      // An expression keeps SQLite from the index of all requests by submission.
      const oldestAt = sql<number | null>`min(${bookingRequests.submittedAt} + 0)`
      const isFound = and(isWaiting, isWanted(filter, true))
      const found = db.select({ count: count(), oldestAt }).from(bookingRequests).where(isFound).get()
      return found ?? { count: 0, oldestAt: null }
    },

    listIds: (filter: RequestFilter): number[] =>
      wantedIds(filter, orderOf(undefined))
        .all()
        .map(({ id }) => id),

    find,

    /** Those of some ids, in the order in which they are named; null for one that is not there. */
    findAll: (ids: readonly number[]) => ids.map(find),

    /** In order of time, then of id. */
    held(days: readonly ProvidersDay[]): RequestRecord[] {
      return days
        .flatMap(({ providerIds, from, until }) =>
          heldBetween.all({ ids: JSON.stringify(providerIds), from, until }),
        )
        .sort(
          (a, b) => Number(a.request.startsAt) - Number(b.request.startsAt) || a.request.id - b.request.id,
        )
        .map(({ request, member }) => toRecord(vault, request, member))
    },

    submittedBy: (partnerId: number, from: number) => submitted.all({ partnerId, from }),
  }
}

/** Queries on what requests hold of a person. */
function personQueries(db: Drizzle, vault: Vault) {
  const { id, ids, most } = placeholders('id', 'ids', 'most')
  const ofMember = db
    .select()
    .from(bookingRequests)
    .where(eq(bookingRequests.memberId, id))
    .orderBy(asc(bookingRequests.id))
    .prepare()
  const answersOf = db.select().from(bookingRequests).where(eq(bookingRequests.id, id)).prepare()
  const answersAfter = db
    .select()
    .from(bookingRequests)
    .where(gt(bookingRequests.id, id))
    .orderBy(asc(bookingRequests.id))
    .limit(most)
    .prepare()

  const { recordKey, memberId, submittedAt, sealedScreeningAnswers } = bookingRequests
  const answersOfMany = db
    .select({ id: bookingRequests.id, recordKey, memberId, submittedAt, sealedScreeningAnswers })
    .from(bookingRequests)
    .where(isAmong(bookingRequests.id, ids))
    .prepare()

  const open = (request: AnswersRow | undefined) => openAnswers(vault, request)
  const isReadable = (request: AnswersRow) => areAnswersReadable(vault, request)

  return {
    /** The screening answers of a request, none for a person who was erased. */
    screeningOf: (id: number): ScreeningAnswer[] => open(answersOf.get({ id })),

    /** The screening answers of those of some requests whose answers can be opened, by id: others are told by their absence. */
    readableAnswers(ids: readonly number[]): Map<number, ScreeningAnswer[]> {
      const rows = answersOfMany.all({ ids: JSON.stringify(ids) })
      return new Map(rows.filter(isReadable).map((row) => [row.id, open(row)]))
    },

    /** The ids of those whose answers cannot be opened. */
    async *listUnreadable(walk: Walk): AsyncGenerator<number> {
      for await (const row of walk((id, most) => answersAfter.all({ id, most }))) {
        if (!isReadable(row)) yield row.id
      }
    },

    /** The requests of a member, each without the member, whom to open for each of many would take long. */
    listOf: (memberId: number) => ofMember.all({ id: memberId }).map(factsOf),

    /** The same, with their screening answers. */
    listWithAnswers: (memberId: number) =>
      ofMember.all({ id: memberId }).map((row) => ({ ...factsOf(row), screeningAnswers: open(row) })),
  }
}

type TakenRow = [providerId: number, ...slot: [number, number, number, number]]

/** What most providers hold, in memory once. */
const none: readonly TakenSlot[] = []

/** Queries on the slots that requests hold. */
export function slotQueries(db: Drizzle) {
  const { id, ids, providerId, from, until } = placeholders('id', 'ids', 'providerId', 'from', 'until')
  const { id: requestId, memberId, startsAt, endsAt, localOffsetMinutes } = bookingRequests
  const touching = db
    .select({ requestId, memberId, startsAt })
    .from(bookingRequests)
    .where(
      and(holdsSlot, eq(bookingRequests.providerId, providerId), gt(startsAt, from), lt(startsAt, until)),
    )
    .prepare()
  const taken = db
    .select({ providerId: bookingRequests.providerId, requestId, startsAt, endsAt, localOffsetMinutes })
    .from(bookingRequests)
    .where(and(holdsSlot, isAmong(bookingRequests.providerId, ids), gt(startsAt, from)))
    .orderBy(bookingRequests.providerId, startsAt)
    .prepare()
  const held = db
    .select({ requestId, startsAt })
    .from(bookingRequests)
    .where(and(holdsSlot, eq(memberId, id), gt(startsAt, from)))
    .orderBy(startsAt)
    .prepare()

  return {
    /** The requests that hold a slot of the provider touching the one that starts at an instant. */
    touching: (providerId: number, startsAt: number): SlotHolder[] =>
      touching.all({ providerId, from: startsAt - slotMillis, until: startsAt + slotMillis }) as SlotHolder[],

    /** The slots of some providers that are held and end after an instant, in order; by provider, each of whom is there. */
    takenSlots(providerIds: readonly number[], after: number): Map<number, readonly TakenSlot[]> {
      const found = new Map<number, readonly TakenSlot[]>(providerIds.map((id) => [id, none]))
      // All are whole numbers: the driver's rows are taken as they are, since after a booking all are read again.
      const rows = taken.values({ ids: JSON.stringify(providerIds), from: after - slotMillis }) as TakenRow[]
      for (const [providerId, requestId, startsAt, endsAt, localOffsetMinutes] of rows) {
        const slot = { requestId, startsAt, endsAt, localOffsetMinutes }
        const slots = found.get(providerId) as TakenSlot[]
        if (slots === none) found.set(providerId, [slot])
        else slots.push(slot)
      }
      return found
    },

    /** The slots that a member holds and that end after an instant. */
    heldBy: (id: number, after: number): HeldSlot[] =>
      held.all({ id, from: after - slotMillis }) as HeldSlot[],
  }
}

export function requestTable(db: Drizzle, vault: Vault): RecordTable<'request'> {
  const table = recordTable<'request'>(db, bookingRequests, (row) => requestColumns(vault, row))
  const refuse = () => new Refusal('slot_unavailable', 'the slot is not available')
  return {
    ...table,
    // The last word on double booking is a unique index.
    add: (row) => refuseDuplicate(() => table.add(row), refuse),
    set: (id, to) => refuseDuplicate(() => table.set(id, to), refuse),
  }
}
