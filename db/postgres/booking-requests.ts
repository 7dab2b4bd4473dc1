import { and, asc, between, count, eq, gt, gte, inArray, sql } from 'drizzle-orm'
import type { RequestRecord, ScreeningAnswer } from '../../src/domain/booking-request'
import type { ProvidersDay, RequestFilter, RequestPart, WaitingCount } from '../../src/domain/store'
import type { Vault } from '../../src/domain/vault'
import type { Walk } from '../queries/engine'
import { requestFilter } from '../queries/request-filter'
import { type AnswersRow, areAnswersReadable, factsOf, openAnswers, toRecord } from '../sealed/requests'
import { type Drizzle, placeholders } from './drizzle'
import { idList, isAmong } from './id-list'
import { bookingRequests, members } from './schema'
import { heldIn } from './slots'

const { isWaiting, isWanted, orderOf, theirPartner } = requestFilter({ requests: bookingRequests, members })

/** With an end the planner takes a stretch of time for short, whatever its beginning: and asks the index for it. */
const endOfTime = sql.raw(String(Number.MAX_SAFE_INTEGER))

/** Queries on booking requests and intakes. */
export function bookingRequestQueries(db: Drizzle, vault: Vault) {
  const { id, ids, partnerId, from, until } = placeholders('id', 'ids', 'partnerId', 'from', 'until')
  const select = () =>
    db
      .select({ request: bookingRequests, member: members })
      .from(bookingRequests)
      .leftJoin(members, eq(members.id, bookingRequests.memberId))
  const byId = select().where(eq(bookingRequests.id, id)).prepare('')
  const ofIds = select().where(isAmong(bookingRequests.id, ids)).prepare('')
  const { startsAt } = bookingRequests
  const heldIds = sql`(select held.id from ${heldIn(ids, from, until)})`
  const heldBetween = select()
    .where(and(inArray(bookingRequests.id, heldIds), gte(startsAt, from)))
    .prepare('')
  const submitted = db
    .select({ id: bookingRequests.id, state: bookingRequests.state })
    .from(bookingRequests)
    .where(and(between(bookingRequests.submittedAt, from, endOfTime), sql`${theirPartner} = ${partnerId}`))
    .orderBy(bookingRequests.submittedAt, bookingRequests.id)
    .prepare('')

  const wantedIds = (filter: RequestFilter, order: ReturnType<typeof orderOf>) =>
    db
      .select({ id: bookingRequests.id })
      .from(bookingRequests)
      .where(isWanted(filter))
      .orderBy(...order)
  type Row = Awaited<ReturnType<typeof byId.execute>>[number]
  const told = ({ request, member }: Row) => toRecord(vault, request, member)

  return {
    ...personQueries(db, vault),

    async list(filter: RequestFilter, part?: RequestPart): Promise<RequestRecord[]> {
      const order = orderOf(part)
      // Chosen before they are read: whose they are is looked up for those of the page alone, and nothing sealed is sorted.
      const chosen = part && wantedIds(filter, order).limit(part.most).offset(part.offset)
      const rows = await select()
        // As an array: of a limit that it does not know the planner takes a tenth of the table.
        .where(chosen ? sql`${bookingRequests.id} = any(array(${chosen}))` : isWanted(filter))
        .orderBy(...order)
      return rows.map(told)
    },

    async countWaiting(filter: RequestFilter): Promise<WaitingCount> {
      // An expression keeps the planner from the index of all requests by submission.
      const oldestAt = sql<number | null>`min(${bookingRequests.submittedAt} + 0)`.mapWith(Number)
      const [found] = await db
        .select({ count: count(), oldestAt })
        .from(bookingRequests)
        .where(and(isWaiting, isWanted(filter, true)))
      return found ?? { count: 0, oldestAt: null }
    },

    listIds: async (filter: RequestFilter): Promise<number[]> =>
      (await wantedIds(filter, orderOf(undefined))).map(({ id }) => id),

    async find(id: number): Promise<RequestRecord | null> {
      const [row] = await byId.execute({ id })
      return row ? told(row) : null
    },

    /** Those of some ids, in the order in which they are named; null for one that is not there. */
    async findAll(ids: readonly number[]): Promise<(RequestRecord | null)[]> {
      const rows = await ofIds.execute({ ids: idList(ids) })
      const byId = new Map(rows.map((row) => [row.request.id, told(row)]))
      return ids.map((id) => byId.get(id) ?? null)
    },

    /** In order of time, then of id. */
    async held(days: readonly ProvidersDay[]): Promise<RequestRecord[]> {
      const of = ({ providerIds, from, until }: ProvidersDay) =>
        heldBetween.execute({ ids: idList(providerIds), from, until })
      return (await Promise.all(days.map(of)))
        .flat()
        .sort(
          (a, b) => Number(a.request.startsAt) - Number(b.request.startsAt) || a.request.id - b.request.id,
        )
        .map(told)
    },

    submittedBy: (partnerId: number, from: number) => submitted.execute({ partnerId, from }),
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
    .prepare('')
  const answersAfter = db
    .select()
    .from(bookingRequests)
    .where(gt(bookingRequests.id, id))
    .orderBy(asc(bookingRequests.id))
    .limit(most)
    .prepare('')
  const { recordKey, memberId, submittedAt, sealedScreeningAnswers } = bookingRequests
  const answersOf = db
    .select({ id: bookingRequests.id, recordKey, memberId, submittedAt, sealedScreeningAnswers })
    .from(bookingRequests)
    .where(isAmong(bookingRequests.id, ids))
    .prepare('')
  const open = (row: AnswersRow | undefined) => openAnswers(vault, row)
  const isReadable = (row: AnswersRow) => areAnswersReadable(vault, row)

  return {
    /** The screening answers of a request, none for a person who was erased. */
    screeningOf: async (id: number): Promise<ScreeningAnswer[]> =>
      open((await answersOf.execute({ ids: idList([id]) }))[0]),

    /** The screening answers of those of some requests whose answers can be opened, by id: others are told by their absence. */
    async readableAnswers(ids: readonly number[]): Promise<Map<number, ScreeningAnswer[]>> {
      const rows = await answersOf.execute({ ids: idList(ids) })
      return new Map(rows.filter(isReadable).map((row) => [row.id, open(row)]))
    },

    /** The ids of those whose answers cannot be opened. */
    async *listUnreadable(walk: Walk): AsyncGenerator<number> {
      for await (const row of walk((id, most) => answersAfter.execute({ id, most }))) {
        if (!isReadable(row)) yield row.id
      }
    },

    /** The requests of a member, each without the member, whom to open for each of many would take long. */
    listOf: async (memberId: number) => (await ofMember.execute({ id: memberId })).map(factsOf),

    /** The same, with their screening answers. */
    listWithAnswers: async (memberId: number) =>
      (await ofMember.execute({ id: memberId })).map((row) => ({
        ...factsOf(row),
        screeningAnswers: open(row),
      })),
  }
}
