import { and, asc, gt, lte, max, min, sql } from 'drizzle-orm'
import type { Version } from '../../src/domain/directory-feed'
import type { Change, ChangedNoun } from '../../src/domain/writes'
import { addedId, type Drizzle, placeholders } from './drizzle'
import { changes } from './schema'

/** How many changes are kept for those who are catching up; who is further behind reads everything. */
const keptChanges = 10_000

/**
 * The record of changes: every transaction that touches what the directory shows adds to it. SQLite has one writer at
 * a time, so its numbers are in the order of commits and serve as versions.
 */
export function changeQueries(db: Drizzle) {
  const { version } = placeholders('version')
  const add = db.insert(changes).values(placeholders('noun', 'recordId')).prepare()
  const forget = db.delete(changes).where(lte(changes.version, version)).prepare()
  const highest = { version: max(changes.version) }
  const newest = db.select(highest).from(changes).prepare()
  const lowest = { version: min(changes.version) }
  const oldest = db.select(lowest).from(changes).prepare()
  const isLater = gt(changes.version, version)
  const all = db.select().from(changes).where(isLater).orderBy(asc(changes.version)).prepare()
  const isNotTaken = sql`${changes.noun} <> 'taken'`
  const untaken = db.select().from(changes).where(and(isLater, isNotTaken)).prepare()
  /** Null if some of the changes after a version are no longer kept. */
  const since = (query: typeof all | typeof untaken, version: Version): readonly Change[] | null => {
    const from = version as unknown as number
    return from < (oldest.get()?.version ?? 1) - 1 ? null : query.all({ version: from })
  }
  return {
    add(noun: ChangedNoun, recordId: number): void {
      const version = addedId(add.run({ noun, recordId }))
      if (version % keptChanges === 0) forget.run({ version: version - keptChanges })
    },

    newestVersion: (): Version => (newest.get()?.version ?? 0) as unknown as Version,

    /** The changes after a version, or null if some of them are no longer kept. */
    since: (version: Version) => since(all, version),

    /** The same without those of taken slots, which make no decision stale: a group of bookings leaves many. */
    sinceButTaken: (version: Version) => since(untaken, version),
  }
}
