import type { Finding } from '../../../src/domain/upkeep'
import type { Connection } from '../client/connection'

/** Settings of the server by name. */
export type ServerSettings = ReadonlyMap<string, string>

/** For each setting the value that it must not have, and the harm that it does. */
const harms: readonly (readonly [name: string, value: string, harm: string])[] = [
  ['fsync', 'off', 'what was acknowledged may be lost, and all of the data, when the machine goes down'],
  ['full_page_writes', 'off', 'a page that was half written when the machine went down cannot be mended'],
  ['synchronous_commit', 'off', 'what was acknowledged may be lost when the server goes down'],
]

const names = [...harms.map(([name]) => name), 'synchronous_standby_names', 'data_checksums']

/** Reads the settings that durability depends on. */
export async function readServerSettings(connection: Connection): Promise<ServerSettings> {
  const list = `'${names.join("', '")}'`
  const rows = await connection.run(`SELECT name, setting FROM pg_settings WHERE name IN (${list})`, [])
  return new Map(rows.map(([name, setting]) => [name as string, setting as string]))
}

/** Whether what was acknowledged is safe with the settings of the server. */
export function settingsFinding(settings: ServerSettings): Finding {
  const check = 'settings'
  const wrong = harms.filter(([name, value]) => settings.get(name) === value)
  const local = isLocalOnly(settings) ? ['synchronous_commit is local: no standby is waited for'] : []
  const faults = [...wrong.map(([name, value, harm]) => `${name} is ${value}: ${harm}`), ...local]
  if (faults.length > 0) {
    const changed = [...wrong.map(([name]) => name), ...(local.length > 0 ? ['synchronous_commit'] : [])]
    const remedy = `turn ${changed.join(', ')} on, for the server, the database and the role`
    return { check, state: 'bad', detail: faults.join('; '), remedy }
  }
  if (settings.get('data_checksums') === 'on') return { check, state: 'ok', detail: 'as they should be' }
  const detail =
    'as they should be, without data checksums: a disk that gives back other bytes is not noticed'
  return { check, state: 'note', detail, remedy: 'stop the server, run pg_checksums --enable' }
}

function isLocalOnly(settings: ServerSettings): boolean {
  return settings.get('synchronous_commit') === 'local' && settings.get('synchronous_standby_names') !== ''
}

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
