import type { Finding } from '../../../src/domain/upkeep'
import type { Connection } from '../client/connection'
import { unseen } from '../where-readable'
import { areApart, type ClockReading, clockRemedy, describeDifference, readClock } from './clock'

/** How long a transaction may be open before it is told, in seconds: nothing that was deleted since can be cleared away. */
const oldestSeconds = 300
/** Which share of the connections may be in use before it is told. */
const fullShare = 0.8

const mayMonitor = "pg_has_role(current_user, 'pg_read_all_stats', 'USAGE')"
const grant = 'have an administrator grant pg_monitor to the role'

export async function versionFinding(connection: Connection): Promise<Finding> {
  const [row] = await connection.run("SELECT current_setting('server_version')", [])
  return { check: 'server', state: 'ok', detail: `PostgreSQL ${row?.[0]}` }
}

/** Whether our own connection is encrypted. */
export async function encryptionFinding(connection: Connection): Promise<Finding> {
  const check = 'connection'
  const isNear = `inet_client_addr() IS NULL OR inet_client_addr() <<= '127.0.0.0/8' OR inet_client_addr() = '::1'`
  const own = `SELECT ssl, version, ${isNear} FROM pg_stat_ssl WHERE pid = pg_backend_pid()`
  const [row] = await connection.run(own, [])
  const [isEncrypted, version, isLocal] = (row ?? []) as [boolean?, string?, boolean?]
  if (isEncrypted) return { check, state: 'ok', detail: `encrypted, ${version?.replace('v', ' ')}` }
  if (isLocal) return { check, state: 'ok', detail: 'not encrypted, within this machine' }
  const detail = 'not encrypted; the address is one of this machine, and the server is told of another'
  return { check, state: 'note', detail, remedy: 'see what hands the connection on, and to where' }
}

/** Whether the server's clock shows what this machine's does: tokens and slots go by ours, other nodes are seen by its own. */
export async function clockFinding(connection: Connection): Promise<Finding> {
  const check = 'clock'
  let best: ClockReading = { difference: 0, doubt: Infinity }
  // The quickest answer says it most exactly.
  for (let time = 0; time < 5; time++) {
    const reading = await readClock(connection)
    if (reading.doubt < best.doubt) best = reading
  }
  const detail = describeDifference(best)
  if (!areApart(best)) return { check, state: 'ok', detail }
  return { check, state: 'bad', detail, remedy: clockRemedy }
}

/** Whether an open transaction keeps what was deleted from being cleared away. */
export async function oldestTransactionFinding(connection: Connection): Promise<Finding> {
  const check = 'oldest transaction'
  const open = `SELECT clock_timestamp() - xact_start FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'`
  const prepared =
    'SELECT clock_timestamp() - prepared FROM pg_prepared_xacts WHERE database = current_database()'
  const [row] = await connection.run(
    `SELECT extract(epoch FROM max(age))::float8, ${mayMonitor} FROM (${open} UNION ALL ${prepared}) AS open (age)`,
    [],
  )
  const [age, maySeeAll] = row as [number | null, boolean]
  const seconds = Math.round(Number(age ?? 0))
  if (seconds > oldestSeconds) {
    const detail = `open for ${Math.floor(seconds / 60)} minutes: until it ends, nothing that was deleted since is cleared away`
    return {
      check,
      state: 'bad',
      detail,
      remedy: 'find it in pg_stat_activity or pg_prepared_xacts, and end it',
    }
  }
  if (!maySeeAll) return unseen(check, grant)
  return { check, state: 'ok', detail: age === null ? 'none' : `${seconds} s` }
}

/** How many connections the server has left. */
export async function connectionsFinding(connection: Connection): Promise<Finding> {
  const check = 'connections'
  const [row] = await connection.run(
    `SELECT sum(numbackends)::float8, current_setting('max_connections')::float8
       - current_setting('superuser_reserved_connections')::float8 FROM pg_stat_database`,
    [],
  )
  const [used, most] = row as [number, number]
  const detail = `${used} of ${most} in use`
  if (used < most * fullShare) return { check, state: 'ok', detail }
  const remedy = 'raise max_connections, lower the number that each node has, or put PgBouncer before it'
  return { check, state: 'note', detail, remedy }
}
