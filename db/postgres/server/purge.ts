import { pause } from '../../../src/domain/ports/time'
import type { Connection } from '../client/connection'
import { DatabaseFailure } from '../client/failure'
import type { OnConnection } from '../client/pool'

/** Deleted rows of these tables are secret: they contain personal data or the data key. */
const tables = ['members', 'booking_requests', 'request_notes', 'replays', 'settings']

/** Maximum wait in ms for transactions that may still see deleted rows. */
const waitMillis = 2_000
const pauseMillis = 50
const vacuumMillis = 10 * 60 * 1_000

/**
 * Erases deleted rows. Returns false if some rows remain because older transactions may see them.
 * @throws DatabaseFailure
 */
export async function purge(on: OnConnection): Promise<boolean> {
  const endsAt = performance.now() + waitMillis
  try {
    return await on(async (connection) => {
      let isClear = true
      for (const table of tables) isClear = (await vacuumUntil(endsAt, connection, table)) && isClear
      return isClear
    }, vacuumMillis)
  } catch (error) {
    if (error instanceof DatabaseFailure && (error.meaning === 'retry' || error.meaning === 'lost'))
      return false
    throw error
  }
}

/** Returns true if VACUUM left no dead rows. VACUUM must be the only statement in its message. */
async function vacuumUntil(endsAt: number, connection: Connection, table: string): Promise<boolean> {
  for (;;) {
    await connection.send(`VACUUM (INDEX_CLEANUP ON, TRUNCATE OFF) public.${table}`)
    const [row] = await connection.run(`SELECT pg_stat_get_dead_tuples('public.${table}'::regclass)::float8`)
    if (row?.[0] === 0) return true
    if (performance.now() > endsAt) return false
    await pause(pauseMillis)
  }
}
