import { and, count, desc, eq, gte, max, sql } from 'drizzle-orm'
import {
  type AlikeLines,
  countedRefusal,
  type RefusalCount,
  type RefusalsAsked,
} from '../../src/domain/refusal-count'
import { type Drizzle, isAmong, placeholders } from './drizzle'
import { audit } from './schema'

/** How often refused authentications are of one kind, most often first. */
export function refusalCounts(db: Drizzle) {
  const { since, most, record } = placeholders('since', 'most', 'record')
  const prepare = (isOne: boolean) => {
    const isRefusal = and(eq(audit.action, 'authentication.refuse'), gte(audit.at, since))
    const newest = db
      .select({ record: audit.record, outcome: audit.outcome, at: audit.at })
      .from(audit)
      .where(isOne ? and(eq(audit.record, record), isRefusal) : isRefusal)
      .orderBy(desc(audit.at))
      .limit(most)
      .as('refusals')
    const lastAt = max(newest.at).mapWith(Number)
    return db
      .select({ record: newest.record, outcome: newest.outcome, count: count(), lastAt })
      .from(newest)
      .groupBy(newest.record, newest.outcome)
      .orderBy(desc(count()), newest.record, newest.outcome)
      .prepare()
  }
  const [ofAll, ofOne] = [prepare(false), prepare(true)]
  return ({ since, most, partnerId }: RefusalsAsked): RefusalCount[] => {
    const counted =
      partnerId === undefined
        ? ofAll.all({ since, most })
        : ofOne.all({ since, most, record: `partner ${partnerId}` })
    return (counted as AlikeLines[]).map(countedRefusal)
  }
}

/** Those of the requests named whose screening answers were read: that a list has shown a flag is no reading. */
export function looksAtRisk(db: Drizzle) {
  const isLook = sql`${audit.action} = 'request.read-screening' and ${audit.outcome} = 'done'`
  const areNamed = isAmong(audit.record, placeholders('records').records)
  const looks = db.selectDistinct({ record: audit.record }).from(audit).where(and(areNamed, isLook)).prepare()
  return (ids: readonly number[]): number[] =>
    looks
      .all({ records: JSON.stringify(ids.map((id) => `request ${id}`)) })
      .map(({ record }) => Number(record?.replace('request ', '')))
}
