import type { Database } from 'bun:sqlite'
import { isBusy } from './constraint'

/** How long to wait for others to have read: a search of the service takes far less, a backup may take more. */
const patienceMillis = 5_000
const retryMillis = 20

/**
 * Writes the write-ahead log back to the database and cuts it to nothing, so that no earlier content is left in
 * it. False if another connection kept reading from it for too long.
 */
export async function cutLog(database: Database): Promise<boolean> {
  const deadline = performance.now() + patienceMillis
  while (!tryCutLog(database)) {
    if (performance.now() > deadline) return false
    await Bun.sleep(retryMillis)
  }
  return true
}

/** The same if it can be done at once. */
export function tryCutLog(database: Database): boolean {
  try {
    return database.query<{ busy: number }, []>('PRAGMA wal_checkpoint(TRUNCATE)').get()?.busy === 0
  } catch (error) {
    if (isBusy(error)) return false
    throw error
  }
}
