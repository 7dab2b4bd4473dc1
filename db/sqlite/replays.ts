import { and, asc, eq, gt, lte } from 'drizzle-orm'
import type { Retry } from '../../src/domain/booking-request'
import type { KeptAnswer } from '../../src/domain/decide-replay'
import type { Vault } from '../../src/domain/vault'
import { isReadable, keyHash, replayColumns, toKeptAnswer } from '../sealed/replays'
import { type Drizzle, placeholders } from './drizzle'
import { type RecordTable, recordTable } from './record-table'
import { replays } from './schema'

/** Answers that are read at once. */
const chunkSize = 1_000

/** Queries on what is kept for retries. */
export function replayQueries(db: Drizzle, vault: Vault) {
  const open = placeholders('id', 'partnerId', 'keyHash', 'until', 'most')
  const byKey = db
    .select()
    .from(replays)
    .where(and(eq(replays.partnerId, open.partnerId), eq(replays.keyHash, open.keyHash)))
    .prepare()
  const submittedBy = db
    .select({ id: replays.id })
    .from(replays)
    .where(lte(replays.submittedAt, open.until))
    .orderBy(asc(replays.submittedAt))
    .limit(open.most)
    .prepare()
  const after = db
    .select()
    .from(replays)
    .where(gt(replays.id, open.id))
    .orderBy(asc(replays.id))
    .limit(chunkSize)
    .prepare()

  return {
    /** @throws Refusal database_unusable for one that cannot be opened */
    find(partnerId: number, retry: Retry): KeptAnswer | null {
      const row = byKey.get({ partnerId, keyHash: keyHash(vault, partnerId, retry) })
      if (!row) return null
      return toKeptAnswer(vault, row, partnerId, retry)
    },

    /** The requests whose answers were kept at an instant (ms) or before, the oldest, at most so many. */
    submittedBy: (until: number, most: number): number[] =>
      submittedBy.all({ until, most }).map(({ id }) => id),

    /** The requests whose answers cannot be opened. */
    *listUnreadable(): Generator<number> {
      const some = (id: number) => after.all({ id })
      for (let rows = some(0); rows.length > 0; rows = some(rows.at(-1)?.id ?? 0)) {
        for (const row of rows) if (!isReadable(vault, row)) yield row.id
      }
    },
  }
}

export function replayTable(db: Drizzle, vault: Vault): RecordTable<'replay'> {
  const table = recordTable<'replay'>(db, replays)
  return { ...table, add: (row) => table.add(replayColumns(vault, row) as never) }
}
