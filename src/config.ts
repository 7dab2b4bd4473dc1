import { Refusal } from './domain/errors'
import { type Limits, perMinute, type Rate, unlimited } from './domain/limits'

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
    faultOf: (value) =>
      /^\d{1,5}$/.test(value) && Number(value) <= 65_535 ? null : 'must be a port from 0 to 65535',
  },
  readsPerMinute: {
    flag: '--reads-per-minute',
    argument: '<n>',
    variable: 'ANTEROOM_READS_PER_MINUTE',
    meaning: 'what a partner may read in a minute, or off; 30000 unless given',
    faultOf: limitFault,
  },
  bookingsPerMinute: {
    flag: '--bookings-per-minute',
    argument: '<n>',
    variable: 'ANTEROOM_BOOKINGS_PER_MINUTE',
    meaning: 'what a partner may submit in a minute, or off; 600 unless given',
    faultOf: limitFault,
  },
  failedAuthenticationsPerMinute: {
    flag: '--failed-authentications-per-minute',
    argument: '<n>',
    variable: 'ANTEROOM_FAILED_AUTHENTICATIONS_PER_MINUTE',
    meaning: 'tokens from one address that are refused with 401 in a minute, or off; 120 unless given',
    faultOf: limitFault,
  },
  noDocs: {
    flag: '--no-docs',
    variable: 'ANTEROOM_NO_DOCS',
    meaning: 'serve neither /docs nor /openapi.json',
    faultOf: (value) => (/^(true|false)$/.test(value) ? null : 'must be true or false'),
  },
} as const satisfies Record<string, Setting>

/** The one setting that has no flag: words of a command can be read by every process of the machine. */
const masterKeyVariable = 'ANTEROOM_MASTER_KEY'

export type SettingName = keyof typeof settings

/** Where the master key is: in a file, or given in base64 by the environment. */
export type MasterKeySource = { readonly file: string } | { readonly base64: string }

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
  readonly limits: Limits
  readonly noDocs: boolean
}

/** What the service holds its callers to unless it is set otherwise. */
const usualLimits: Limits = {
  ...unlimited,
  reads: perMinute(30_000),
  bookings: perMinute(600),
  failedAuthentications: perMinute(120),
}

type Environment = Readonly<Record<string, string | undefined>>
/** What is set, by the flags of a command for one. */
export type Flags = Readonly<Partial<Record<SettingName, string | undefined>>>

/** Where the data is. Flags come before the environment. @throws Refusal settings_invalid with every fault */
export function readStorageConfig(flags: Flags, environment: Environment = process.env): StorageConfig {
  // A command may have flags of its own that are called as a setting of serve is.
  const { database, masterKeyFile, zones } = flags
  return toStorageConfig(
    environment,
    readSettings(environment, { database, masterKeyFile, zones }, ['database']),
  )
}

/** The whole of serve's settings. @throws Refusal settings_invalid with every fault, a line each */
export function readServerConfig(flags: Flags, environment: Environment = process.env): ServerConfig {
  const values = readSettings(environment, flags, ['database', 'baseUrl'])
  return Object.freeze({
    ...toStorageConfig(environment, values),
    baseUrl: (values.baseUrl as string).replace(/\/+$/, ''),
    host: values.host ?? '127.0.0.1',
    port: Number(values.port ?? 8080),
    limits: limitsFrom(values, usualLimits),
    noDocs: values.noDocs === 'true',
  })
}

/** What sets limits. */
export type LimitFlags = Pick<
  Flags,
  'readsPerMinute' | 'bookingsPerMinute' | 'failedAuthenticationsPerMinute'
>

/** The limits that are set, and of all others what they are without being set. */
export function limitsFrom(values: LimitFlags, others: Limits): Limits {
  const rate = (value: string | undefined, unlessGiven: Rate | null) => {
    if (value === undefined) return unlessGiven
    return value === 'off' ? null : perMinute(Number(value))
  }
  return Object.freeze({
    ...others,
    reads: rate(values.readsPerMinute, others.reads),
    bookings: rate(values.bookingsPerMinute, others.bookings),
    failedAuthentications: rate(values.failedAuthenticationsPerMinute, others.failedAuthentications),
  })
}

function readSettings(environment: Environment, flags: Flags, required: readonly SettingName[]): Flags {
  const values: Partial<Record<SettingName, string>> = {}
  const faults: string[] = []
  for (const [name, setting] of Object.entries(settings) as [SettingName, Setting][]) {
    const value = flags[name] ?? environment[setting.variable]
    const told = flags[name] === undefined ? setting.variable : setting.flag
    if (value === undefined) {
      if (required.includes(name)) faults.push(`${setting.variable} or ${setting.flag}: is required`)
      continue
    }
    const fault = setting.faultOf(value)
    if (fault) faults.push(`${told}: ${fault}`)
    values[name] = value
  }
  const known = [masterKeyVariable, ...Object.values(settings).map(({ variable }) => variable)]
  for (const name of Object.keys(environment)) {
    if (name.startsWith('ANTEROOM_') && !known.includes(name)) faults.push(`${name}: is no setting`)
  }
  if (environment[masterKeyVariable] !== undefined && values.masterKeyFile !== undefined) {
    faults.push(`${masterKeyVariable}: is given and a master key file too`)
  }
  if (faults.length > 0) throw new Refusal('settings_invalid', faults.join('\n'))
  return values
}

function toStorageConfig(environment: Environment, values: Flags): StorageConfig {
  const database = values.database as string
  const base64 = environment[masterKeyVariable]
  const masterKey = base64 === undefined ? { file: values.masterKeyFile ?? `${database}.key` } : { base64 }
  return Object.freeze({ database, masterKey, zoneFolder: values.zones })
}

function notEmpty(value: string): string | null {
  return value === '' ? 'must not be empty' : null
}

/** What is wrong with a limit; null if nothing. */
export function limitFault(value: string): string | null {
  return /^([1-9]\d{0,8}|off)$/.test(value) ? null : 'must be a whole number from 1 to 999999999, or off'
}

/** What is wrong with a public address; null if nothing. */
export function webAddressFault(value: string): string | null {
  const url = URL.canParse(value) ? new URL(value) : null
  const isAddress = url && /^https?:$/.test(url.protocol) && !/[?#]/.test(value) && !url.username
  return isAddress ? null : 'must be an http or https address without a query'
}
