import { and, max, sql } from 'drizzle-orm'
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

/** Refused prunes are in the log too. */
const mostPrunes = 1_000

export function trailQueries({ db, prepare, isAmong, list, ...engine }: QueryEngine) {
  const { id, at, action, record, outcome } = engine.tables.audit
  const { id: requestId, isIntake, state, submittedAt } = engine.tables.bookingRequests
  const open = placeholders('records', 'ids')
  // Literals, so that the planner uses the index on record and action. Refused acts changed nothing.
  const isCompared = sql`${action} in (${sql.raw(comparedActions.map((one) => `'${one}'`).join())})`
  const isDone = sql`(${outcome} = 'done' or ${outcome} like 'done:%')`
  const newest = db
    .select({ id: max(id) })
    .from(engine.tables.audit)
    .where(and(isAmong(record, open.records), isCompared, isDone))
    .groupBy(record, action)
  const lines = prepare(
    db.select({ id, at, action, record, outcome }).from(engine.tables.audit).where(sql`${id} in ${newest}`),
  )
  const requests = prepare(
    db
      .select({ id: requestId, isIntake, state, submittedAt })
      .from(engine.tables.bookingRequests)
      .where(isAmong(requestId, open.ids)),
  )
  return {
    newestLines: (records: readonly string[]): MaybePromise<TrailLine[]> => lines({ records: list(records) }),
    requestStates: (ids: readonly number[]) => requests({ ids: list(ids) }),
  }
}

interface TrailedQueries extends Pick<Facts, 'partners' | 'requests' | 'audit'> {
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
  const again = found.size > 0 ? await untraced(queries, now, isAll) : found
  const faults = [...found.intersection(again)]
  return finding('records', named('changed without the service', faults, '; '), 'as the audit log says')
}

async function untraced(queries: TrailedQueries, now: number, isAll: boolean): Promise<Set<string>> {
  const { partners, requests, audit, trails } = queries
  const trailsOf = async (noun: string, records: readonly { readonly id: number }[]) => {
    const lines = await trails.newestLines(records.map(({ id }) => `${noun} ${id}`))
    return Map.groupBy(lines, ({ record }) => record ?? '')
  }
  const [organizations, listed] = [await partners.listOrganizations(), await partners.list()]
  const keys = await partners.listKeyRecords()
  const lines = new Map([
    ...(await trailsOf('organization', organizations)),
    ...(await trailsOf('partner', listed)),
  ])
  const found = untracedPartners(organizations, listed, keys, (record) => lines.get(record) ?? [])
  const prunes = await audit.list(mostPrunes, { actions: ['audit.prune'] })
  const isPruned = prunes.some(({ outcome }) => outcome === 'done')
  const [oldest] = await audit.list(1, { after: Number.MIN_SAFE_INTEGER })
  const prunedAt = isPruned ? (oldest?.at ?? now) : -1
  const newestId = (await queries.newestSealed()).request
  const first = isAll ? 1 : Math.max(1, newestId - batchSize)
  const waiting = await requests.listOwned({ state: 'waiting' })
  const held = await requests.slotsBetween(now, Number.MAX_SAFE_INTEGER)
  const open = [...waiting.map(({ id }) => id), ...held.map(({ requestId }) => requestId)].filter(
    (id) => id < first,
  )
  const compare = async (ids: readonly number[]) => {
    const batch = await trails.requestStates(ids)
    const ofRequests = await trailsOf('request', batch)
    found.push(...untracedRequests(batch, prunedAt, (record) => ofRequests.get(record) ?? []))
  }
  for (let at = 0; at < open.length; at += batchSize) await compare(open.slice(at, at + batchSize))
  for (let id = first; id <= newestId; id += batchSize)
    await compare(Array.from({ length: batchSize }, (_, more) => id + more))
  return new Set(found)
}
