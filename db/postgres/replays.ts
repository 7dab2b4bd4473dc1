import { asc, gt, lte } from 'drizzle-orm'
import type { Vault } from '../../src/domain/vault'
import { isReadable } from '../sealed/replays'
import { type Drizzle, placeholders } from './drizzle'
import { eachRow } from './each-row'
import { replays } from './schema'

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
    .limit(most)
    .prepare('')

  return {
    /** The requests whose answers were kept at an instant (ms) or before, the oldest, at most so many. */
    submittedBy: async (until: number, most: number): Promise<number[]> =>
      (await submittedBy.execute({ until, most })).map(({ id }) => id),

    /** The requests whose answers cannot be opened. */
    async *listUnreadable(): AsyncGenerator<number> {
      for await (const row of eachRow((id, most) => after.execute({ id, most }))) {
        if (!isReadable(vault, row)) yield row.id
      }
    },
  }
}
