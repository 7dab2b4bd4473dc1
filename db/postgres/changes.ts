import { and, asc, gte, lt, max, sql } from 'drizzle-orm'
import type { Version } from '../../src/domain/directory-feed'
import type { Change, ChangedNoun } from '../../src/domain/writes'
import { type Drizzle, placeholders } from './drizzle'
import { changes } from './schema'

/** How many changes are kept for those who are catching up; who is further behind reads everything. */
const keptChanges = 10_000

/** The changes after a version, and the version that they lead to. */
export interface Since {
  readonly version: Version
  readonly changes: readonly Change[]
}

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
  const from = db.select().from(changes).where(isFrom).orderBy(asc(changes.version)).prepare('')
  const isNotTaken = sql`(${changes.noun} <> 'taken' or ${changes.version} = ${version})`
  const untaken = db
    .select()
    .from(changes)
    .where(and(isFrom, isNotTaken))
    .orderBy(asc(changes.version))
    .prepare('')
  const oldest = sql`(select max(${changes.version}) from ${changes}) - ${keptChanges}`
  const forget = db
    .delete(changes)
    .where(lt(changes.version, sql`${oldest}`))
    .prepare('')

  /** The row of the version itself is the first: where it is not, some of those after it may be kept no longer. */
  const since = async (query: typeof from | typeof untaken, version: Version): Promise<Since | null> => {
    const rows = await query.execute({ version: version as unknown as number })
    if (rows[0]?.version !== (version as unknown as number)) return null
    return { version: rows.at(-1)?.version as unknown as Version, changes: rows.slice(1) }
  }
  return {
    newestVersion: async (): Promise<Version> =>
      ((await newest.execute())[0]?.version ?? 0) as unknown as Version,

    /** The changes after a version, or null if some of them are no longer kept. */
    since: (version: Version) => since(from, version),

    /** The same without those of taken slots, which make no decision stale: a group of bookings leaves many. */
    sinceButTaken: async (version: Version): Promise<readonly Change[] | null> =>
      (await since(untaken, version))?.changes ?? null,

    /** Removes what is further back than who is catching up is told of. */
    forget: () => forget.execute(),
  }
}

/** A change as the record of changes names it. */
export type Changed = readonly [noun: ChangedNoun, recordId: number]

/**
 * The statement that adds changes. Of more than are kept, readers could not be told one by one: then the record begins anew,
 * and whoever looks next reads everything.
 */
export function addingChanges(changed: readonly Changed[]): string {
  const isMany = changed.length > keptChanges
  const told = isMany ? changed.slice(-1) : changed
  const rows = told.map(([noun, recordId]) => `('${noun}', ${Math.trunc(recordId)})`)
  const insert = `INSERT INTO changes (noun, record_id) VALUES ${rows.join()}`
  return isMany ? `DELETE FROM changes; ${insert}` : insert
}
