import { and, asc, desc, eq, gt, gte, lt, or, sql } from 'drizzle-orm'
import type { AuditFilter, AuditLine } from '../../src/domain/audit'
import { type AuditStream, givenOf, isNarrowed, mergeStreams, streamsOf, timesOf } from '../audit/streams'
import { all, type MaybePromise, placeholders, type QueryEngine, then, type Values } from './engine'

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
