import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'
import { isDatabaseAddress, parseDatabaseAddress } from './domain/database-address'
import { Refusal } from './domain/errors'
import { type Limits, perMinute, usualCachedBytes } from './domain/limits'
import { type CertificateFiles, type Networks, parseNetworks } from './domain/networks'
import type { DatabaseLogin, DatabaseSetting } from './domain/ports/database'
import { readSettingsLines } from './domain/settings-file'
import { type Setting, type SettingName, settings } from './settings'

/** The one setting that has no flag: words of a command can be read by every process of the machine. */
const masterKeyVariable = 'ANTEROOM_MASTER_KEY'

/** Where systemd puts a service's credentials (systemd.exec(5)), and the name of ours. */
const [credentialsVariable, credentialName] = ['CREDENTIALS_DIRECTORY', 'anteroom-master-key']

/** Where the master key is: in a file, in base64 in the environment, behind a file descriptor, or systemd's to keep. */
export type MasterKeySource =
  | { readonly file: string }
  | { readonly base64: string }
  | { readonly descriptor: number }
  | { readonly credential: string }

/** What every command that opens the database needs. */
export interface StorageConfig extends DatabaseSetting {
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
  readonly tls: CertificateFiles | null
  /** The proxies that do HTTPS for it; null for none. */
  readonly behindProxy: Networks | null
  readonly limits: Limits
  /** Which requests the log has a line for: all, or those with status 400 and above. */
  readonly logRequests: 'all' | 'errors'
  readonly noDocs: boolean
  /** What each setting is set to, as it was given. */
  readonly given: Flags
  /** Lines of the settings file that a flag or the environment overrules, each as a notice. */
  readonly overruled: readonly string[]
}

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

/** Which database is copied where, as the words of a command tell it. */
export interface CopyFlags extends Flags {
  readonly from: string
  readonly to: string
}

/**
 * Where a database is and where it shall be copied, and its master key: beside it, unless it is told otherwise. Which database
 * is set for all other commands says nothing here.
 *
 * @throws Refusal settings_invalid with every fault
 */
export function readCopyConfig({ from, to, ...flags }: CopyFlags, environment: Environment = process.env) {
  const { database: _, ...values } = readSettings(environment, flags, [])
  const faults = Object.entries({ '--from': from, '--to': to }).flatMap(([flag, database]) => {
    const fault = settings.database.faultOf(database)
    return fault ? [`${flag}: ${fault}`] : passwordFaults(flag, database)
  })
  faults.push(...missingKeyFaults(environment, { ...values, database: from }))
  if (faults.length > 0) throw new Refusal('settings_invalid', faults.join('\n'))
  return Object.freeze({
    from: databaseSetting(environment, from),
    to: databaseSetting(environment, to),
    masterKey: masterKeySource(environment, values, from),
  })
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
  const setting = database === undefined ? null : databaseSetting(environment, database)
  return { setting, zoneFolder: zones }
}

/**
 * Where the master key is, for a command on a database that is yet to be made: beside it, or beside the file that is set.
 *
 * @throws Refusal settings_invalid with every fault
 */
export function readMasterKeySource(
  flags: Flags,
  database: string,
  environment: Environment = process.env,
): MasterKeySource {
  const values = readSettings(environment, flags, [])
  const isBeside = values.database !== undefined && !isDatabaseAddress(values.database)
  return masterKeySource(environment, values, isBeside ? values.database : database)
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
    logRequests: values.logRequests === 'errors' ? 'errors' : 'all',
    noDocs: values.noDocs === 'true',
    given: values,
    overruled: overruledLines(flags, environment),
  })
}

/** What a settings file sets otherwise than a flag or the environment, which come before it. */
function overruledLines(flags: Flags, environment: Environment): string[] {
  const inFile = readSettingsFile(flags.settings ?? environment[settings.settings.variable], [])
  return (Object.keys(settings) as SettingName[]).flatMap((name) => {
    const { flag, variable } = settings[name]
    const [line, given] = [inFile?.get(variable), givenFor(name, flags, environment)]
    if (!line || !given || line.value === given.value) return []
    const by = given.told === flag ? flag : 'the environment'
    return [`${line.told}: has no effect, since ${by} sets it otherwise`]
  })
}

function tlsFrom(environment: Environment, { tlsCertificate, tlsKey }: Flags): CertificateFiles | null {
  if (tlsCertificate === undefined || tlsKey === undefined) return null
  return { certificate: tlsCertificate, key: tlsKey, isCredential: isCredential(environment, tlsKey) }
}

function networksFrom(value: string | undefined): Networks | null {
  const networks = value === undefined ? null : parseNetworks(value)
  return typeof networks === 'string' ? null : networks
}

/** What limits are set to: a number, off, or nothing. */
export type LimitFlags = Pick<
  Flags,
  | 'nodes'
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
    nodes: Number(given.nodes ?? 1),
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
  // All that it would set would be missing.
  if (inFile === null) throw new Refusal('settings_invalid', faults.join('\n'))
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
  faults.push(...passwordFaults(settings.database.flag, flags.database, ' or ANTEROOM_DATABASE'))
  faults.push(...masterKeyFaults(environment, flags, inFile), ...tlsFaults(values))
  if (required.includes('database')) faults.push(...missingKeyFaults(environment, values))
  if (required.includes('baseUrl')) faults.push(...nodesFaults(values))
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

/** What a settings file sets, by variable; null where there is none to read. @param faults takes what is wrong with it */
function readSettingsFile(path: string | undefined, faults: string[]): ReadonlyMap<string, Given> | null {
  const found = new Map<string, Given>()
  if (!path) return found
  const text = readSettingsText(path, faults)
  if (text === null) return null
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

/**
 * Null where it cannot be had: a server that runs reads it too, and must not wait for a pipe's other end, nor grow.
 *
 * @param faults takes what is wrong with it
 */
function readSettingsText(path: string, faults: string[]): string | null {
  let file: number | undefined
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    const found = fstatSync(file)
    if (found.isFile() && found.size <= mostSettingsBytes) return readFileSync(file, 'utf8')
    const why = found.isFile() ? 'is too large to be one' : 'is not a file'
    faults.push(`the settings file ${path} ${why}`)
  } catch (error) {
    const isThere = (error as { code?: string }).code !== 'ENOENT'
    const unreadable = `the settings file ${path} may not be read by the user that this is run by`
    faults.push(isThere ? unreadable : `there is no settings file at ${path}`)
  } finally {
    if (file !== undefined) closeSync(file)
  }
  return null
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

/** Words of a command can be read by every process of the machine. */
function passwordFaults(flag: string, database = '', besides = ''): string[] {
  const address = isDatabaseAddress(database) ? parseDatabaseAddress(database) : null
  if (address === null || typeof address === 'string' || address.password === null) return []
  const ways = `PGPASSWORD, PGPASSFILE, ~/.pgpass${besides}`
  return [`${flag}: has a password, which every process can read there; give it by ${ways}`]
}

/** A key stands beside a file alone by itself. */
function missingKeyFaults(
  environment: Environment,
  { database = '', masterKeyFile, masterKeyFd }: Flags,
): string[] {
  const isGiven = masterKeyFile ?? masterKeyFd ?? environment[masterKeyVariable]
  if (!isDatabaseAddress(database) || isGiven !== undefined || environment[credentialsVariable]) return []
  const { variable, flag } = settings.masterKeyFile
  return [`${variable} or ${flag}: is required, since the database is not a file`]
}

function nodesFaults({ database = '', nodes = '1' }: Flags): string[] {
  if (isDatabaseAddress(database) || nodes === '1') return []
  const { variable, flag } = settings.nodes
  return [`${variable} or ${flag}: must be 1, since the database is a file, which one server alone can serve`]
}

function tlsFaults({ tlsCertificate, tlsKey }: Flags): string[] {
  if ((tlsCertificate === undefined) === (tlsKey === undefined)) return []
  const missing = settings[tlsKey === undefined ? 'tlsKey' : 'tlsCertificate']
  return [`${missing.variable} or ${missing.flag}: is required, since a certificate and its key go together`]
}

function toStorageConfig(environment: Environment, values: Flags): StorageConfig {
  const database = values.database as string
  const masterKey = masterKeySource(environment, values, database)
  return Object.freeze({ ...databaseSetting(environment, database), masterKey, zoneFolder: values.zones })
}

function databaseSetting(environment: Environment, database: string): DatabaseSetting {
  return isDatabaseAddress(database) ? { database, login: loginFrom(environment) } : { database }
}

/** As libpq takes it of the environment (PostgreSQL §34.15). */
function loginFrom({ PGPASSWORD, PGPASSFILE, HOME, ...environment }: Environment): DatabaseLogin {
  const passFile = PGPASSFILE || (HOME ? `${HOME}/.pgpass` : null)
  const isPassFileCredential = passFile !== null && isCredential(environment, passFile)
  return { password: PGPASSWORD || null, passFile, isPassFileCredential }
}

/** Whether a file is one of those that systemd hands over. */
function isCredential(environment: Environment, path: string): boolean {
  const credentials = environment[credentialsVariable]
  return Boolean(credentials && path.startsWith(`${credentials}/`))
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
