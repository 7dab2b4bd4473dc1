import { and, count, desc, gte, inArray, sql } from 'drizzle-orm'
import { countedRefusal, type RefusalCount } from '../../src/domain/status'
import { type Drizzle, placeholders } from './drizzle'
import { audit } from './schema'

const isRefusal = sql`${audit.action} = 'authentication.refuse'`
const isLook = sql`${audit.action} in ('request.read-screening', 'request.read-risk') and ${audit.outcome} = 'done'`

/** Queries on how things stand: each reads so many of the newest. */
export function statusQueries(db: Drizzle) {
  const { since, most, records } = placeholders('since', 'most', 'records')
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
