import type { Connection } from './client/connection'
import { DatabaseFailure } from './client/failure'
import type { OnConnection } from './client/pool'

/** The tables that hold what is known of people, and the data key as former master keys sealed it. */
const tables = ['members', 'booking_requests', 'request_notes', 'replays', 'settings']

/** How long those who were reading when something was erased are waited for. */
const patienceMillis = 2_000
const pauseMillis = 50
const vacuumMillis = 10 * 60 * 1_000

/**
 * Clears away the rows that were deleted or replaced, and where their indexes have them. False if somebody who was reading
 * before kept it from doing so, or nobody can tell.
 *
 * @throws DatabaseFailure
 */
export async function purge(on: OnConnection): Promise<boolean> {
  const isFree = await on(awaitReaders, patienceMillis * 2)
  try {
    return await on(async (connection) => {
      // A message each: VACUUM goes in no transaction, and several statements of one message are one.
      for (const table of tables)
        await connection.send(`VACUUM (INDEX_CLEANUP ON, TRUNCATE OFF) public.${table}`)
      return isFree || (await isClear(connection))
    }, vacuumMillis)
  } catch (error) {
    if (error instanceof DatabaseFailure && (error.meaning === 'retry' || error.meaning === 'lost'))
      return false
    throw error
  }
}

/** Whether all are known to be gone who may still see what is deleted by now (the xmin horizon). */
async function awaitReaders(connection: Connection): Promise<boolean> {
  const [now] = await connection.run('SELECT pg_snapshot_xmax(pg_current_snapshot())::text', [])
  const horizon = `'${now?.[0]}'::xid8::xid`
  const olderThan = (xid: string) => `age(${xid}) > age(${horizon})`
  const readers = `SELECT pg_has_role(current_user, 'pg_read_all_stats', 'USAGE'),
    EXISTS (SELECT 1 FROM pg_stat_activity WHERE pid <> pg_backend_pid()
      AND (${olderThan('backend_xmin')} OR ${olderThan('backend_xid')}))
    OR EXISTS (SELECT 1 FROM pg_prepared_xacts WHERE ${olderThan('transaction')})
    OR EXISTS (SELECT 1 FROM pg_replication_slots WHERE ${olderThan('xmin')})`
  const until = performance.now() + patienceMillis
  for (;;) {
    const [row] = await connection.run(readers, [])
    const [maySeeAll, isRead] = row as [boolean, boolean]
    if (!maySeeAll) return false
    if (!isRead) return true
    if (performance.now() > until) return false
    await new Promise((resolve) => setTimeout(resolve, pauseMillis))
  }
}

/** Whether the last VACUUM has left nothing that is dead, as it noted itself. */
async function isClear(connection: Connection): Promise<boolean> {
  const names = `'${tables.join("', '")}'`
  const [row] = await connection.run(
    `SELECT sum(n_dead_tup)::float8 FROM pg_stat_user_tables WHERE schemaname = 'public' AND relname IN (${names})`,
    [],
  )
  return Number(row?.[0]) === 0
}
