import { and, asc, desc, eq, gt, gte, lt, or, sql } from 'drizzle-orm'
import {
  type AuditAction,
  type AuditFilter,
  type AuditLine,
  type AuditSubject,
  auditActions,
} from '../../src/domain/audit'
import { type Drizzle, placeholders } from './drizzle'
import { audit } from './schema'

/**
 * Lines of one action, and of one actor, about one record or both: an index has them in the order of their instants,
 * and no more of them are read than are asked for, however many there are.
 */
interface Stream extends AuditSubject {
  readonly action?: AuditAction
}

const all = ['since', 'until', 'actor', 'record', 'action', 'afterAt', 'after', 'limit'] as const
type Told = Readonly<Record<(typeof all)[number], string | number | undefined>>

/** Lists of lines, oldest first: the newest that fit, or the first behind a line. */
export function lineLists(db: Drizzle) {
  const told = placeholders(...all)
  const select = () => db.select().from(audit)
  const atOf = db.select({ at: audit.at }).from(audit).where(eq(audit.id, told.after)).prepare()
  const newest = select().orderBy(desc(audit.id)).limit(told.limit).prepare()
  const behind = select().where(gt(audit.id, told.after)).orderBy(asc(audit.id)).limit(told.limit).prepare()

  const prepare = (names: readonly (keyof Stream)[], isForward: boolean) => {
    // Of few lines about a record, and not of all that its actor did: the plus keeps SQLite from the other index.
    const columnOf = (name: keyof Stream) =>
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
  const linesOf = (stream: Stream, times: Partial<Told>, isForward: boolean): AuditLine[] => {
    const names = (['record', 'actor', 'action'] as const).filter((name) => stream[name] !== undefined)
    const key = [isForward, ...names].join()
    const statement = prepared.get(key) ?? prepare(names, isForward)
    prepared.set(key, statement)
    return statement.all({ ...times, ...stream })
  }

  /** In the order of their instants, which that of the ids is but for a clock that was set back and what is noted late. */
  const narrowed = (limit: number, filter: AuditFilter): AuditLine[] => {
    const { since = -Number.MAX_VALUE, until = Number.MAX_VALUE, after } = filter
    const isForward = after !== undefined
    const afterAt = isForward ? atOf.get({ after })?.at : undefined
    const times = {
      since: Math.max(since, afterAt ?? since),
      until,
      // Behind a line that is gone are those of later ids.
      afterAt: afterAt ?? Number.MAX_VALUE,
      after: after ?? 0,
      limit,
    }
    const found = streamsOf(filter).flatMap((stream) => linesOf(stream, times, isForward))
    // A line by a partner about itself is of two streams.
    const once = [...new Map(found.map((line) => [line.id, line])).values()]
    const sorted = once.sort((a, b) => a.at - b.at || a.id - b.id)
    return isForward ? sorted.slice(0, limit) : sorted.slice(-limit)
  }

  return (limit: number, filter: AuditFilter = {}): AuditLine[] => {
    const { after, ...narrowing } = filter
    if (Object.values(narrowing).some((value) => value !== undefined)) return narrowed(limit, filter)
    return after === undefined ? newest.all({ limit }).reverse() : behind.all({ after, limit })
  }
}

/** The streams that hold all lines that fit. */
function streamsOf({ actor, record, actions, anyOf = [{}] }: AuditFilter): Stream[] {
  return anyOf.flatMap((one) => {
    const isOther = (mine?: string, theirs?: string) =>
      mine !== undefined && theirs !== undefined && mine !== theirs
    if (isOther(actor, one.actor) || isOther(record, one.record)) return []
    const subject = { actor: actor ?? one.actor, record: record ?? one.record }
    const isOfAny = subject.actor !== undefined || subject.record !== undefined
    // The indexes have the action before the instant.
    const each = actions ?? (isOfAny ? auditActions : null)
    return each ? each.map((action) => ({ ...subject, action })) : [subject]
  })
}
