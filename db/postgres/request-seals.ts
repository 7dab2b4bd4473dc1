import { and, eq, gte, lt, sql } from 'drizzle-orm'
import {
  type AuditHashes,
  type AuditHead,
  type AuditState,
  parseState,
  sealOfRequest,
} from '../../src/domain/audit'
import type { LogStanding } from '../audit/verification'
import { lastOf } from '../audit/verification'
import { type Drizzle, placeholders } from './drizzle'
import { audit, bookingRequests, requestSeals, settings } from './schema'

/** Under which name the settings have the state of the log. The guard of the table reads it too. */
export const auditStateName = 'audit'

/** Older seals that are removed at once: so many that nobody waits for it. */
const removedAtOnce = 500

/** How far behind the newest seal the groups are, at most, that have taken ids before it and are not committed yet. */
const mostBehind = 10_000

/** Where the log stands at one moment, and beside which request. */
export interface Standing extends LogStanding {
  /** The request of the newest seal; null if there is none, or it is not as it was sealed. */
  readonly sealedRequest: number | null
}

/** Where the log stands, read in one statement, so that all of it is of one moment. */
export function standingQuery(db: Drizzle, hashes: AuditHashes) {
  // Not by a limit: it would be a parameter, and the plan one for as many as are guessed.
  const newestLine = db
    .select({ id: audit.id, hash: audit.hash })
    .from(audit)
    .where(sql`${audit.id} = (select max(${audit.id}) from ${audit})`)
    .as('newest_line')
  const newestSeal = db
    .select()
    .from(requestSeals)
    .where(sql`${requestSeals.requestId} = (select max(${requestSeals.requestId}) from ${requestSeals})`)
    .as('newest_seal')
  const newestRequest = sql`(select max(${bookingRequests.id}) from ${bookingRequests})`
  const standing = db
    .select({
      state: settings.value,
      id: newestLine.id,
      hash: newestLine.hash,
      requests: newestRequest.mapWith(Number),
      requestId: newestSeal.requestId,
      actId: newestSeal.actId,
      actHash: newestSeal.actHash,
      seal: newestSeal.seal,
    })
    .from(sql`(select 1) as moment`)
    .leftJoin(settings, eq(settings.name, auditStateName))
    .leftJoin(newestLine, sql`true`)
    .leftJoin(newestSeal, sql`true`)
    .prepare('')
  return async (): Promise<Standing> => {
    const [row] = await standing.execute({})
    const { id = null, hash = null, requestId = null, actId = null, actHash = null } = row ?? {}
    const act = actId === null || actHash === null ? null : { id: actId, hash: actHash }
    const isSealed = requestId !== null && act && row?.seal === sealOfRequest(hashes, requestId, act)
    return {
      state: row?.state ? parseState(hashes, row.state.toString()) : null,
      last: lastOf(id === null || hash === null ? undefined : { id, hash }),
      requests: row?.requests ?? 0,
      sealedRequest: isSealed ? requestId : null,
    }
  }
}

/**
 * The seals that bind the log to the requests that are there, each by a group of submissions that saw an act as the newest.
 * Groups commit in any order: the newest seal is that of the newest request.
 */
export function requestSealQueries(db: Drizzle, hashes: AuditHashes) {
  const given = placeholders('requestId', 'actId', 'actHash', 'seal')
  const { oldest, newest, startId, startHash } = placeholders('oldest', 'newest', 'startId', 'startHash')
  const insert = db
    .insert(requestSeals)
    .values(given)
    // Of requests that were removed and whose ids are given again: bookings go on.
    .onConflictDoUpdate({
      target: requestSeals.requestId,
      set: { actId: sql`excluded.act_id`, actHash: sql`excluded.act_hash`, seal: sql`excluded.seal` },
    })
    .prepare('')
  // Scalar subqueries: an EXISTS beside OR may become a hash of the whole log.
  const hashOfAct = sql`(select ${audit.hash} from ${audit} where ${audit.id} = ${requestSeals.actId})`
  const hashOfStart = sql`case ${requestSeals.actId} when ${startId}::int8 then ${startHash}::text end`
  const request = sql`(select ${bookingRequests.id} from ${bookingRequests} where ${bookingRequests.id} = ${requestSeals.requestId})`
  const isPruned = sql`${requestSeals.actId} < ${startId}::int8`
  const isThere = sql`${requestSeals.actHash} is not distinct from coalesce(${hashOfAct}, ${hashOfStart})`
  const isFounded = sql`(${request} is not null and (${isPruned} or ${isThere}))`
  const stranger = db
    .select({ requestId: requestSeals.requestId })
    .from(requestSeals)
    .where(sql`not ${isFounded}`)
    .limit(1)
    .prepare('')
  // The oldest are chosen before it is asked what they stand beside, so that many which are left cost no more.
  const older = db
    .select({ requestId: requestSeals.requestId })
    .from(requestSeals)
    .where(and(gte(requestSeals.requestId, oldest), lt(requestSeals.requestId, newest)))
    .orderBy(requestSeals.requestId)
    .limit(removedAtOnce)
  const remove = db
    .delete(requestSeals)
    .where(sql`${requestSeals.requestId} = any(array(${older})) and ${isFounded}`)
    .returning({ requestId: requestSeals.requestId })
    .prepare('')
  // The seals before it were found to be removed: the index has them for as long as a transaction elsewhere may see them (xmin
  // horizon), hours with a pg_dump, and who appends would pass over all of them under the lock of the log.
  let removedUntil = 0
  const startOf = ({ acts }: AuditState) => ({ startId: acts.start.id, startHash: acts.start.hash })
  return {
    /** One statement; nobody waits for it. */
    async add(requestId: number, act: AuditHead): Promise<void> {
      const seal = sealOfRequest(hashes, requestId, act)
      await insert.execute({ requestId, actId: act.id, actHash: act.hash, seal })
    },
    /** Removes some of the seals before the newest. One that stands beside what is not there is left to be found. */
    async removeOlder(newest: number, state: AuditState): Promise<void> {
      const removed = await remove.execute({ oldest: removedUntil, newest, ...startOf(state) })
      const isAll = removed.length < removedAtOnce
      const newestRemoved = isAll ? newest : Math.max(...removed.map(({ requestId }) => requestId))
      removedUntil = Math.max(removedUntil, newestRemoved - mostBehind)
    },
    /** Whether a seal stands beside a request, or an act, that is not there. */
    async hasStranger(state: AuditState): Promise<boolean> {
      return (await stranger.execute(startOf(state))).length > 0
    },
  }
}
