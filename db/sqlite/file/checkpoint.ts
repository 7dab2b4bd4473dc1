import type { Database } from 'bun:sqlite'
import { isBusy } from '../query-engine'

/** Maximum wait for readers, in ms. Long enough for searches, but not for every backup. */
const busyTimeoutMillis = 5_000
const retryMillis = 20

/** Empties the log. Returns false if another connection uses the log for too long. */
export async function checkpoint(database: Database): Promise<boolean> {
  const deadline = performance.now() + busyTimeoutMillis
  while (!tryCheckpoint(database)) {
    if (performance.now() > deadline) return false
    await Bun.sleep(retryMillis)
  }
  return true
}

/** Empties the log without waiting. Returns false if another connection uses the log. */
export function tryCheckpoint(database: Database): boolean {
  try {
    return database.query<{ busy: number }, []>('PRAGMA wal_checkpoint(TRUNCATE)').get()?.busy === 0
  } catch (error) {
    if (isBusy(error)) return false
    throw error
  }
}
