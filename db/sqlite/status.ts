import { and, count, desc, gte, inArray, sql } from 'drizzle-orm'
import { countedRefusal, type RefusalCount, type Waiting } from '../../src/domain/status'
import { type Drizzle, placeholders } from './drizzle'
import { audit, bookingRequests } from './schema'

// In words, as the partial indexes have it.
const isWaiting = sql`${bookingRequests.state} in ('unassigned', 'pending')`
const isUnassigned = sql`${bookingRequests.state} = 'unassigned'`
const isRefusal = sql`${audit.action} = 'authentication.refuse'`
const isLook = sql`${audit.action} in ('request.read-screening', 'request.read-risk') and ${audit.outcome} = 'done'`

/** Queries on how things stand: each reads no more than what waits, or so many of the newest. */
export function statusQueries(db: Drizzle) {
  const { since, most, records } = placeholders('since', 'most', 'records')
  const waiting = db.select({ count: count() }).from(bookingRequests).where(isWaiting).prepare()
  const unassigned = db.select({ count: count() }).from(bookingRequests).where(isUnassigned).prepare()
  const oldest = db
    .select({ submittedAt: bookingRequests.submittedAt })
    .from(bookingRequests)
    .where(isUnassigned)
    .orderBy(bookingRequests.id)
    .limit(1)
    .prepare()
  const newestWaiting = db
    .select({ id: bookingRequests.id })
    .from(bookingRequests)
    .where(isWaiting)
    .orderBy(desc(bookingRequests.id))
    .limit(most)
    .prepare()
  // A list goes into a prepared statement as one text of JSON.
  const areNamed = inArray(audit.record, sql`(select value from json_each(${records}))`)
  const looks = db.selectDistinct({ record: audit.record }).from(audit).where(and(areNamed, isLook)).prepare()
  const newestRefusals = db
    .select({ record: audit.record, outcome: audit.outcome })
    .from(audit)
    .where(and(isRefusal, gte(audit.at, since)))
    .orderBy(desc(audit.at))
    .limit(most)
    .as('refusals')
  const refusals = db
    .select({ record: newestRefusals.record, outcome: newestRefusals.outcome, lines: count() })
    .from(newestRefusals)
    .groupBy(newestRefusals.record, newestRefusals.outcome)
    .orderBy(newestRefusals.record, newestRefusals.outcome)
    .prepare()

  return {
    countWaiting(): Waiting {
      const intakes = unassigned.get()?.count ?? 0
      const pending = (waiting.get()?.count ?? 0) - intakes
      return { intakes, oldestIntakeAt: oldest.get()?.submittedAt ?? null, pending }
    },

    /** The ids of requests that wait for staff, newest first, at most so many. */
    listWaiting: (most: number): number[] => newestWaiting.all({ most }).map(({ id }) => id),

    /** Those of the requests named whose answers, or what they come to, were read. */
    listLookedAt: (ids: readonly number[]): number[] =>
      looks
        .all({ records: JSON.stringify(ids.map((id) => `request ${id}`)) })
        .map(({ record }) => Number(record?.replace('request ', ''))),

    /** Refused authentications since an instant (ms), of the newest so many. */
    countRefusals: (since: number, most: number): RefusalCount[] =>
      refusals.all({ since, most }).map((row) => countedRefusal(row.record, row.outcome, row.lines)),
  }
}
