import type { Database } from 'bun:sqlite'
import { isBusy } from '../query-engine'

/** Busy timeout, for readers: a search of the service takes far less, a backup may take more. */
const busyTimeoutMillis = 5_000
const retryMillis = 20

/**
 * Checkpoint: writes the write-ahead log back to the database and truncates it, so that no earlier content is left in
 * it. False if another connection kept reading from it for too long.
 */
export async function checkpoint(database: Database): Promise<boolean> {
  const deadline = performance.now() + busyTimeoutMillis
  while (!tryCheckpoint(database)) {
    if (performance.now() > deadline) return false
    await Bun.sleep(retryMillis)
  }
  return true
}

/** Does not wait. */
export function tryCheckpoint(database: Database): boolean {
  try {
    return database.query<{ busy: number }, []>('PRAGMA wal_checkpoint(TRUNCATE)').get()?.busy === 0
  } catch (error) {
    if (isBusy(error)) return false
    throw error
  }
}
