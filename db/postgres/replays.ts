import { asc, gt, lte } from 'drizzle-orm'
import type { Vault } from '../../src/domain/vault'
import { isReadable } from '../records/replays'
import { type Drizzle, placeholders } from './drizzle'
import { replays } from './schema'

/** Answers that are read at once. */
const chunkSize = 1_000

/** Queries on what is kept for retries. */
export function replayQueries(db: Drizzle, vault: Vault) {
  const { id, until, most } = placeholders('id', 'until', 'most')
  const submittedBy = db
    .select({ id: replays.id })
    .from(replays)
    .where(lte(replays.submittedAt, until))
    .orderBy(asc(replays.submittedAt))
    .limit(most)
    .prepare('')
  const after = db
    .select()
    .from(replays)
    .where(gt(replays.id, id))
    .orderBy(asc(replays.id))
    .limit(chunkSize)
    .prepare('')

  return {
    /** The requests whose answers were kept at an instant (ms) or before, the oldest, at most so many. */
    submittedBy: async (until: number, most: number): Promise<number[]> =>
      (await submittedBy.execute({ until, most })).map(({ id }) => id),

    /** The requests whose answers cannot be opened. */
    async *listUnreadable(): AsyncGenerator<number> {
      const some = (id: number) => after.execute({ id })
      for (let rows = await some(0); rows.length > 0; rows = await some(rows.at(-1)?.id ?? 0)) {
        for (const row of rows) if (!isReadable(vault, row)) yield row.id
      }
    },
  }
}
