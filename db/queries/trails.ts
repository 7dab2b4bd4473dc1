import { and, asc, gt, max, sql } from 'drizzle-orm'
import {
  comparedActions,
  type TrailLine,
  untracedPartners,
  untracedRequests,
} from '../../src/domain/decisions/audit-trail'
import { type Finding, finding } from '../../src/domain/ports/maintenance'
import type { Facts, MaybePromise } from '../../src/domain/ports/store'
import { named } from '../findings/findings'
import { placeholders, type QueryEngine } from './engine'
import type { newestSealed } from './sealed-values'

/** Requests of one batch, and the number of the newest requests that are always compared. */
const batchSize = 1_000

export function trailQueries({
  db,
  tables: { audit, bookingRequests },
  prepare,
  isAmong,
  list,
}: QueryEngine) {
  const open = placeholders('records', 'ids', 'after')
  // Literals, so that the planner uses the index on record and action. Refused acts changed nothing.
  const isCompared = sql`${audit.action} in (${sql.raw(comparedActions.map((one) => `'${one}'`).join())})`
  const isDone = sql`(${audit.outcome} = 'done' or ${audit.outcome} like 'done:%')`
  const newest = db
    .select({ id: max(audit.id) })
    .from(audit)
    .where(and(isAmong(audit.record, open.records), isCompared, isDone))
    .groupBy(audit.record, audit.action)
  const { id, at, action, record, outcome } = audit
  const lines = prepare(
    db.select({ id, at, action, record, outcome }).from(audit).where(sql`${id} in ${newest}`),
  )
  const { id: requestId, isIntake, state, submittedAt } = bookingRequests
  const requests = () => db.select({ id: requestId, isIntake, state, submittedAt }).from(bookingRequests)
  const ofIds = prepare(requests().where(isAmong(requestId, open.ids)))
  const after = prepare(requests().where(gt(requestId, open.after)).orderBy(asc(requestId)).limit(batchSize))
  return {
    newestLines: (records: readonly string[]): MaybePromise<TrailLine[]> => lines({ records: list(records) }),
    statesOf: (ids: readonly number[]) => ofIds({ ids: list(ids) }),
    statesAfter: (id: number) => after({ after: id }),
  }
}

interface TrailedQueries extends Pick<Facts, 'partners'> {
  readonly requests: Pick<Facts['requests'], 'listIds' | 'slotsBetween'>
  readonly audit: Pick<Facts['audit'], 'list'>
  readonly newestSealed: ReturnType<typeof newestSealed>
  readonly trails: ReturnType<typeof trailQueries>
}

/**
 * Compares records with their newest audit lines: all organizations, partners and keys, and the requests that wait, hold a
 * future slot or are new. @param isAll true to compare all requests
 */
export async function findUntraced(queries: TrailedQueries, now: number, isAll: boolean): Promise<Finding> {
  const found = await untraced(queries, now, isAll)
  // An act between two reads looks like a difference, but only once.
  const again = found.length > 0 ? await untraced(queries, now, isAll) : []
  const faults = found.filter((fault) => again.includes(fault))
  return finding('records', named('changed without the service', faults, '; '), 'as the audit log says')
}

async function untraced(queries: TrailedQueries, now: number, isAll: boolean): Promise<string[]> {
  const { partners, audit, trails } = queries
  const organizations = await partners.listOrganizations()
  const listed = await partners.list()
  const keys = await partners.listKeyRecords()
  const linesOf = await trailsOf(queries, [
    ...organizations.map(({ id }) => `organization ${id}`),
    ...listed.map(({ id }) => `partner ${id}`),
  ])
  const found = untracedPartners(organizations, listed, keys, linesOf)
  const [prune] = await audit.list(1, { actions: ['audit.prune'] })
  for await (const batch of requestBatches(queries, now, isAll)) {
    const requests = await (typeof batch === 'number' ? trails.statesAfter(batch) : trails.statesOf(batch))
    const lines = await trailsOf(
      queries,
      requests.map(({ id }) => `request ${id}`),
    )
    found.push(...untracedRequests(requests, prune?.at ?? Number.NEGATIVE_INFINITY, lines))
  }
  return [...new Set(found)]
}

async function trailsOf({ trails }: TrailedQueries, records: readonly string[]) {
  const lines = Map.groupBy(await trails.newestLines(records), ({ record }) => record)
  return (record: string) => lines.get(record) ?? []
}

/** Yields ids, or the id after which a batch begins. */
async function* requestBatches(queries: TrailedQueries, now: number, isAll: boolean) {
  const newestId = (await queries.newestSealed()).request
  for (let from = isAll ? 0 : Math.max(0, newestId - batchSize); from < newestId; from += batchSize)
    yield from
  if (isAll) return
  const waiting = await queries.requests.listIds({ state: 'waiting' })
  const held = await queries.requests.slotsBetween(now, Number.MAX_SAFE_INTEGER)
  const ids = [...new Set([...waiting, ...held.map(({ requestId }) => requestId)])]
  for (let at = 0; at < ids.length; at += batchSize) yield ids.slice(at, at + batchSize)
}
