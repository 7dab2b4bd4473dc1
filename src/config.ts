import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'
import { Refusal } from './domain/errors'
import { type Limits, perMinute, usualCachedBytes } from './domain/limits'
import { type Networks, parseNetworks } from './domain/networks'
import { readSettingsLines } from './domain/settings-file'

/** One setting: its flag, its name in the environment, and what it must be. */
export interface Setting {
  readonly flag: string
  /** None for a flag that says all by being there, and is true or false in the environment. */
  readonly argument?: string
  readonly variable: string
  readonly meaning: string
  /** What is wrong with a value; null if nothing. */
  readonly faultOf: (value: string) => string | null
}

/** Everything that can be set, in the order in which it is documented. */
export const settings = {
  settings: {
    flag: '--settings',
    argument: '<file>',
    variable: 'ANTEROOM_SETTINGS',
    meaning: 'a file of ANTEROOM_NAME=value lines, for what neither a flag nor the environment sets',
    faultOf: notEmpty,
  },
  database: {
    flag: '--database',
    argument: '<file>',
    variable: 'ANTEROOM_DATABASE',
    meaning: 'the database, which init makes',
    faultOf: notEmpty,
  },
  masterKeyFile: {
    flag: '--master-key-file',
    argument: '<file>',
    variable: 'ANTEROOM_MASTER_KEY_FILE',
    meaning: 'the master key that init makes; the database file with .key behind it unless given',
    faultOf: notEmpty,
  },
  masterKeyFd: {
    flag: '--master-key-fd',
    argument: '<n>',
    variable: 'ANTEROOM_MASTER_KEY_FD',
    meaning: 'an open file descriptor to read the master key from instead, to its end',
    // 1 and 2 are where results and notices go.
    faultOf: (value) => (/^(0|[3-9]|[1-9]\d{1,3})$/.test(value) ? null : 'must be 0, or from 3 to 9999'),
  },
  zones: {
    flag: '--zones',
    argument: '<folder>',
    variable: 'ANTEROOM_ZONES',
    meaning: 'a zoneinfo folder to take time zones from instead of the built-in data',
    faultOf: notEmpty,
  },
  baseUrl: {
    flag: '--base-url',
    argument: '<url>',
    variable: 'ANTEROOM_BASE_URL',
    meaning: 'the public address, which links in answers begin with',
    faultOf: webAddressFault,
  },
  host: {
    flag: '--host',
    argument: '<host>',
    variable: 'ANTEROOM_HOST',
    meaning: 'the address to listen on; 127.0.0.1 unless given',
    faultOf: notEmpty,
  },
  port: {
    flag: '--port',
    argument: '<n>',
    variable: 'ANTEROOM_PORT',
    meaning: 'the port to listen on; 8080 unless given, 0 for a free one',
    faultOf: portFault,
  },
  metricsPort: {
    flag: '--metrics-port',
    argument: '<n>',
    variable: 'ANTEROOM_METRICS_PORT',
    meaning: 'the port of 127.0.0.1 to tell Prometheus on how it does, 0 for a free one; none unless given',
    faultOf: portFault,
  },
  tlsCertificate: {
    flag: '--tls-certificate',
    argument: '<file>',
    variable: 'ANTEROOM_TLS_CERTIFICATE',
    meaning: 'the certificate to speak HTTPS with, in PEM, the chain behind it; read again at SIGHUP',
    faultOf: notEmpty,
  },
  tlsKey: {
    flag: '--tls-key',
    argument: '<file>',
    variable: 'ANTEROOM_TLS_KEY',
    meaning: 'the private key of the certificate, in PEM, which its owner alone can read',
    faultOf: notEmpty,
  },
  behindProxy: {
    flag: '--behind-proxy',
    argument: '<networks>',
    variable: 'ANTEROOM_BEHIND_PROXY',
    meaning: 'the addresses or networks (CIDR), with commas between, of the proxies that do HTTPS for it',
    faultOf: (value) => {
      const networks = parseNetworks(value)
      return typeof networks === 'string' ? networks : null
    },
  },
  readsPerMinute: {
    flag: '--reads-per-minute',
    argument: '<n>',
    variable: 'ANTEROOM_READS_PER_MINUTE',
    meaning: 'what a partner may read in a minute, or off; 30000 unless given',
    faultOf: capFault,
  },
  bookingsPerMinute: {
    flag: '--bookings-per-minute',
    argument: '<n>',
    variable: 'ANTEROOM_BOOKINGS_PER_MINUTE',
    meaning: 'what a partner may submit in a minute, or off; 600 unless given',
    faultOf: capFault,
  },
  failedAuthenticationsPerMinute: {
    flag: '--failed-authentications-per-minute',
    argument: '<n>',
    variable: 'ANTEROOM_FAILED_AUTHENTICATIONS_PER_MINUTE',
    meaning: 'tokens from one address that are refused with 401 in a minute, or off; 120 unless given',
    faultOf: capFault,
  },
  noDocs: {
    flag: '--no-docs',
    variable: 'ANTEROOM_NO_DOCS',
    meaning: 'serve neither /docs nor /openapi.json',
    faultOf: (value) => (/^(true|false)$/.test(value) ? null : 'must be true or false'),
  },
  openRequests: {
    flag: '--open-requests',
    argument: '<n>',
    variable: 'ANTEROOM_OPEN_REQUESTS',
    meaning: 'the open requests with a slot to come that a member may hold; 10 unless given, or off',
    faultOf: capFault,
  },
  emailConflictsPerHour: {
    flag: '--email-conflicts-per-hour',
    argument: '<n>',
    variable: 'ANTEROOM_EMAIL_CONFLICTS_PER_HOUR',
    meaning: 'the addresses of different members that a partner may send in an hour; 20 unless given, or off',
    faultOf: capFault,
  },
  cacheMib: {
    flag: '--cache-mib',
    argument: '<n>',
    variable: 'ANTEROOM_CACHE_MIB',
    meaning: 'the memory for pages of search that are remembered, in MiB, 0 for none; 128 unless given',
    faultOf: (value) => (/^(0|[1-9]\d{0,5})$/.test(value) ? null : 'must be a whole number from 0 to 999999'),
  },
  backupMaxAge: {
    flag: '--backup-max-age',
    argument: '<age>',
    variable: 'ANTEROOM_BACKUP_MAX_AGE',
    meaning: 'the age from which the last backup is too old, as 36h or 2d; any unless given',
    faultOf: (value) => (/^[1-9]\d{0,3}[hd]$/.test(value) ? null : 'must be hours or days, as 36h or 2d'),
  },
} as const satisfies Record<string, Setting>

/** What serve can be told. */
export const serverSettings = (Object.keys(settings) as SettingName[]).filter(
  (name) => name !== 'backupMaxAge',
)

/** The one setting that has no flag: words of a command can be read by every process of the machine. */
const masterKeyVariable = 'ANTEROOM_MASTER_KEY'

export type SettingName = keyof typeof settings

/** Where systemd puts a service's credentials (systemd.exec(5)), and the name of ours. */
const [credentialsVariable, credentialName] = ['CREDENTIALS_DIRECTORY', 'anteroom-master-key']

/** Where the master key is: in a file, in base64 in the environment, behind a file descriptor, or systemd's to keep. */
export type MasterKeySource =
  | { readonly file: string }
  | { readonly base64: string }
  | { readonly descriptor: number }
  | { readonly credential: string }

/** What every command that opens the database needs. */
export interface StorageConfig {
  readonly database: string
  readonly masterKey: MasterKeySource
  readonly zoneFolder: string | undefined
}

/** What serve needs. */
export interface ServerConfig extends StorageConfig {
  readonly baseUrl: string
  readonly host: string
  readonly port: number
  /** Of the listener for metrics; null for none. */
  readonly metricsPort: number | null
  /** The files to speak HTTPS with; null for plain HTTP. */
  readonly tls: TlsFiles | null
  /** The proxies that do HTTPS for it; null for none. */
  readonly behindProxy: Networks | null
  readonly limits: Limits
  readonly noDocs: boolean
  /** What each setting is set to, as it was given. */
  readonly given: Flags
}

/** Where a certificate and its key are. */
export interface TlsFiles {
  readonly certificate: string
  readonly key: string
  /** Whether systemd passes on the key, and so decides who can read it. */
  readonly isCredential: boolean
}

/** What a server that runs takes from its settings when it reads them again. */
export const reloadable: readonly SettingName[] = [
  'readsPerMinute',
  'bookingsPerMinute',
  'failedAuthenticationsPerMinute',
  'openRequests',
  'emailConflictsPerHour',
  'cacheMib',
  'tlsCertificate',
  'tlsKey',
]

/**
 * What the runtime itself obeys before the first line of ours: code to run first, a debugger to open, files to write.
 * An installer sets others of its names, which do nothing here.
 */
const runtimeVariable = /^BUN_(OPTIONS|INSPECT\w*|JSC_\w+|BYTECODE_\w+)$/

type Environment = Readonly<Record<string, string | undefined>>
/** What is set, by the flags of a command for one. */
export type Flags = Readonly<Partial<Record<SettingName, string | undefined>>>

/** @throws Refusal settings_invalid where the environment has the runtime do other things than this program */
export function requireOwnRuntime(environment: Environment = process.env): void {
  const faults = Object.keys(environment)
    .filter((name) => environment[name] && runtimeVariable.test(name))
    .map((name) => `${name}: is obeyed by the runtime below this program; start it without`)
  if (faults.length > 0) throw new Refusal('settings_invalid', faults.join('\n'))
}

/** Where the data is. Flags come before the environment. @throws Refusal settings_invalid with every fault */
export function readStorageConfig(flags: Flags, environment: Environment = process.env): StorageConfig {
  // What set-rates is given for one partner is no setting, though it is called like one.
  const { readsPerMinute: _, bookingsPerMinute: __, ...settings } = flags
  return toStorageConfig(environment, readSettings(environment, settings, ['database']))
}

const hourMillis = 60 * 60_000

/** The age in ms from which the last backup is too old; null for none. @throws Refusal settings_invalid with every fault */
export function readBackupMaxAge(flags: Flags, environment: Environment = process.env): number | null {
  const { backupMaxAge } = readSettings(environment, flags, [])
  if (backupMaxAge === undefined) return null
  const hours = backupMaxAge.endsWith('d') ? 24 : 1
  return Number(backupMaxAge.slice(0, -1)) * hours * hourMillis
}

/**
 * Where the database is, and the zone data, for a command that can do without either.
 *
 * @throws Refusal settings_invalid with every fault
 */
export function readOptionalStorage(flags: Flags, environment: Environment = process.env) {
  const { database, zones } = readSettings(environment, flags, [])
  return { database, zoneFolder: zones }
}

/**
 * Where the master key is, for a command on a database that is yet to be made: beside it, or beside the one that is set.
 *
 * @throws Refusal settings_invalid with every fault
 */
export function readMasterKeySource(
  flags: Flags,
  database: string,
  environment: Environment = process.env,
): MasterKeySource {
  const values = readSettings(environment, flags, [])
  return masterKeySource(environment, values, values.database ?? database)
}

/** The whole of serve's settings. @throws Refusal settings_invalid with every fault, a line each */
export function readServerConfig(flags: Flags, environment: Environment = process.env): ServerConfig {
  const values = readSettings(environment, flags, ['database', 'baseUrl'])
  return Object.freeze({
    ...toStorageConfig(environment, values),
    baseUrl: (values.baseUrl as string).replace(/\/+$/, ''),
    host: values.host ?? '127.0.0.1',
    port: Number(values.port ?? 8080),
    metricsPort: values.metricsPort === undefined ? null : Number(values.metricsPort),
    tls: tlsFrom(environment, values),
    behindProxy: networksFrom(values.behindProxy),
    limits: limitsFrom({ ...usualLimits, ...values }),
    noDocs: values.noDocs === 'true',
    given: values,
  })
}

function tlsFrom(environment: Environment, { tlsCertificate, tlsKey }: Flags): TlsFiles | null {
  if (tlsCertificate === undefined || tlsKey === undefined) return null
  const credentials = environment[credentialsVariable]
  const isCredential = Boolean(credentials && tlsKey.startsWith(`${credentials}/`))
  return { certificate: tlsCertificate, key: tlsKey, isCredential }
}

function networksFrom(value: string | undefined): Networks | null {
  const networks = value === undefined ? null : parseNetworks(value)
  return typeof networks === 'string' ? null : networks
}

/** What limits are set to: a number, off, or nothing. */
export type LimitFlags = Pick<
  Flags,
  | 'readsPerMinute'
  | 'bookingsPerMinute'
  | 'failedAuthenticationsPerMinute'
  | 'openRequests'
  | 'emailConflictsPerHour'
  | 'cacheMib'
>

/** The limits of serve that is not told otherwise. */
const usualLimits: LimitFlags = {
  readsPerMinute: '30000',
  bookingsPerMinute: '600',
  failedAuthenticationsPerMinute: '120',
  openRequests: '10',
  emailConflictsPerHour: '20',
}

const mebibyte = 1024 * 1024

/** The limits that are given; null for the others, and for off. */
export function limitsFrom(given: LimitFlags): Limits {
  const most = (limit = 'off') => (limit === 'off' ? null : Number(limit))
  const rate = (limit = 'off') => (limit === 'off' ? null : perMinute(Number(limit)))
  return Object.freeze({
    reads: rate(given.readsPerMinute),
    bookings: rate(given.bookingsPerMinute),
    failedAuthentications: rate(given.failedAuthenticationsPerMinute),
    openRequests: most(given.openRequests),
    emailConflicts: most(given.emailConflictsPerHour),
    cachedBytes: given.cacheMib === undefined ? usualCachedBytes : Number(given.cacheMib) * mebibyte,
  })
}

/** What a setting is set to, and how whoever set it is told of a fault. */
interface Given {
  readonly value: string
  readonly told: string
}

function readSettings(environment: Environment, flags: Flags, required: readonly SettingName[]): Flags {
  const values: Partial<Record<SettingName, string>> = {}
  const faults: string[] = []
  const inFile = readSettingsFile(flags.settings ?? environment[settings.settings.variable], faults)
  for (const [name, setting] of Object.entries(settings) as [SettingName, Setting][]) {
    const given = givenFor(name, flags, environment) ?? inFile.get(setting.variable)
    if (given === undefined) {
      if (required.includes(name)) faults.push(`${setting.variable} or ${setting.flag}: is required`)
      continue
    }
    const fault = setting.faultOf(given.value)
    if (fault) faults.push(`${given.told}: ${fault}`)
    values[name] = given.value
  }
  for (const name of Object.keys(environment)) {
    if (name.startsWith('ANTEROOM_') && !isVariable(name)) faults.push(`${name}: is no setting`)
  }
  faults.push(...masterKeyFaults(environment, flags, inFile), ...tlsFaults(values))
  if (faults.length > 0) throw new Refusal('settings_invalid', faults.join('\n'))
  return values
}

/** What a flag or else the environment sets. */
function givenFor(name: SettingName, flags: Flags, environment: Environment): Given | undefined {
  const { flag, variable } = settings[name]
  const said = flags[name]
  if (said !== undefined) return { value: said, told: flag }
  const value = environment[variable]
  return value === undefined ? undefined : { value, told: variable }
}

function isVariable(name: string): boolean {
  return name === masterKeyVariable || Object.values(settings).some(({ variable }) => variable === name)
}

/** What a settings file sets, by variable. @param faults takes what is wrong with it */
function readSettingsFile(path: string | undefined, faults: string[]): ReadonlyMap<string, Given> {
  const found = new Map<string, Given>()
  if (!path) return found
  const text = readSettingsText(path, faults)
  const { lines, faults: inText } = readSettingsLines(text)
  faults.push(...inText.map((fault) => `${path} ${fault}`))
  for (const { line, name, value } of lines) {
    const told = `${path} line ${line}: ${name}`
    if (name === masterKeyVariable) {
      faults.push(`${told}: is not taken from a file; name a file of its own by ANTEROOM_MASTER_KEY_FILE`)
    } else if (name === settings.settings.variable || !isVariable(name)) faults.push(`${told}: is no setting`)
    else found.set(name, { value, told })
  }
  return found
}

/** More than all settings take, with what is said of each. */
const mostSettingsBytes = 65_536

/** Empty where it cannot be had: a server that runs reads it too, and must not wait for a pipe's other end, nor grow. */
function readSettingsText(path: string, faults: string[]): string {
  let file: number | undefined
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    const found = fstatSync(file)
    if (found.isFile() && found.size <= mostSettingsBytes) return readFileSync(file, 'utf8')
    const why = found.isFile() ? 'is too large to be one' : 'is not a file'
    faults.push(`the settings file ${path} ${why}`)
  } catch (error) {
    const isThere = (error as { code?: string }).code !== 'ENOENT'
    faults.push(
      isThere ? `the settings file ${path} may not be read` : `there is no settings file at ${path}`,
    )
  } finally {
    if (file !== undefined) closeSync(file)
  }
  return ''
}

function masterKeyFaults(
  environment: Environment,
  flags: Flags,
  inFile: ReadonlyMap<string, Given>,
): string[] {
  const names = ['masterKeyFile', 'masterKeyFd'] as const
  const given = names.flatMap(
    (name) => givenFor(name, flags, environment) ?? inFile.get(settings[name].variable) ?? [],
  )
  const told = given.map((each) => each.told)
  if (environment[masterKeyVariable] !== undefined) told.unshift(masterKeyVariable)
  return told.length > 1 ? [`${told.join(' and ')}: give the master key in one way`] : []
}

function tlsFaults({ tlsCertificate, tlsKey }: Flags): string[] {
  if ((tlsCertificate === undefined) === (tlsKey === undefined)) return []
  const missing = settings[tlsKey === undefined ? 'tlsKey' : 'tlsCertificate']
  return [`${missing.variable} or ${missing.flag}: is required, since a certificate and its key go together`]
}

function toStorageConfig(environment: Environment, values: Flags): StorageConfig {
  const database = values.database as string
  const masterKey = masterKeySource(environment, values, database)
  return Object.freeze({ database, masterKey, zoneFolder: values.zones })
}

function masterKeySource(environment: Environment, values: Flags, database: string): MasterKeySource {
  const { masterKeyFile: file, masterKeyFd: descriptor } = values
  const base64 = environment[masterKeyVariable]
  if (base64 !== undefined) return { base64 }
  if (descriptor !== undefined) return { descriptor: Number(descriptor) }
  const credentials = environment[credentialsVariable]
  if (file === undefined && credentials) return { credential: `${credentials}/${credentialName}` }
  return { file: file ?? `${database}.key` }
}

function portFault(value: string): string | null {
  return /^\d{1,5}$/.test(value) && Number(value) <= 65_535 ? null : 'must be a port from 0 to 65535'
}

function notEmpty(value: string): string | null {
  return value === '' ? 'must not be empty' : null
}

/** What is wrong with a cap; null if nothing. */
export function capFault(value: string): string | null {
  return /^[1-9]\d{0,8}$/.test(value) || value === 'off' ? null : 'must be a whole number from 1 on, or off'
}

/** What is wrong with a public address; null if nothing. */
export function webAddressFault(value: string): string | null {
  const url = URL.canParse(value) ? new URL(value) : null
  const isAddress = url && /^https?:$/.test(url.protocol) && !/[?#]/.test(value) && !url.username
  return isAddress ? null : 'must be an http or https address without a query'
}
