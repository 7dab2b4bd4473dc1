import { asc, gt, lte, max, min, sql } from 'drizzle-orm'
import type { Version } from '../../src/domain/directory-feed'
import type { Change, ChangedNoun } from '../../src/domain/writes'
import type { Drizzle } from './drizzle'
import { changes } from './schema'

/** How many changes are kept for those who are catching up; who is further behind reads everything. */
const keptChanges = 10_000

/**
 * The record of changes: every transaction that touches what the directory shows adds to it. SQLite has one writer at
 * a time, so its numbers are in the order of commits and serve as versions.
 */
export function changeQueries(db: Drizzle) {
  const add = db
    .insert(changes)
    .values({ noun: sql.placeholder('noun'), recordId: sql.placeholder('recordId') })
    .returning({ version: changes.version })
    .prepare()
  const version = sql.placeholder('version')
  const forget = db.delete(changes).where(lte(changes.version, version)).prepare()
  const newest = db
    .select({ version: max(changes.version) })
    .from(changes)
    .prepare()
  const oldest = db
    .select({ version: min(changes.version) })
    .from(changes)
    .prepare()
  const since = db
    .select({ noun: changes.noun, recordId: changes.recordId })
    .from(changes)
    .where(gt(changes.version, version))
    .orderBy(asc(changes.version))
    .prepare()
  return {
    add(noun: ChangedNoun, recordId: number): void {
      const { version } = add.get({ noun, recordId }) as { version: number }
      if (version % keptChanges === 0) forget.run({ version: version - keptChanges })
    },

    newestVersion: (): Version => toVersion(newest.get()?.version ?? 0),

    /** The changes after a version, or null if some of them are no longer kept. */
    since(version: Version): Change[] | null {
      const first = oldest.get()?.version ?? 1
      const from = toNumber(version)
      return from < first - 1 ? null : since.all({ version: from })
    },
  }
}

function toVersion(version: number): Version {
  return version as unknown as Version
}

function toNumber(version: Version): number {
  return version as unknown as number
}
