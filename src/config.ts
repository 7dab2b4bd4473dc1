import { type CertificateFiles, isDatabaseAddress } from './domain/addresses'
import { Refusal } from './domain/errors'
import { type Limits, perMinute } from './domain/limits'
import type { DatabaseLogin, DatabaseSetting } from './domain/ports/database'
import type { ServerOptions } from './serving'
import {
  credentialsVariable,
  type Environment,
  masterKeyVariable,
  missingKeyFaults,
  overruledLines,
  passwordFaults,
  readSettings,
} from './setting-sources'
import { Fault, type Flags, settings, type Values, valuesOf } from './settings'

export type { Flags } from './settings'

/** The name of our credential of systemd. */
const credentialName = 'anteroom-master-key'

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

/** The settings of `anteroom serve`. */
export interface ServerConfig extends StorageConfig, ServerOptions {
  readonly baseUrl: string
  /** Certificate and key files; null for plain HTTP. */
  readonly tls: CertificateFiles | null
  readonly limits: Limits
  /** Which requests the log has a line for: all, or those with status 400 and above. */
  readonly logRequests: 'all' | 'errors'
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
    const parsed = settings.database.parse(database)
    return parsed instanceof Fault ? [`${flag}: ${parsed.why}`] : passwordFaults(flag, database)
  })
  faults.push(...missingKeyFaults(environment, { ...values, database: from }))
  if (faults.length > 0) throw new Refusal('settings_invalid', faults.join('\n'))
  return Object.freeze({
    from: databaseSetting(environment, from),
    to: databaseSetting(environment, to),
    masterKey: masterKeySource(environment, values, from),
  })
}

/** The age in ms from which the last backup is too old; null for none. @throws Refusal settings_invalid with every fault */
export function readBackupMaxAge(flags: Flags, environment: Environment = process.env): number | null {
  return valuesOf(readSettings(environment, flags, [])).backupMaxAge ?? null
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
  const isFile = values.database !== undefined && !isDatabaseAddress(values.database)
  return masterKeySource(environment, values, isFile ? values.database : database)
}

/** The whole of serve's settings. @throws Refusal settings_invalid with every fault, a line each */
export function readServerConfig(flags: Flags, environment: Environment = process.env): ServerConfig {
  const given = readSettings(environment, flags, ['database', 'baseUrl'])
  const values = valuesOf(given)
  return Object.freeze({
    ...toStorageConfig(environment, given),
    baseUrl: values.baseUrl as string,
    host: values.host,
    port: values.port,
    metricsPort: values.metricsPort ?? null,
    tls: tlsFrom(environment, given),
    proxies: values.behindProxy ?? null,
    limits: limitsOf(values),
    logRequests: values.logRequests,
    noDocs: values.noDocs,
    given,
    overruled: overruledLines(flags, environment),
  })
}

function tlsFrom(environment: Environment, { tlsCertificate, tlsKey }: Flags): CertificateFiles | null {
  if (tlsCertificate === undefined || tlsKey === undefined) return null
  return { certificate: tlsCertificate, key: tlsKey, isCredential: isCredential(environment, tlsKey) }
}

/** The settings that limit callers. */
export type LimitValues = Pick<
  Values,
  | 'nodes'
  | 'readsPerMinute'
  | 'bookingsPerMinute'
  | 'failedAuthenticationsPerMinute'
  | 'openRequests'
  | 'emailConflictsPerHour'
  | 'cacheMib'
>

const mebibyte = 1024 * 1024

export function limitsOf(values: LimitValues): Limits {
  const rate = (most: number | null) => (most === null ? null : perMinute(most))
  return Object.freeze({
    nodes: values.nodes,
    reads: rate(values.readsPerMinute),
    bookings: rate(values.bookingsPerMinute),
    failedAuthentications: rate(values.failedAuthenticationsPerMinute),
    openRequests: values.openRequests,
    emailConflicts: values.emailConflictsPerHour,
    cachedBytes: values.cacheMib * mebibyte,
  })
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
