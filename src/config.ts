import { type CertificateFiles, isDatabaseAddress, parseDatabaseAddress } from './domain/addresses'
import { Refusal } from './domain/errors'
import { type Limits, noRates, perHour, perMinute } from './domain/limits'
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

export { operatorVariable } from './setting-sources'
export type { Flags } from './settings'

const credentialName = 'anteroom-master-key'

export type MasterKeySource =
  | { readonly file: string }
  | { readonly base64: string }
  | { readonly descriptor: number }
  | { readonly credential: string }

export interface StorageConfig extends DatabaseSetting {
  readonly masterKey: MasterKeySource
  readonly zoneFolder: string | undefined
}

export interface ServerConfig extends StorageConfig, ServerOptions {
  readonly baseUrl: string
  readonly tls: CertificateFiles | null
  readonly limits: Limits
  /** `errors` logs only responses with status 400 and above. */
  readonly logRequests: 'all' | 'errors'
  readonly given: Flags
  readonly overruled: readonly string[]
}

/** Variables that make Bun run other code, open a debugger or write files before this program starts. */
const runtimeVariable = /^BUN_(OPTIONS|INSPECT\w*|JSC_\w+|BYTECODE_\w+)$/

/** @throws Refusal settings_invalid if a variable that changes how Bun runs is set */
export function requireOwnRuntime(environment: Environment = process.env): void {
  const faults = Object.keys(environment)
    .filter((name) => environment[name] && runtimeVariable.test(name))
    .map((name) => `${name}: changes how Bun runs this program`)
  if (faults.length > 0) throw new Refusal('settings_invalid', faults.join('\n'), { action: 'unset it' })
}

/** @throws Refusal settings_invalid, listing every fault */
export function readStorageConfig(flags: Flags, environment: Environment = process.env): StorageConfig {
  // Removes the flags of the command set-rates. They have the names of settings, but apply to one partner.
  const settings = Object.fromEntries(Object.entries(flags).filter(([name]) => !(name in noRates)))
  return toStorageConfig(environment, readSettings(environment, settings, ['database']))
}

export interface CopyFlags extends Flags {
  readonly from: string
  readonly to: string
}

/** The default key file is `<from>.key`. @throws Refusal settings_invalid, listing every fault */
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

/** @throws Refusal settings_invalid, listing every fault */
export function readValues(flags: Flags, environment: Environment = process.env): Values {
  return valuesOf(readSettings(environment, flags, []))
}

/** Returns a null `setting` if no database is set. @throws Refusal settings_invalid, listing every fault */
export function readOptionalStorage(flags: Flags, environment: Environment = process.env) {
  const { database, zones } = readSettings(environment, flags, [])
  const setting = database === undefined ? null : databaseSetting(environment, database)
  return { setting, zoneFolder: zones }
}

/**
 * The default key file is next to the database file of the settings. Without such a file, it is next to `database`.
 * @throws Refusal settings_invalid, listing every fault
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

/** @throws Refusal settings_invalid, listing every fault, one per line */
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

const mebibyte = 1024 * 1024

export function limitsOf(values: Values): Limits {
  const rate = (most: number | null) => (most === null ? null : perMinute(most))
  return Object.freeze({
    nodes: values.nodes,
    reads: rate(values.readsPerMinute),
    bookings: rate(values.bookingsPerMinute),
    intakes: values.intakesPerHour === null ? null : perHour(values.intakesPerHour),
    failedAuthentications: rate(values.failedAuthenticationsPerMinute),
    openRequests: values.openRequests,
    openIntakes: values.openIntakes,
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
  if (!isDatabaseAddress(database)) return { database }
  const address = parseDatabaseAddress(database)
  const isPublic = typeof address === 'object' && address.sslMode === 'verify-full' && !address.sslRootCert
  const added = isPublic ? authorityVariables.filter((name) => environment[name]) : []
  if (added.length > 0) {
    const why = `${added.join(', ')}: would decide which database server is trusted`
    throw new Refusal('settings_invalid', why, { action: 'unset it, or add sslrootcert=FILE to the address' })
  }
  return { database, login: loginFrom(environment) }
}

/** Files and folders of certificates that Bun trusts besides its own. Without effect if the address has sslrootcert. */
const authorityVariables = ['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'SSL_CERT_DIR']

/** Environment variables of libpq (PostgreSQL §34.15). */
function loginFrom({ PGPASSWORD, PGPASSFILE, HOME, ...environment }: Environment): DatabaseLogin {
  const passFile = PGPASSFILE || (HOME ? `${HOME}/.pgpass` : null)
  const isPassFileCredential = passFile !== null && isCredential(environment, passFile)
  return { password: PGPASSWORD || null, passFile, isPassFileCredential }
}

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
