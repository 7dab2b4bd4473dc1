import { asc, gt, lte, max, min, sql } from 'drizzle-orm'
import type { Drizzle } from './drizzle'
import { changes } from './schema'

/** What of the directory a record of changes is about. */
export type Noun = (typeof changes.$inferSelect)['noun']

/** How many changes are kept for those who are catching up; who is further behind reads everything. */
const keptChanges = 10_000

/** The record of changes: every transaction that touches what the directory shows adds to it. */
export function changeQueries(db: Drizzle) {
  const add = db
    .insert(changes)
    .values({ noun: sql.placeholder('noun'), recordId: sql.placeholder('recordId') })
    .returning({ version: changes.version })
    .prepare()
  const forget = db
    .delete(changes)
    .where(lte(changes.version, sql.placeholder('version')))
    .prepare()
  const newest = db
    .select({ version: max(changes.version) })
    .from(changes)
    .prepare()
  const oldest = db
    .select({ version: min(changes.version) })
    .from(changes)
    .prepare()
  const since = db
    .select()
    .from(changes)
    .where(gt(changes.version, sql.placeholder('version')))
    .orderBy(asc(changes.version))
    .prepare()
  return {
    add(noun: Noun, recordId: number): void {
      const { version } = add.get({ noun, recordId }) as { version: number }
      if (version % keptChanges === 0) forget.run({ version: version - keptChanges })
    },
    newestVersion: () => newest.get()?.version ?? 0,
    /** The changes after a version, or null if some of them are no longer kept. */
    since(version: number) {
      const first = oldest.get()?.version ?? 1
      return version < first - 1 ? null : since.all({ version })
    },
  }
}
