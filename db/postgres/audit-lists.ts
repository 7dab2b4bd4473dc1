import { and, asc, desc, eq, gt, gte, lt, or, sql } from 'drizzle-orm'
import { type AuditFilter, type AuditLine, auditActions } from '../../src/domain/audit'
import { type AuditStream, givenOf, isNarrowed, mergeStreams, streamsOf, timesOf } from '../audit/streams'
import { type Drizzle, placeholders } from './drizzle'
import { audit } from './schema'

const all = ['streams', 'since', 'until', 'afterAt', 'after', 'limit'] as const
type Times = ReturnType<typeof timesOf>

/** Lists of lines, oldest first: the newest that fit, or the first behind a line. */
export function lineLists(db: Drizzle) {
  const told = placeholders(...all)
  const select = () => db.select().from(audit)
  const atOf = db.select({ at: audit.at }).from(audit).where(eq(audit.id, told.after)).prepare('')
  const newest = select().orderBy(desc(audit.id)).limit(told.limit).prepare('')
  const behind = select().where(gt(audit.id, told.after)).orderBy(asc(audit.id)).limit(told.limit).prepare('')

  /** Lines of streams that are alike in what is given of them, each read by itself from its index (LATERAL). */
  const prepare = (given: readonly (keyof AuditStream)[], isForward: boolean) => {
    // Of few lines about a record, and not of all that its actor did: an expression keeps PostgreSQL from the other index.
    const columnOf = (name: keyof AuditStream) =>
      name === 'actor' && given.includes('record') ? sql`(${audit.actor} || '')` : sql`${audit[name]}`
    const isOne = given.map(
      (name) => sql`${columnOf(name)} = ${sql.identifier('stream')}.${sql.identifier(name)}`,
    )
    const isBehind = isForward ? or(gt(audit.at, told.afterAt), gt(audit.id, told.after)) : undefined
    const order = isForward ? asc : desc
    const lines = select()
      .where(and(...isOne, gte(audit.at, told.since), lt(audit.at, told.until), isBehind))
      .orderBy(order(audit.at), order(audit.id))
      .limit(told.limit)
      .as('lines')
    const { id, at, actor, action, record, outcome, hash } = lines
    return db
      .select({ id, at, actor, action, record, outcome, hash })
      .from(
        sql`json_to_recordset(${told.streams}::text::json) as stream (record text, actor text, action text)`,
      )
      .innerJoinLateral(lines, sql`true`)
      .orderBy(order(at), order(id))
      .limit(told.limit)
      .prepare('')
  }
  const prepared = new Map<string, ReturnType<typeof prepare>>()
  const linesOf = (streams: readonly AuditStream[], times: Times & { limit: number }, isForward: boolean) => {
    const given = givenOf(streams[0] ?? {})
    const key = [isForward, ...given].join()
    const statement = prepared.get(key) ?? prepare(given, isForward)
    prepared.set(key, statement)
    return statement.execute({ ...times, streams: JSON.stringify(streams) })
  }

  const narrowed = async (limit: number, filter: AuditFilter): Promise<AuditLine[]> => {
    const { after } = filter
    const isForward = after !== undefined
    const [line] = isForward ? await atOf.execute({ after }) : []
    const times = { ...timesOf(filter, line?.at), limit }
    // No index has the instants alone: the plan for any value of a parameter would take it, and look for a rare action in all.
    const actions = filter.actions ?? auditActions
    const alike = Map.groupBy(streamsOf({ ...filter, actions }), (stream) => givenOf(stream).join())
    const found = await Promise.all(alike.values().map((streams) => linesOf(streams, times, isForward)))
    return mergeStreams(found.flat(), limit, filter)
  }

  return async (limit: number, filter: AuditFilter = {}): Promise<AuditLine[]> => {
    const { after } = filter
    if (isNarrowed(filter)) return narrowed(limit, filter)
    return after === undefined
      ? (await newest.execute({ limit })).reverse()
      : behind.execute({ after, limit })
  }
}
