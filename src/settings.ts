import { isDatabaseAddress, mistakenPathFault, parseDatabaseAddress, parseNetworks } from './domain/addresses'
import { hourMillis } from './scheduling/calendar'

/** Why a value is rejected, for example `must not be empty`. */
export class Fault {
  constructor(readonly why: string) {}
}

type Parse<Value> = (text: string) => Value | Fault

interface Details {
  /** The text used if none is given. `meaning` must state it too. */
  readonly byDefault?: string
  /** Whether a running server applies a new value when it reads its settings again. */
  readonly isReloaded?: true
}

export interface Setting<Value = unknown, More extends Details = Details> {
  readonly flag: string
  /** Null for a boolean flag, which is true or false in the environment. */
  readonly argument: string | null
  /** Name in the environment and in a settings file. */
  readonly variable: string
  readonly meaning: string
  readonly parse: Parse<Value>
  readonly details: More
}

function setting<Value, const More extends Details = object>(
  flag: string,
  argument: string | null,
  meaning: string,
  parse: Parse<Value>,
  details = {} as More,
): Setting<Value, More> {
  const variable = `ANTEROOM_${flag.slice('--'.length).toUpperCase().replaceAll('-', '_')}`
  return { flag, argument, variable, meaning, parse, details }
}

/** Every setting, in the order of the documentation. */
export const settings = {
  settings: setting(
    '--settings',
    '<file>',
    'a file of ANTEROOM_NAME=value lines, for what neither a flag nor the environment sets',
    text,
  ),
  database: setting(
    '--database',
    '<place>',
    'the database, which init makes: a file, or postgres://user@host/name',
    databasePlace,
  ),
  masterKeyFile: setting(
    '--master-key-file',
    '<file>',
    'the master key that init makes; the database file with .key behind it unless given',
    text,
  ),
  masterKeyFd: setting(
    '--master-key-fd',
    '<n>',
    'an open file descriptor to read the master key from instead, to its end',
    descriptor,
  ),
  zones: setting(
    '--zones',
    '<folder>',
    'a zoneinfo folder to take time zones from instead of the built-in data',
    text,
  ),
  baseUrl: setting(
    '--base-url',
    '<url>',
    'the public address, which links in answers begin with',
    webAddress,
  ),
  host: setting('--host', '<host>', 'the address to listen on; 127.0.0.1 unless given', text, {
    byDefault: '127.0.0.1',
  }),
  port: setting('--port', '<n>', 'the port to listen on; 8080 unless given, 0 for a free one', port, {
    byDefault: '8080',
  }),
  metricsPort: setting(
    '--metrics-port',
    '<n>',
    'the port of 127.0.0.1 to tell Prometheus on how it does, 0 for a free one; none unless given',
    port,
  ),
  tlsCertificate: setting(
    '--tls-certificate',
    '<file>',
    'the certificate to speak HTTPS with, in PEM, the chain behind it; read again at SIGHUP',
    text,
    { isReloaded: true },
  ),
  tlsKey: setting(
    '--tls-key',
    '<file>',
    'the private key of the certificate, in PEM, which its owner alone can read',
    text,
    { isReloaded: true },
  ),
  behindProxy: setting(
    '--behind-proxy',
    '<networks>',
    'the addresses or networks (CIDR), with commas between, of the proxies that do HTTPS for it',
    parseProxies,
  ),
  readsPerMinute: setting(
    '--reads-per-minute',
    '<n>',
    'what a partner may read in a minute, or off; 30000 unless given',
    cap,
    { byDefault: '30000', isReloaded: true },
  ),
  bookingsPerMinute: setting(
    '--bookings-per-minute',
    '<n>',
    'what a partner may submit in a minute, or off; 600 unless given',
    cap,
    { byDefault: '600', isReloaded: true },
  ),
  failedAuthenticationsPerMinute: setting(
    '--failed-authentications-per-minute',
    '<n>',
    'tokens from one address that are refused with 401 in a minute, or off; 120 unless given',
    cap,
    { byDefault: '120', isReloaded: true },
  ),
  nodes: setting(
    '--nodes',
    '<n>',
    'the nodes that share the callers: each holds them to its part of what they may in a minute; 1 unless given',
    wholeNumber(1, 64),
    { byDefault: '1', isReloaded: true },
  ),
  logRequests: setting(
    '--log-requests',
    '<which>',
    'which requests the log has a line for: all, or errors (status 400 and above); all unless given',
    oneOf('all', 'errors'),
    { byDefault: 'all' },
  ),
  noDocs: setting('--no-docs', null, 'serve neither /docs nor /openapi.json', trueOrFalse, {
    byDefault: 'false',
  }),
  openRequests: setting(
    '--open-requests',
    '<n>',
    'the open requests with a slot to come that a member may hold; 10 unless given, or off',
    cap,
    { byDefault: '10', isReloaded: true },
  ),
  emailConflictsPerHour: setting(
    '--email-conflicts-per-hour',
    '<n>',
    'the addresses of different members that a partner may send in an hour; 20 unless given, or off',
    cap,
    { byDefault: '20', isReloaded: true },
  ),
  cacheMib: setting(
    '--cache-mib',
    '<n>',
    'the memory for pages of search that are remembered, in MiB, 0 for none; 128 unless given',
    wholeNumber(0, 999_999),
    { byDefault: '128', isReloaded: true },
  ),
  backupMaxAge: setting(
    '--backup-max-age',
    '<age>',
    'the age from which the last backup is too old, as 36h or 2d; any unless given',
    age,
  ),
}

export type SettingName = keyof typeof settings

export const serverSettings = (Object.keys(settings) as SettingName[]).filter(
  (name) => name !== 'backupMaxAge',
)

/** Texts of settings, before they are parsed. */
export type Flags = Readonly<Partial<Record<SettingName, string | undefined>>>

/** Parsed settings; undefined for one that is not given and has no default. */
export type Values = {
  readonly [Name in SettingName]: (typeof settings)[Name] extends Setting<infer Value, infer More>
    ? Exclude<Value, Fault> | (More extends { readonly byDefault: string } ? never : undefined)
    : never
}

/** Parses settings. Call it only with texts that have no fault. */
export function valuesOf(given: Flags): Values {
  const values = Object.entries(settings).map(([name, { parse, details }]: [string, Setting]) => {
    const text = given[name as SettingName] ?? details.byDefault
    return [name, text === undefined ? undefined : parse(text)]
  })
  return Object.fromEntries(values)
}

function text(value: string): string | Fault {
  return value === '' ? new Fault('must not be empty') : value
}

function databasePlace(value: string): string | Fault {
  const fault = isDatabaseAddress(value) ? parseDatabaseAddress(value) : mistakenPathFault(value)
  return typeof fault === 'string' ? new Fault(fault) : text(value)
}

/** 1 and 2 are stdout and stderr. */
function descriptor(value: string): number | Fault {
  return /^(0|[3-9]|[1-9]\d{1,3})$/.test(value) ? Number(value) : new Fault('must be 0, or from 3 to 9999')
}

function port(value: string): number | Fault {
  const isPort = /^\d{1,5}$/.test(value) && Number(value) <= 65_535
  return isPort ? Number(value) : new Fault('must be a port from 0 to 65535')
}

function parseProxies(value: string) {
  const networks = parseNetworks(value)
  return typeof networks === 'string' ? new Fault(networks) : networks
}

function wholeNumber(least: number, most: number): Parse<number> {
  return (value) => {
    const isInRange = /^(0|[1-9]\d{0,5})$/.test(value) && least <= Number(value) && Number(value) <= most
    return isInRange ? Number(value) : new Fault(`must be a whole number from ${least} to ${most}`)
  }
}

function oneOf<const Word extends string>(...words: Word[]): Parse<Word> {
  return (value) => words.find((word) => word === value) ?? new Fault(`must be ${words.join(' or ')}`)
}

function trueOrFalse(value: string): boolean | Fault {
  return value === 'true' || (value === 'false' ? false : new Fault('must be true or false'))
}

/** Hours or days as ms. */
function age(value: string): number | Fault {
  if (!/^[1-9]\d{0,3}[hd]$/.test(value)) return new Fault('must be hours or days, as 36h or 2d')
  return Number(value.slice(0, -1)) * (value.endsWith('d') ? 24 : 1) * hourMillis
}

/** Null for `off`. */
export function cap(value: string): number | null | Fault {
  if (value === 'off') return null
  return /^[1-9]\d{0,8}$/.test(value) ? Number(value) : new Fault('must be a whole number from 1 on, or off')
}

/** Removes slashes from the end. */
export function webAddress(value: string): string | Fault {
  const url = URL.canParse(value) ? new URL(value) : null
  const isAddress = url && /^https?:$/.test(url.protocol) && !/[?#]/.test(value) && !url.username
  return isAddress ? value.replace(/\/+$/, '') : new Fault('must be an http or https address without a query')
}
