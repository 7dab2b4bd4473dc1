import { isDatabaseAddress, mistakenPathFault, parseDatabaseAddress, parseNetworks } from './domain/addresses'
import { hourMillis } from './scheduling/calendar'

export class Fault {
  constructor(readonly why: string) {}
}

type Parse<Value> = (text: string) => Value | Fault

interface Details {
  /** The default value, as text. The help mentions it. */
  readonly byDefault?: string
  /** True if a running server applies a new value at SIGHUP. */
  readonly isReloaded?: true
}

export interface Setting<Value = unknown, More extends Details = Details> {
  readonly flag: string
  /** Null for a flag without a value. In the environment, the value of such a setting is `true` or `false`. */
  readonly argument: string | null
  readonly variable: string
  readonly meaning: string
  readonly parse: Parse<Value>
  readonly details: More
}

function setting<Value, const More extends Details = object>(
  flag: string,
  argument: string | null,
  what: string,
  parse: Parse<Value>,
  details = {} as More,
): Setting<Value, More> {
  const { byDefault }: Details = details
  const meaning = byDefault === undefined || argument === null ? what : `${what} (default: ${byDefault})`
  const variable = `ANTEROOM_${flag.slice('--'.length).toUpperCase().replaceAll('-', '_')}`
  return { flag, argument, variable, meaning, parse, details }
}

const limit = (flag: string, what: string, byDefault: string) =>
  setting(flag, '<n>', `the maximum ${what}, or off`, cap, { byDefault, isReloaded: true })

const flag = (name: string, meaning: string) =>
  setting(name, null, meaning, trueOrFalse, { byDefault: 'false' })

const reloaded = { isReloaded: true } as const

export const settings = {
  settings: setting('--settings', '<file>', 'NAME=value lines; flags and the environment override it', text),
  database: setting('--database', '<place>', 'a file, or postgres://user@host/name', databasePlace),
  masterKeyFile: setting('--master-key-file', '<file>', 'the master key (default: database + .key)', text),
  masterKeyFd: setting('--master-key-fd', '<n>', 'a file descriptor to read the master key from', descriptor),
  zones: setting('--zones', '<folder>', 'a zoneinfo folder to use instead of the built-in time zones', text),
  baseUrl: setting('--base-url', '<url>', 'the public address, used in links', webAddress),
  host: setting('--host', '<host>', 'the address to listen on', text, { byDefault: '127.0.0.1' }),
  port: setting('--port', '<n>', 'the port to listen on, 0 for a free one', port, { byDefault: '8080' }),
  metricsPort: setting('--metrics-port', '<n>', 'a local port for metrics, 0 for any (default: none)', port),
  tlsCertificate: setting('--tls-certificate', '<file>', 'the certificate chain, as PEM', text, reloaded),
  tlsKey: setting('--tls-key', '<file>', 'its key, as PEM; readable only by its owner', text, reloaded),
  behindProxy: setting(
    '--behind-proxy',
    '<networks>',
    'the addresses or networks (CIDR) of the proxies that terminate HTTPS, separated by commas',
    parseProxies,
  ),
  readsPerMinute: limit('--reads-per-minute', 'reads of a partner in a minute', '30000'),
  bookingsPerMinute: limit('--bookings-per-minute', 'booking requests of a partner in a minute', '600'),
  intakesPerHour: limit('--intakes-per-hour', 'intakes of a partner in an hour', '600'),
  failedAuthenticationsPerMinute: limit(
    '--failed-authentications-per-minute',
    '401 responses to one address in a minute',
    '120',
  ),
  nodes: setting(
    '--nodes',
    '<n>',
    'the number of nodes; each applies its share of the limits per minute',
    wholeNumber(1, 64),
    { byDefault: '1', isReloaded: true },
  ),
  logRequests: setting(
    '--log-requests',
    '<which>',
    'the requests to log: all, or errors (status 400 and above)',
    oneOf('all', 'errors'),
    { byDefault: 'all' },
  ),
  noDocs: flag('--no-docs', 'do not serve /docs and /openapi.json'),
  requireOperator: flag('--require-operator', 'show no person unless the audit log can name the operator'),
  openRequests: limit('--open-requests', 'open requests of a member with a future slot', '10'),
  openIntakes: limit('--open-intakes', 'intakes of a member that have no provider', '3'),
  emailConflictsPerHour: limit('--email-conflicts-per-hour', 'addresses of other members in an hour', '20'),
  cacheMib: setting(
    '--cache-mib',
    '<n>',
    'the memory for cached search pages in MiB, 0 for no cache',
    wholeNumber(0, 999_999),
    { byDefault: '128', isReloaded: true },
  ),
  clinicZone: setting('--clinic-zone', '<zone>', "today's time zone (default: each provider's own)", text),
  backupMaxAge: setting('--backup-max-age', '<age>', 'the oldest allowed backup, such as 36h or 2d', age),
  retention: setting('--retention', '<years>', 'years to keep members after the last request, as 7y', years),
}

export type SettingName = keyof typeof settings

export const serverSettings = (Object.keys(settings) as SettingName[]).filter(
  (name) => !['backupMaxAge', 'retention'].includes(name) && name !== 'clinicZone',
)

export type Flags = Readonly<Partial<Record<SettingName, string | undefined>>>

/** Parsed settings. Undefined for a missing setting without a default. */
export type Values = {
  readonly [Name in SettingName]: (typeof settings)[Name] extends Setting<infer Value, infer More>
    ? Exclude<Value, Fault> | (More extends { readonly byDefault: string } ? never : undefined)
    : never
}

/** Parses settings. The caller has checked all texts. */
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

/** Rejects 1 (stdout) and 2 (stderr). */
function descriptor(value: string): number | Fault {
  return /^(0|[3-9]|[1-9]\d{1,3})$/.test(value) ? Number(value) : new Fault('must be 0 or from 3 to 9999')
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

function trueOrFalse(value: string | true): boolean | Fault {
  // The value of a flag is true itself.
  return String(value) === 'true' || (value === 'false' ? false : new Fault('must be true or false'))
}

function age(value: string): number | Fault {
  if (!/^[1-9]\d{0,3}[hd]$/.test(value)) return new Fault('must be hours or days, for example 36h or 2d')
  return Number(value.slice(0, -1)) * (value.endsWith('d') ? 24 : 1) * hourMillis
}

/** A number of years. */
export function years(value: string): number | Fault {
  return /^[1-9]\d?y$/.test(value) ? Number.parseInt(value, 10) : new Fault('must be years, for example 7y')
}

export function cap(value: string): number | null | Fault {
  if (value === 'off') return null
  return /^[1-9]\d{0,8}$/.test(value) ? Number(value) : new Fault('must be off or a whole number from 1')
}

export function webAddress(value: string): string | Fault {
  const url = URL.canParse(value) ? new URL(value) : null
  const isAddress = url && /^https?:$/.test(url.protocol) && !/[?#]/.test(value) && !url.username
  return isAddress ? value.replace(/\/+$/, '') : new Fault('must be an http or https address without a query')
}
