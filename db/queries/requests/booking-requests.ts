import { and, asc, between, count, eq, gt, gte, inArray, sql } from 'drizzle-orm'
import type { RequestEnd, ScreeningAnswer, SentWith } from '../../../src/domain/booking-request'
import type { MaybePromise, ProviderSlot } from '../../../src/domain/ports/store'
import type { Vault } from '../../../src/domain/ports/vault'
import {
  type AnswersRow,
  factsOf,
  openAnswers,
  openSentProfile,
  openUnreadRisk,
  toRecord,
} from '../../sealed/requests'
import { placeholders, type QueriesOf, type QueryEngine, then, unreadable, type Walk } from '../engine'
import { partnerRequestQueries } from './partner-requests'
import { requestFilter } from './request-filter'

/** Used as an upper bound. With a bound, the planner uses the index on the time of submission. */
const endOfTime = sql.raw(String(Number.MAX_SAFE_INTEGER))

export function bookingRequestQueries({ db, tables, ...engine }: QueryEngine, vault: Vault) {
  const { bookingRequests, members, providers } = tables
  const { id, memberId, providerId, state, startsAt, endsAt, localOffsetMinutes, submittedAt } =
    bookingRequests
  const { holdsSlot, isWaiting, isWanted, orderOf, theirPartner } = requestFilter({ tables, ...engine })
  const open = placeholders('id', 'ids', 'partnerId', 'from', 'until')
  const select = () =>
    db
      .select({ request: bookingRequests, member: members })
      .from(bookingRequests)
      .leftJoin(members, eq(members.id, bookingRequests.memberId))
  const byId = engine.prepare(select().where(eq(id, open.id)))
  const ofIds = engine.prepare(select().where(engine.isAmong(id, open.ids)))
  // Always true. Lets the planner use the index on slots, which begins with the provider.
  const ofProviders = inArray(providerId, db.select({ id: providers.id }).from(providers))
  const isDuring = and(engine.overlaps({ startsAt, endsAt }, open.from, open.until), gte(startsAt, open.from))
  const held = engine.prepare(
    db
      .select({ startsAt, endsAt, requestId: id, memberId, providerId, localOffsetMinutes })
      .from(bookingRequests)
      .where(and(holdsSlot, ofProviders, isDuring))
      .orderBy(startsAt, id),
  )
  const submitted = engine.prepare(
    db
      .select({ id, state })
      .from(bookingRequests)
      .where(and(between(submittedAt, open.from, endOfTime), sql`${theirPartner} = ${open.partnerId}`))
      .orderBy(submittedAt, id),
  )

  type Row = Awaited<ReturnType<typeof byId>>[number]
  const toRequest = ({ request, member }: Row) => toRecord(vault, request, member)

  return {
    ...personQueries({ db, tables, ...engine }, vault),
    ...partnerRequestQueries({ db, tables, ...engine }, vault),

    countWaiting(filter) {
      // `+ 0` stops the planner from using the index of all requests by submission.
      const oldestAt = sql<number | null>`min(${submittedAt} + 0)`.mapWith(Number)
      const waiting = engine.prepare(
        db
          .select({ count: count(), oldestAt })
          .from(bookingRequests)
          .where(and(isWaiting, isWanted(filter, true))),
      )
      return then(waiting(), ([found]) => found ?? { count: 0, oldestAt: null })
    },

    listOwned(filter, { order, offset = 0, most } = {}) {
      const owned = db
        .select({ id, memberId })
        .from(bookingRequests)
        .where(isWanted(filter))
        .orderBy(...orderOf(order))
      return engine.prepare(most === undefined ? owned : owned.limit(most).offset(offset))()
    },

    find: (id) => then(byId({ id }), ([row]) => (row ? toRequest(row) : null)),

    findAll: (ids) =>
      then(ofIds({ ids: engine.list(ids) }), (rows) => {
        const found = new Map(rows.map((row) => [row.request.id, toRequest(row)]))
        return ids.map((id) => found.get(id) ?? null)
      }),

    slotsBetween: (from, until) => held({ from, until }) as MaybePromise<ProviderSlot[]>,

    submittedBy: (partnerId, from) => submitted({ partnerId, from }),
  } satisfies QueriesOf<'requests'>
}

function personQueries({ db, tables, prepare, ...engine }: QueryEngine, vault: Vault) {
  const { bookingRequests } = tables
  const open = placeholders('id', 'ids', 'most')
  const { id, recordKey, memberId, state, submittedAt, sealedScreeningAnswers, sealedSentProfile } =
    bookingRequests
  const answers = { id, recordKey, memberId, submittedAt, sealedScreeningAnswers, sealedSentProfile }
  const ofMember = prepare(db.select().from(bookingRequests).where(eq(memberId, open.id)).orderBy(asc(id)))
  const { endsAt, acceptedAt, declinedAt, cancelledAt } = bookingRequests
  const endsOf = prepare(
    db
      .select({ memberId, id, state, submittedAt, endsAt, acceptedAt, declinedAt, cancelledAt })
      .from(bookingRequests)
      .where(engine.isAmong(memberId, open.ids))
      .orderBy(asc(id)),
  )
  const unreadRisks = prepare(db.select().from(tables.unreadRisks))
  const unreadRisksOf = prepare(
    db.select({ count: count() }).from(tables.unreadRisks).where(eq(tables.unreadRisks.partnerId, open.id)),
  )
  const answersOf = prepare(db.select(answers).from(bookingRequests).where(engine.isAmong(id, open.ids)))
  const answersAfter = prepare(
    db.select(answers).from(bookingRequests).where(gt(id, open.id)).orderBy(asc(id)).limit(open.most),
  )
  const toAnswers = (row: AnswersRow | undefined) => openAnswers(vault, row)
  const intakesOf = prepare(
    db
      .select({ count: count() })
      .from(bookingRequests)
      .where(and(eq(memberId, open.id), sql`${state} = 'unassigned'`)),
  )

  return {
    /** Returns no answers for an erased member. @throws Refusal database_unusable if the answers cannot be opened */
    screeningOf: (id) => then(answersOf({ ids: engine.list([id]) }), ([row]) => toAnswers(row)),

    readableAnswers: (ids) =>
      then(answersOf({ ids: engine.list(ids) }), (rows) => {
        const found = new Map<number, ScreeningAnswer[]>()
        for (const row of rows) {
          try {
            found.set(row.id, toAnswers(row))
          } catch {}
        }
        return found
      }),

    countUnreadRisks: (partnerId) => then(unreadRisksOf({ id: partnerId }), ([row]) => row?.count ?? 0),

    unreadRisks: () => then(unreadRisks(), (rows) => rows.flatMap((row) => openUnreadRisk(vault, row) ?? [])),

    listDamagedRisks: (): MaybePromise<string[]> =>
      then(unreadRisks(), (rows) =>
        rows.filter((row) => openUnreadRisk(vault, row) === null).map(({ id }) => `unread risk ${id}`),
      ),

    listUnreadable: (walk: Walk) =>
      unreadable(
        walk((id, most) => answersAfter({ id, most })),
        (row) => [toAnswers(row), openSentProfile(vault, row)],
      ),

    /** The number of the member's intakes without a provider. */
    openIntakesOf: (memberId: number): MaybePromise<number> =>
      then(intakesOf({ id: memberId }), ([row]) => row?.count ?? 0),

    endsOf: (memberIds) => endsOf({ ids: engine.list(memberIds) }) as MaybePromise<RequestEnd[]>,

    sentProfilesOf: (memberId) =>
      then(ofMember({ id: memberId }), (rows) => rows.flatMap((row) => sentWith(vault, row))),

    /** Omits the member, because decryption for every request would be slow. */
    listOf: (memberId) => then(ofMember({ id: memberId }), (rows) => rows.map(factsOf)),

    listWithAnswers: (memberId) =>
      then(ofMember({ id: memberId }), (rows) =>
        rows.map((row) => ({
          ...factsOf(row),
          screeningAnswers: toAnswers(row),
          sentProfile: openSentProfile(vault, row),
        })),
      ),
  } satisfies QueriesOf<'requests'>
}

function sentWith(vault: Vault, row: AnswersRow): SentWith[] {
  try {
    const profile = openSentProfile(vault, row)
    return profile ? [{ ...profile, id: row.id, submittedAt: row.submittedAt }] : []
  } catch {
    return []
  }
}
