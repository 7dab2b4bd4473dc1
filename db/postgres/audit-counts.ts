import { and, count, desc, eq, gte, max, sql } from 'drizzle-orm'
import type { conflictAsked } from '../../src/domain/decide-submission'
import { countedRefusal, type RefusalCount, type RefusalsAsked } from '../../src/domain/refusal-count'
import { type Drizzle, placeholders } from './drizzle'
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
    const lastAt = sql<number>`${max(newest.at)}`.mapWith(Number)
    return db
      .select({ record: newest.record, outcome: newest.outcome, count: count(), lastAt })
      .from(newest)
      .groupBy(newest.record, newest.outcome)
      .orderBy(desc(count()), sql`${newest.record} nulls first`, newest.outcome)
      .prepare('')
  }
  const [ofAll, ofOne] = [prepare(false), prepare(true)]
  return async ({ since, most, partnerId }: RefusalsAsked): Promise<RefusalCount[]> => {
    const counted =
      partnerId === undefined
        ? await ofAll.execute({ since, most })
        : await ofOne.execute({ since, most, record: `partner ${partnerId}` })
    return counted.map(countedRefusal)
  }
}

/** Those of the requests named whose screening answers were read: that a list has shown a flag is no reading. */
export function looksAtRisk(db: Drizzle) {
  const isLook = sql`${audit.action} = 'request.read-screening' and ${audit.outcome} = 'done'`
  const areNamed = sql`${audit.record} = any(${placeholders('records').records}::text[])`
  const looks = db
    .selectDistinct({ record: audit.record })
    .from(audit)
    .where(and(areNamed, isLook))
    .prepare('')
  return async (ids: readonly number[]): Promise<number[]> => {
    const records = `{${ids.map((id) => `"request ${id}"`).join()}}`
    const found = await looks.execute({ records })
    return found.map(({ record }) => Number(record?.replace('request ', '')))
  }
}

/** When a conflict over an e-mail address was, in ms; null if there is none so many back. */
export function conflictQuery(db: Drizzle) {
  const open = placeholders('actor', 'after', 'offset')
  const conflict = db
    .select({ at: audit.at })
    .from(audit)
    .where(
      sql`${audit.action} = 'member.email-conflict' and ${audit.actor} = ${open.actor} and ${audit.at} > ${open.after}`,
    )
    .orderBy(desc(audit.at))
    .limit(1)
    .offset(open.offset)
    .prepare('')
  return async ({ actor, after, back }: ReturnType<typeof conflictAsked>): Promise<number | null> => {
    const [found] = await conflict.execute({ actor, after, offset: back - 1 })
    return found?.at ?? null
  }
}
