import type { Finding } from '../../../src/domain/ports/maintenance'
import type { Connection } from '../client/connection'
import { DatabaseFailure, unwrapped } from '../client/failure'
import type { OnConnection } from '../client/pool'
import { type ClockReading, clockRemedy, describeDifference, isApart, readClock } from './clock'

export async function serverFindings(on: OnConnection): Promise<Finding[]> {
  const checks = {
    server: findVersion,
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
    const detail = isDamaged ? 'the data is damaged; restore a backup' : 'it could not be checked'
    return { check, state: 'bad', detail }
  }
}

function notPermitted(check: string, remedy?: string): Finding {
  const detail = 'it could not be checked: the role has no right to'
  return { check, state: 'note', detail, ...(remedy && { remedy }) }
}

async function findVersion(connection: Connection): Promise<Finding> {
  const [row] = await connection.run("SELECT current_setting('server_version')", [])
  return { check: 'server', state: 'ok', detail: `PostgreSQL ${row?.[0]}` }
}

async function findEncryption(connection: Connection): Promise<Finding> {
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

/** This machine's clock judges tokens and slots. The server's clock judges which nodes are running. */
async function findClock(connection: Connection): Promise<Finding> {
  const readings: ClockReading[] = []
  for (let time = 0; time < 5; time++) readings.push(await readClock(connection))
  // The fastest answer is the most exact.
  const best = readings.reduce((one, other) => (other.doubt < one.doubt ? other : one))
  const detail = describeDifference(best)
  if (!isApart(best)) return { check: 'clock', state: 'ok', detail }
  return { check: 'clock', state: 'bad', detail, remedy: clockRemedy }
}

const harms: readonly (readonly [name: string, value: string, harm: string])[] = [
  ['fsync', 'off', 'what was acknowledged may be lost, and all of the data, when the machine goes down'],
  ['full_page_writes', 'off', 'a page that was half written when the machine went down cannot be mended'],
  ['synchronous_commit', 'off', 'what was acknowledged may be lost when the server goes down'],
]

export async function findSettings(connection: Connection): Promise<Finding> {
  const names = [...harms.map(([name]) => name), 'synchronous_standby_names', 'data_checksums']
  const rows = await connection.run(
    `SELECT name, setting FROM pg_settings WHERE name IN ('${names.join("', '")}')`,
    [],
  )
  return judgeSettings(Object.fromEntries(rows))
}

export function judgeSettings(settings: Readonly<Record<string, string>>): Finding {
  const check = 'settings'
  const faults = harms.filter(([name, value]) => settings[name] === value)
  const found = faults.map(([name, value, harm]) => `${name} is ${value}: ${harm}`)
  const changed = faults.map(([name]) => name)
  if (settings.synchronous_commit === 'local' && settings.synchronous_standby_names !== '') {
    found.push('synchronous_commit is local: no standby is waited for')
    changed.push('synchronous_commit')
  }
  if (found.length > 0) {
    const remedy = `turn ${changed.join(', ')} on, for the server, the database and the role`
    return { check, state: 'bad', detail: found.join('; '), remedy }
  }
  if (settings.data_checksums === 'on') return { check, state: 'ok', detail: 'as they should be' }
  const detail =
    'as they should be, without data checksums: a disk that gives back other bytes is not noticed'
  return { check, state: 'note', detail, remedy: 'stop the server, run pg_checksums --enable' }
}

export interface Standby {
  readonly name: string
  readonly isSynchronous: boolean
  /** Write-ahead log that is not on the standby's disk yet. */
  readonly bytesBehind: number
  /** 0 while nothing is written. */
  readonly secondsBehind: number
}

/** A standby with a larger lag counts as behind. */
const [mostBytes, mostSeconds] = [64 * 1024 * 1024, 30]

async function findReplication(connection: Connection): Promise<Finding> {
  const rows = await connection.run(
    `SELECT application_name, sync_state IN ('sync', 'quorum'), pg_wal_lsn_diff(pg_current_wal_lsn(), flush_lsn)::float8,
       coalesce(extract(epoch FROM replay_lag), 0)::float8, state
     FROM pg_stat_replication WHERE state IS DISTINCT FROM 'backup' ORDER BY 1`,
    [],
  )
  if (rows.some((row) => row[4] === null))
    return notPermitted('replication', 'have an administrator grant pg_monitor to the role')
  const [setting] = await connection.run("SELECT current_setting('synchronous_standby_names')", [])
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
    const detail = 'synchronous_standby_names is set, and no such standby is connected: writes wait for one'
    return { check, state: 'bad', detail, remedy: 'start the standby, or take it out of the setting' }
  }
  if (standbys.length === 0) {
    const detail =
      "no standby that the server tells of: what was acknowledged is as safe as the server's disk"
    return { check, state: 'note', detail }
  }
  const detail = standbys.map(describeStandby).join('; ')
  if (!hasSynchronous) {
    const harm = 'none is synchronous: a failover may lose what was acknowledged last'
    const remedy = 'name a standby in synchronous_standby_names'
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
