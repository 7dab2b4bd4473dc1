import { and, asc, count, desc, eq, gt, gte, lt, max, or, sql } from 'drizzle-orm'
import type { AuditFilter, AuditLine } from '../../src/domain/audit'
import type { conflictAsked } from '../../src/domain/decisions/submission'
import type { MaybePromise } from '../../src/domain/ports/facts'
import { countedRefusal, type RefusalCount, type RefusalsAsked } from '../../src/domain/refusal-count'
import { type AuditStream, givenOf, isNarrowed, mergeStreams, streamsOf, timesOf } from '../audit/streams'
import { all, placeholders, type QueryEngine, then, type Values } from './engine'

/** Lists of audit lines, oldest first: the newest that match, or the first after a line. */
export function auditLists({ db, tables: { audit }, prepare }: QueryEngine) {
  const open = placeholders('since', 'until', 'actor', 'record', 'action', 'afterAt', 'after', 'limit')
  const select = () => db.select().from(audit)
  const atOf = prepare(db.select({ at: audit.at }).from(audit).where(eq(audit.id, open.after)))
  const newest = prepare(select().orderBy(desc(audit.id)).limit(open.limit))
  const behind = prepare(select().where(gt(audit.id, open.after)).orderBy(asc(audit.id)).limit(open.limit))

  const prepareStream = (names: readonly (keyof AuditStream)[], isForward: boolean) => {
    // An expression keeps the planner from the actor's index: a record has few lines, an actor may have many.
    const columnOf = (name: keyof AuditStream) =>
      name === 'actor' && names.includes('record') ? sql`(${audit.actor} || '')` : sql`${audit[name]}`
    const isOne = names.map((name) => eq(columnOf(name), open[name]))
    const isBehind = isForward ? or(gt(audit.at, open.afterAt), gt(audit.id, open.after)) : undefined
    const order = isForward ? asc : desc
    return prepare(
      select()
        .where(and(...isOne, gte(audit.at, open.since), lt(audit.at, open.until), isBehind))
        .orderBy(order(audit.at), order(audit.id))
        .limit(open.limit),
    )
  }
  const prepared = new Map<string, ReturnType<typeof prepareStream>>()
  const linesOf = (stream: AuditStream, times: Values, isForward: boolean) => {
    const names = givenOf(stream)
    const key = [isForward, ...names].join()
    const statement = prepared.get(key) ?? prepareStream(names, isForward)
    prepared.set(key, statement)
    return statement({ ...times, ...stream })
  }

  const narrowed = (limit: number, filter: AuditFilter): MaybePromise<AuditLine[]> => {
    const { after } = filter
    const isForward = after !== undefined
    return then(isForward ? atOf({ after }) : [], ([line]) => {
      const times = { ...timesOf(filter, line?.at), limit }
      const found = streamsOf(filter).map((stream) => linesOf(stream, times, isForward))
      return then(all(found), (lines) => mergeStreams(lines.flat(), limit, filter))
    })
  }

  return (limit: number, filter: AuditFilter = {}): MaybePromise<AuditLine[]> => {
    const { after } = filter
    if (isNarrowed(filter)) return narrowed(limit, filter)
    return after === undefined
      ? then(newest({ limit }), (lines) => lines.reverse())
      : behind({ after, limit })
  }
}

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
