import { and, asc, gte, lt, max, sql } from 'drizzle-orm'
import type { TakenSlot, Version } from '../../src/domain/directory-feed'
import type { Change, ChangedNoun } from '../../src/domain/writes'
import { type Drizzle, placeholders } from './drizzle'
import { changes } from './schema'

/** How many changes are kept for those who are catching up; who is further behind reads everything. */
const keptChanges = 10_000

/** What has changed since a version, and the version that this leads to. */
export interface Since {
  readonly version: Version
  /** Of what is to be read anew. */
  readonly changes: readonly Change[]
  /** By provider: slots that were booked of them, of whom nothing is to be read anew. */
  readonly booked: ReadonlyMap<number, readonly TakenSlot[]>
}

/** A change as it is told; with the slot that was booked by it, if one was. */
type Told = readonly [
  version: number,
  noun: ChangedNoun,
  recordId: number,
  ...([requestId: null] | [requestId: number, startsAt: number, endsAt: number, localOffsetMinutes: number]),
]

/**
 * The record of changes: every transaction that touches what the directory shows adds to it, under the lock that it takes
 * last. So versions are in the order of commits: what has a higher one was committed later, though numbers may be skipped.
 */
export function changeQueries(db: Drizzle) {
  const { version } = placeholders('version')
  const newest = db
    .select({ version: max(changes.version) })
    .from(changes)
    .prepare('')
  const isFrom = gte(changes.version, version)
  // As one text of JSON: most of what a node follows is bookings, hundreds a second of other nodes.
  const told = sql`version, noun, record_id, request_id, starts_at, ends_at, local_offset_minutes`
  const from = db
    .select({ told: sql<string>`coalesce(json_agg(json_build_array(${told}) order by version), '[]')::text` })
    .from(changes)
    .where(isFrom)
    .prepare('')
  const isNotTaken = sql`(${changes.noun} <> 'taken' or ${changes.version} = ${version})`
  const untaken = db
    .select({ version: changes.version, noun: changes.noun, recordId: changes.recordId })
    .from(changes)
    .where(and(isFrom, isNotTaken))
    .orderBy(asc(changes.version))
    .prepare('')
  const oldest = sql`(select max(${changes.version}) from ${changes}) - ${keptChanges}`
  const forget = db
    .delete(changes)
    .where(lt(changes.version, sql`${oldest}`))
    .prepare('')

  return {
    newestVersion: async (): Promise<Version> =>
      ((await newest.execute())[0]?.version ?? 0) as unknown as Version,

    // The row of the version itself is the first: where it is not, some of those after it may be kept no longer.

    /** What has changed since a version, or null if some of that is no longer kept. */
    async since(version: Version): Promise<Since | null> {
      const [row] = await from.execute({ version: version as unknown as number })
      const [first, ...rest] = JSON.parse((row as { told: string }).told) as Told[]
      return first?.[0] === (version as unknown as number) ? toSince(version, rest) : null
    },

    /** The changes, but for those of taken slots, which make no decision stale: a group of bookings leaves many. */
    async sinceButTaken(version: Version): Promise<readonly Change[] | null> {
      const rows = await untaken.execute({ version: version as unknown as number })
      return rows[0]?.version === (version as unknown as number) ? rows.slice(1) : null
    },

    /** Removes what is further back than who is catching up is told of. */
    forget: () => forget.execute(),
  }
}

function toSince(version: Version, told: readonly Told[]): Since {
  const changes = told
    .filter(([, , , requestId]) => requestId === null)
    .map(([, noun, recordId]) => ({ noun, recordId }))
  const anew = new Set(changes.flatMap(({ noun, recordId }) => (noun === 'taken' ? recordId : [])))
  const booked = new Map<number, TakenSlot[]>()
  for (const [, , providerId, requestId, startsAt, endsAt, localOffsetMinutes] of told) {
    if (requestId === null || anew.has(providerId)) continue
    const slot = { requestId, startsAt, endsAt, localOffsetMinutes } as TakenSlot
    const slots = booked.get(providerId)
    if (slots) slots.push(slot)
    else booked.set(providerId, [slot])
  }
  return { version: (told.at(-1)?.[0] as unknown as Version | undefined) ?? version, changes, booked }
}

/**
 * A change as the record of changes names it: of a provider's slots, with the one that was booked where nothing else is
 * changed.
 */
export type Changed = readonly [noun: ChangedNoun, recordId: number, booked?: TakenSlot]

/**
 * The statement that adds changes. Of more than are kept, readers could not be told one by one: then the record begins anew,
 * and whoever looks next reads everything.
 */
export function addingChanges(changed: readonly Changed[]): string {
  const isMany = changed.length > keptChanges
  const told = isMany ? changed.slice(-1) : changed
  const rows = told.map(([noun, recordId, booked]) => {
    return `('${noun}', ${Math.trunc(recordId)}, ${booked ? numbersOf(booked) : 'NULL, NULL, NULL, NULL'})`
  })
  const insert = `INSERT INTO changes (noun, record_id, request_id, starts_at, ends_at, local_offset_minutes) VALUES ${rows.join()}`
  return isMany ? `DELETE FROM changes; ${insert}` : insert
}

function numbersOf({ requestId, startsAt, endsAt, localOffsetMinutes }: TakenSlot): string {
  return [requestId, startsAt, endsAt, localOffsetMinutes].map(Math.trunc).join()
}
