import { and, count, desc, eq, gt, gte, max, sql } from 'drizzle-orm'
import type { conflictAsked } from '../../src/domain/decide-submission'
import { countedRefusal, type RefusalCount, type RefusalsAsked } from '../../src/domain/refusal-count'
import { type MaybePromise, placeholders, type QueryEngine, then } from './engine'

/** Counts of refused authentications by kind, most frequent first. */
export function refusalCounts({ db, tables: { audit }, prepare }: QueryEngine) {
  const open = placeholders('since', 'most', 'record')
  const prepareCount = (isOne: boolean) => {
    const isRefusal = and(eq(audit.action, 'authentication.refuse'), gte(audit.at, open.since))
    const newest = db
      .select({ record: audit.record, outcome: audit.outcome, at: audit.at })
      .from(audit)
      .where(isOne ? and(eq(audit.record, open.record), isRefusal) : isRefusal)
      .orderBy(desc(audit.at))
      .limit(open.most)
      .as('refusals')
    const lastAt = max(newest.at).mapWith(Number)
    return prepare(
      db
        .select({ record: newest.record, outcome: newest.outcome, count: count(), lastAt })
        .from(newest)
        .groupBy(newest.record, newest.outcome)
        .orderBy(desc(count()), sql`${newest.record} nulls first`, newest.outcome),
    )
  }
  const [ofAll, ofOne] = [prepareCount(false), prepareCount(true)]
  return ({ since, most, partnerId }: RefusalsAsked): MaybePromise<RefusalCount[]> => {
    const counted =
      partnerId === undefined
        ? ofAll({ since, most })
        : ofOne({ since, most, record: `partner ${partnerId}` })
    return then(counted, (rows) => rows.map(countedRefusal))
  }
}

/** Which of some requests had their screening answers read. Seeing the flag in a list does not count. */
export function looksAtRisk({ db, tables: { audit }, prepare, isAmong, list }: QueryEngine) {
  const isLook = sql`${audit.action} = 'request.read-screening' and ${audit.outcome} = 'done'`
  const areNamed = isAmong(audit.record, placeholders('records').records)
  const looks = prepare(db.selectDistinct({ record: audit.record }).from(audit).where(and(areNamed, isLook)))
  return (ids: readonly number[]): MaybePromise<number[]> =>
    then(looks({ records: list(ids.map((id) => `request ${id}`)) }), (rows) =>
      rows.map(({ record }) => Number(record?.replace('request ', ''))),
    )
}

/** Time of the e-mail conflict that is `back` from the newest, in ms; null if there are fewer. */
export function conflictQuery({ db, tables: { audit }, prepare }: QueryEngine) {
  const open = placeholders('actor', 'after', 'offset')
  const isConflict = eq(audit.action, 'member.email-conflict')
  const conflict = prepare(
    db
      .select({ at: audit.at })
      .from(audit)
      .where(and(isConflict, eq(audit.actor, open.actor), gt(audit.at, open.after)))
      .orderBy(desc(audit.at))
      .limit(1)
      .offset(open.offset),
  )
  return ({ actor, after, back }: ReturnType<typeof conflictAsked>): MaybePromise<number | null> =>
    then(conflict({ actor, after, offset: back - 1 }), ([found]) => found?.at ?? null)
}
