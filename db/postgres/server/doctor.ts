import type { Finding } from '../../../src/domain/ports/maintenance'
import type { Connection } from '../client/connection'
import { DatabaseFailure, unwrapped } from '../client/failure'
import type { OnConnection } from '../client/pool'
import { type ClockReading, clockRemedy, describeDifference, isApart, readClock } from './clock'

export async function serverFindings(on: OnConnection): Promise<Finding[]> {
  const checks = {
    server: async (connection: Connection): Promise<Finding> => {
      const [row] = await connection.run("SELECT current_setting('server_version')")
      return { check: 'server', state: 'ok', detail: `PostgreSQL ${row?.[0]}` }
    },
    connection: findEncryption,
    clock: findClock,
    replication: findReplication,
  }
  const findings: Finding[] = []
  for (const [check, find] of Object.entries(checks))
    findings.push(await whereReadable(check, () => on(find)))
  return findings
}

/** Turns a failed check into a finding, so that the other checks still run. */
export async function whereReadable(check: string, find: () => Promise<Finding>): Promise<Finding> {
  try {
    return await find()
  } catch (error) {
    const failure = unwrapped(error)
    if (failure instanceof DatabaseFailure && failure.code === '42501') return notPermitted(check)
    const isDamaged = failure instanceof DatabaseFailure && failure.meaning === 'damaged'
    const detail = isDamaged ? 'the data is damaged; restore a backup' : 'the check failed'
    return { check, state: 'bad', detail }
  }
}

function notPermitted(check: string, remedy?: string): Finding {
  const detail = 'not checked, because the role lacks the privilege'
  return { check, state: 'note', detail, ...(remedy && { remedy }) }
}

async function findEncryption(connection: Connection): Promise<Finding> {
  const check = 'connection'
  const isNear = `inet_client_addr() IS NULL OR inet_client_addr() <<= '127.0.0.0/8' OR inet_client_addr() = '::1'`
  const own = `SELECT ssl, version, ${isNear} FROM pg_stat_ssl WHERE pid = pg_backend_pid()`
  const [row] = await connection.run(own)
  const [isEncrypted, version, isLocal] = (row ?? []) as [boolean?, string?, boolean?]
  if (isEncrypted) return { check, state: 'ok', detail: `encrypted, ${version?.replace('v', ' ')}` }
  if (isLocal) return { check, state: 'ok', detail: 'not encrypted, but it does not leave this machine' }
  const detail =
    'not encrypted; the address is on this machine, but the server sees a connection from another machine'
  return { check, state: 'note', detail, remedy: 'check which program forwards the connection, and to where' }
}

/** The clocks must agree. Tokens and slots use this machine's clock; heartbeats use the database server's clock. */
async function findClock(connection: Connection): Promise<Finding> {
  const readings: ClockReading[] = []
  for (let time = 0; time < 5; time++) readings.push(await readClock(connection))
  // The fastest answer gives the most exact reading.
  const best = readings.reduce((one, other) => (other.doubt < one.doubt ? other : one))
  const detail = describeDifference(best)
  if (!isApart(best)) return { check: 'clock', state: 'ok', detail }
  return { check: 'clock', state: 'bad', detail, remedy: clockRemedy }
}

const harms: readonly (readonly [name: string, value: string, harm: string])[] = [
  ['fsync', 'off', 'a crash of the machine may lose acknowledged writes or all data'],
  ['full_page_writes', 'off', 'a page that is half written during a crash cannot be repaired'],
  ['synchronous_commit', 'off', 'a crash of the server may lose acknowledged writes'],
]

export async function findSettings(connection: Connection): Promise<Finding> {
  const names = [...harms.map(([name]) => name), 'synchronous_standby_names', 'data_checksums']
  const rows = await connection.run(
    `SELECT name, setting FROM pg_settings WHERE name IN ('${names.join("', '")}')`,
  )
  return judgeSettings(Object.fromEntries(rows))
}

export function judgeSettings(settings: Readonly<Record<string, string>>): Finding {
  const check = 'settings'
  const faults = harms.filter(([name, value]) => settings[name] === value)
  const found = faults.map(([name, value, harm]) => `${name} is ${value}: ${harm}`)
  const changed = faults.map(([name]) => name)
  if (settings.synchronous_commit === 'local' && settings.synchronous_standby_names !== '') {
    found.push('synchronous_commit is local: commits do not wait for a standby')
    changed.push('synchronous_commit')
  }
  if (found.length > 0) {
    const remedy = `turn ${changed.join(', ')} on, for the server, the database and the role`
    return { check, state: 'bad', detail: found.join('; '), remedy }
  }
  if (settings.data_checksums === 'on') return { check, state: 'ok', detail: 'correct' }
  const detail = 'correct, but without data checksums: damage by the disk is not detected'
  return { check, state: 'note', detail, remedy: 'stop the server, then run pg_checksums --enable' }
}

interface Standby {
  readonly name: string
  readonly isSynchronous: boolean
  /** Bytes of the write-ahead log that are not yet on the standby's disk. */
  readonly bytesBehind: number
  readonly secondsBehind: number
}

/** Limits of doctor for the lag of a standby. */
const [mostBytes, mostSeconds] = [64 * 1024 * 1024, 30]

async function findReplication(connection: Connection): Promise<Finding> {
  const rows = await connection.run(
    `SELECT application_name, sync_state IN ('sync', 'quorum'), pg_wal_lsn_diff(pg_current_wal_lsn(), flush_lsn)::float8,
       coalesce(extract(epoch FROM replay_lag), 0)::float8, state
     FROM pg_stat_replication WHERE state IS DISTINCT FROM 'backup' ORDER BY 1`,
  )
  if (rows.some((row) => row[4] === null))
    return notPermitted('replication', 'ask an administrator to grant pg_monitor to the role')
  const [setting] = await connection.run("SELECT current_setting('synchronous_standby_names')")
  const standbys = rows.map(([name, isSynchronous, bytes, seconds]) => ({
    name: name as string,
    isSynchronous: isSynchronous as boolean,
    bytesBehind: Number(bytes ?? 0),
    secondsBehind: Number(seconds),
  }))
  return judgeReplication(standbys, setting?.[0] as string)
}

/** @param synchronousNames the setting synchronous_standby_names */
export function judgeReplication(standbys: readonly Standby[], synchronousNames: string): Finding {
  const check = 'replication'
  const hasSynchronous = standbys.some(({ isSynchronous }) => isSynchronous)
  if (synchronousNames !== '' && !hasSynchronous) {
    const detail = 'synchronous_standby_names is set, but no such standby is connected, so writes wait'
    return { check, state: 'bad', detail, remedy: 'start the standby, or remove it from the setting' }
  }
  if (standbys.length === 0) {
    const detail = "no standby is connected: acknowledged writes are only on the server's disk"
    return { check, state: 'note', detail }
  }
  const detail = standbys.map(describeStandby).join('; ')
  if (!hasSynchronous) {
    const harm = 'none is synchronous, so a failover may lose the last acknowledged writes'
    const remedy = 'add a standby to synchronous_standby_names'
    return { check, state: 'note', detail: `${detail}; ${harm}`, remedy }
  }
  const isBehind = standbys.some(
    ({ bytesBehind, secondsBehind }) => bytesBehind > mostBytes || secondsBehind > mostSeconds,
  )
  return { check, state: isBehind ? 'note' : 'ok', detail }
}

function describeStandby({ name, isSynchronous, bytesBehind, secondsBehind }: Standby): string {
  const kind = isSynchronous ? 'synchronous' : 'asynchronous'
  return `${name || 'a standby'} ${kind}, ${bytesBehind} bytes and ${secondsBehind.toFixed(1)} s behind`
}
