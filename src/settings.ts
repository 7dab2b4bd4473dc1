import { isDatabaseAddress, mistakenPathFault, parseDatabaseAddress } from './domain/database-address'
import { parseNetworks } from './domain/networks'

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
    argument: '<place>',
    variable: 'ANTEROOM_DATABASE',
    meaning: 'the database, which init makes: a file, or postgres://user@host/name',
    faultOf: databaseFault,
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
  nodes: {
    flag: '--nodes',
    argument: '<n>',
    variable: 'ANTEROOM_NODES',
    meaning:
      'the nodes that share the callers: each holds them to its part of what they may in a minute; 1 unless given',
    faultOf: (value) =>
      /^([1-9]|[1-5]\d|6[0-4])$/.test(value) ? null : 'must be a whole number from 1 to 64',
  },
  logRequests: {
    flag: '--log-requests',
    argument: '<which>',
    variable: 'ANTEROOM_LOG_REQUESTS',
    meaning: 'which requests the log has a line for: all, or errors (status 400 and above); all unless given',
    faultOf: (value) => (/^(all|errors)$/.test(value) ? null : 'must be all or errors'),
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

/** The names of all that can be set. */
export type SettingName = keyof typeof settings

/** What serve can be told. */
export const serverSettings = (Object.keys(settings) as SettingName[]).filter(
  (name) => name !== 'backupMaxAge',
)

/** What a server that runs takes from its settings when it reads them again. */
export const reloadable: readonly SettingName[] = [
  'readsPerMinute',
  'bookingsPerMinute',
  'failedAuthenticationsPerMinute',
  'nodes',
  'openRequests',
  'emailConflictsPerHour',
  'cacheMib',
  'tlsCertificate',
  'tlsKey',
]

function portFault(value: string): string | null {
  return /^\d{1,5}$/.test(value) && Number(value) <= 65_535 ? null : 'must be a port from 0 to 65535'
}

function notEmpty(value: string): string | null {
  return value === '' ? 'must not be empty' : null
}

function databaseFault(value: string): string | null {
  if (!isDatabaseAddress(value)) return mistakenPathFault(value) ?? notEmpty(value)
  const address = parseDatabaseAddress(value)
  return typeof address === 'string' ? address : null
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
