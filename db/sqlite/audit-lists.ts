import { and, asc, desc, eq, gt, gte, lt, or, sql } from 'drizzle-orm'
import type { AuditFilter, AuditLine } from '../../src/domain/audit'
import { type AuditStream, givenOf, isNarrowed, mergeStreams, streamsOf, timesOf } from '../audit/streams'
import { type Drizzle, placeholders } from './drizzle'
import { audit } from './schema'

const all = ['since', 'until', 'actor', 'record', 'action', 'afterAt', 'after', 'limit'] as const
type Told = Readonly<Record<(typeof all)[number], string | number | undefined>>

/** Lists of lines, oldest first: the newest that fit, or the first behind a line. */
export function lineLists(db: Drizzle) {
  const told = placeholders(...all)
  const select = () => db.select().from(audit)
  const atOf = db.select({ at: audit.at }).from(audit).where(eq(audit.id, told.after)).prepare()
  const newest = select().orderBy(desc(audit.id)).limit(told.limit).prepare()
  const behind = select().where(gt(audit.id, told.after)).orderBy(asc(audit.id)).limit(told.limit).prepare()

  const prepare = (names: readonly (keyof AuditStream)[], isForward: boolean) => {
    // Of few lines about a record, and not of all that its actor did: the plus keeps SQLite from the other index.
    const columnOf = (name: keyof AuditStream) =>
      name === 'actor' && names.includes('record') ? sql`+${audit.actor}` : sql`${audit[name]}`
    const isOne = names.map((name) => eq(columnOf(name), told[name]))
    const isBehind = isForward ? or(gt(audit.at, told.afterAt), gt(audit.id, told.after)) : undefined
    const order = isForward ? asc : desc
    return select()
      .where(and(...isOne, gte(audit.at, told.since), lt(audit.at, told.until), isBehind))
      .orderBy(order(audit.at), order(audit.id))
      .limit(told.limit)
      .prepare()
  }
  const prepared = new Map<string, ReturnType<typeof prepare>>()
  const linesOf = (stream: AuditStream, times: Partial<Told>, isForward: boolean): AuditLine[] => {
    const names = givenOf(stream)
    const key = [isForward, ...names].join()
    const statement = prepared.get(key) ?? prepare(names, isForward)
    prepared.set(key, statement)
    return statement.all({ ...times, ...stream })
  }

  const narrowed = (limit: number, filter: AuditFilter): AuditLine[] => {
    const { after } = filter
    const isForward = after !== undefined
    const times = { ...timesOf(filter, isForward ? atOf.get({ after })?.at : undefined), limit }
    const found = streamsOf(filter).flatMap((stream) => linesOf(stream, times, isForward))
    return mergeStreams(found, limit, filter)
  }

  return (limit: number, filter: AuditFilter = {}): AuditLine[] => {
    const { after } = filter
    if (isNarrowed(filter)) return narrowed(limit, filter)
    return after === undefined ? newest.all({ limit }).reverse() : behind.all({ after, limit })
  }
}
