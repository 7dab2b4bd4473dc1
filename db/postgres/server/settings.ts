import type { Finding } from '../../../src/domain/upkeep'
import type { Connection } from '../client/connection'

/** Settings as the server tells them; one that the role may not see is missing. */
export type ServerSettings = ReadonlyMap<string, string>

const names = [
  'fsync',
  'full_page_writes',
  'synchronous_commit',
  'synchronous_standby_names',
  'data_checksums',
  'log_error_verbosity',
  'log_destination',
  'log_parameter_max_length',
  'log_parameter_max_length_on_error',
  'log_statement',
  'log_duration',
  'log_min_duration_statement',
  'log_min_duration_sample',
  'log_transaction_sample_rate',
]

/** Reads back what the safety of data, and what stands in the server's log, depends on. */
export async function readServerSettings(connection: Connection): Promise<ServerSettings> {
  const list = `'${names.join("', '")}'`
  const rows = await connection.run(`SELECT name, setting FROM pg_settings WHERE name IN (${list})`, [])
  return new Map(rows.map(([name, setting]) => [name as string, setting as string]))
}

/** What each setting must not be, by the harm that it does. */
const harms: readonly (readonly [name: string, value: string, harm: string])[] = [
  ['fsync', 'off', 'what was acknowledged may be lost, and all of the data, when the machine goes down'],
  ['full_page_writes', 'off', 'a page that was half written when the machine went down cannot be mended'],
  ['synchronous_commit', 'off', 'what was acknowledged may be lost when the server goes down'],
]

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
  const missing = [...harms.map(([name]) => name), 'data_checksums'].filter((name) => !settings.has(name))
  if (missing.length > 0)
    return { check, state: 'note', detail: `${missing.join(', ')} could not be checked` }
  if (settings.get('data_checksums') === 'on') return { check, state: 'ok', detail: 'as they should be' }
  const detail =
    'as they should be, without data checksums: a disk that gives back other bytes is not noticed'
  return { check, state: 'note', detail, remedy: 'stop the server, run pg_checksums --enable' }
}

function isLocalOnly(settings: ServerSettings): boolean {
  return settings.get('synchronous_commit') === 'local' && settings.get('synchronous_standby_names') !== ''
}

/** Whether values of rows, or of statements, get into the server's log. */
export function logFinding(settings: ServerSettings): Finding {
  const check = 'server log'
  const wanted = [
    settings.get('log_error_verbosity') !== 'terse' && 'log_error_verbosity = terse',
    settings.get('log_parameter_max_length_on_error') !== '0' && 'log_parameter_max_length_on_error = 0',
    logsStatements(settings) &&
      settings.get('log_parameter_max_length') !== '0' &&
      'log_parameter_max_length = 0',
    // Both write details, and so rows, whatever the verbosity.
    /csvlog|jsonlog/.test(settings.get('log_destination') ?? '') &&
      'log_destination without csvlog and jsonlog',
  ].filter((each) => each !== false)
  if (wanted.length === 0) return { check, state: 'ok', detail: 'holds no values' }
  const detail = 'may hold values of rows: what is known of people is sealed in them, the rest is not'
  return { check, state: 'note', detail, remedy: `set ${wanted.join(', ')}` }
}

/** Whether any statement that does not fail gets into the log. */
function logsStatements(settings: ServerSettings): boolean {
  const isFrom = (name: string) => Number(settings.get(name)) >= 0
  return (
    !/^(none|ddl)$/.test(settings.get('log_statement') ?? '') ||
    settings.get('log_duration') !== 'off' ||
    settings.get('log_transaction_sample_rate') !== '0' ||
    isFrom('log_min_duration_statement') ||
    isFrom('log_min_duration_sample')
  )
}
