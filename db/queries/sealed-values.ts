import { type SQL, sql } from 'drizzle-orm'
import type { Finding } from '../../src/domain/ports/maintenance'
import type { MaybePromise } from '../../src/domain/ports/store'
import { sealedFinding } from '../findings/findings'
import type { FaultyMember } from '../sealed/members'
import { eachRow, type QueryEngine, then, type Walk } from './engine'

/** Size of a sample: number of values of each kind. */
const sampleSize = 1_000
/** Half of a sample is the newest rows. The other half is groups of adjacent rows, spread over all ids. */
const [newestRows, stretches] = [sampleSize / 2, 10]
const stretchRows = (sampleSize - newestRows) / stretches

const none = { member: 0, request: 0, note: 0, response: 0 }
type Kind = keyof typeof none

interface Sealed {
  listUnreadable(walk: Walk): AsyncIterable<number>
}

interface SealedQueries {
  readonly members: { listFaulty(walk: Walk): AsyncIterable<FaultyMember> }
  readonly requests: Sealed & { listDamagedRisks(): MaybePromise<readonly string[]> }
  readonly notes: Sealed
  readonly replays: Sealed
  readonly partners: { listUnreadableKeys(): MaybePromise<readonly string[]> }
  readonly newestSealed: ReturnType<typeof newestSealed>
}

export function newestSealed({ db, tables, prepare }: QueryEngine) {
  const { members, bookingRequests, requestNotes, replays } = tables
  const newest = (column: SQL) => sql<number>`coalesce(${column}, 0)`.mapWith(Number)
  const ids = prepare(
    db
      .select({
        member: newest(sql`(select max(${members.id}) from ${members})`),
        request: newest(sql`(select max(${bookingRequests.id}) from ${bookingRequests})`),
        note: newest(sql`(select max(${requestNotes.id}) from ${requestNotes})`),
        response: newest(sql`(select max(${replays.id}) from ${replays})`),
      })
      .from(sql`(select 1) as one_row`),
  )
  return (): MaybePromise<Record<Kind, number>> => then(ids(), ([row]) => row ?? none)
}

/** @param isAll true to open all values, which takes 17 s for a million values; false for a sample */
export async function findSealed(queries: SealedQueries, isAll: boolean): Promise<Finding> {
  const { members, requests, notes, replays, partners } = queries
  const newest = await queries.newestSealed()
  const opened = { ...none }
  const walk = (kind: Kind): Walk => {
    const rows = isAll || newest[kind] <= sampleSize ? eachRow : sampleOf(newest[kind])
    return async function* (after) {
      for await (const row of rows(after)) {
        opened[kind]++
        yield row
      }
    }
  }
  const faulty = await Array.fromAsync(members.listFaulty(walk('member')))
  const idsWhere = (isUnreadable: boolean) =>
    faulty.filter((member) => member.isUnreadable === isUnreadable).map(({ id }) => `member ${id}`)
  const named = (name: string, ids: AsyncIterable<number>) => Array.fromAsync(ids, (id) => `${name} ${id}`)
  const unreadable = [
    ...(await partners.listUnreadableKeys()).map((kid) => `key ${kid}`),
    ...idsWhere(true),
    ...(await named('request', requests.listUnreadable(walk('request')))),
    ...(await requests.listDamagedRisks()),
    ...(await named('note', notes.listUnreadable(walk('note')))),
    ...(await named('the response to request', replays.listUnreadable(walk('response')))),
  ]
  const isSample = !isAll && Object.values(newest).some((id) => id > sampleSize)
  const sample = Object.entries(opened)
    .map(([kind, count]) => `${count} ${kind}s`)
    .join(', ')
  return sealedFinding(unreadable, idsWhere(false), isSample ? sample : null)
}

function sampleOf(newestId: number): Walk {
  return async function* (after) {
    const spread = (newestId - newestRows) / stretches
    let last = 0
    for (let at = 0; at <= stretches; at++) {
      const from = Math.max(last, Math.floor(at * spread))
      for (const row of await after(from, at === stretches ? newestRows : stretchRows)) {
        last = row.id
        yield row
      }
    }
  }
}
