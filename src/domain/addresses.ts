import { BlockList, isIP } from 'node:net'
import { memo } from './memo'

export interface DatabaseHost {
  /** A host name, an IP address without brackets, or the folder of a Unix socket (begins with a slash). */
  readonly host: string
  readonly port: number
}

export interface DatabaseAddress {
  /** At least one host. Clients try the hosts in this order. */
  readonly hosts: readonly DatabaseHost[]
  readonly user: string
  readonly database: string
  readonly password: string | null
  readonly sslMode: 'disable' | 'verify-full'
  /** The file of trusted certificate authorities. Null means the authorities of the system. */
  readonly sslRootCert: string | null
}

const scheme = /^postgres(?:ql)?:\/\//

/** Returns true for a server address, false for a file path. */
export function isDatabaseAddress(text: string): boolean {
  return scheme.test(text)
}

/** Patterns of mistyped addresses: another scheme, a missing slash, a leading space or quote, or libpq keywords. */
const mistypedAddresses = [
  /^[\s'"]*[a-z][a-z+:]*:\/\//i,
  /^[\s'"]*postgres(?:ql)?(?::|\/\/)/i,
  /(?:^|[\s'"])(?:host|dbname) *=/,
]

/**
 * Returns a fault if a path looks like a mistyped server address, otherwise null. Without this check, a command would
 * create a file with the password in the file name. Paths that start with `/`, `./` or `../` are valid.
 */
export function mistakenPathFault(path: string): string | null {
  if (/^\.{0,2}\//.test(path) || !mistypedAddresses.some((each) => each.test(path))) return null
  return `is not a valid address; an address ${expectedForm}; for a file with this name, write ./ before it`
}

/** Parses a server address. Returns the fault as a text if the address is invalid. */
export function parseDatabaseAddress(text: string): DatabaseAddress | string {
  try {
    return parse(text)
  } catch (error) {
    if (error instanceof Fault) return error.message
    throw error
  }
}

/** Returns an address without its password, for people and logs. */
export function shownAddress(text: string): string {
  const address = parseDatabaseAddress(text)
  // The password may be anywhere in an invalid address, so no part of the address is shown.
  if (typeof address === 'string') return 'postgres://(invalid address)'
  const { hosts, user, database, sslMode, sslRootCert } = address
  const query = new URLSearchParams()
  const socket = hosts.find(({ host }) => host.startsWith('/'))
  if (socket) query.set('host', socket.host)
  if (socket && socket.port !== usualPort) query.set('port', `${socket.port}`)
  if (sslMode !== 'disable') query.set('sslmode', sslMode)
  if (sslRootCert !== null) query.set('sslrootcert', sslRootCert)
  const shown = `${query}`.replaceAll('%2F', '/')
  const authority = socket ? '' : hosts.map(formatHost).join(',')
  return `postgres://${encodeURIComponent(user)}@${authority}/${encodeURIComponent(database)}${shown && `?${shown}`}`
}

/** Returns true for a Unix socket or a loopback address (RFC 6761 §6.3). Such connections need no TLS. */
function isLoopback(host: string): boolean {
  if (host.startsWith('/') || host === '::1' || host.toLowerCase() === 'localhost') return true
  return isIP(host) === 4 && host.startsWith('127.')
}

class Fault extends Error {}

const usualPort = 5432
const expectedForm = 'must look like postgres://user@host:5432/name?sslmode=verify-full'

function parse(text: string): DatabaseAddress {
  if (!scheme.test(text)) throw new Fault(expectedForm)
  if (/[\s\p{Cc}]/u.test(text))
    throw new Fault('must not contain spaces or line breaks; write a space in a name or password as %20')
  if (text.includes('#')) throw new Fault('must not contain a fragment; write # in a name or password as %23')
  const [, user, password, authority, path, search] =
    /^\w+:\/\/(?:([^@:/?]*)(?::([^@/?]*))?@)?([^@/?]*)(?:\/([^/?]*))?(?:\?(.*))?$/.exec(text) ?? []
  if (authority === undefined) {
    throw new Fault(
      `${expectedForm}; in a user, password or name, write @ as %40, : as %3A, / as %2F and ? as %3F`,
    )
  }
  if (!user) throw new Fault(`has no user; the address ${expectedForm}`)
  if (!path) throw new Fault(`has no database; the address ${expectedForm}`)
  const query = readAddressQuery(search ?? '')
  const hosts = authority === '' ? [socketOf(query)] : hostsOf(authority, query)
  return Object.freeze({
    hosts,
    user: decoded(user),
    database: decoded(path),
    password: password === undefined ? null : decoded(password),
    sslMode: sslModeOf(query.sslmode, hosts),
    sslRootCert: query.sslrootcert ?? null,
  })
}

const parameters = ['sslmode', 'sslrootcert', 'host', 'port'] as const
type Query = Partial<Record<(typeof parameters)[number], string>>

function readAddressQuery(search: string): Query {
  const query: Query = {}
  for (const part of search.split('&').filter(Boolean)) {
    const [written = '', ...value] = part.split('=')
    const name = parameters.find((each) => each === written)
    if (name === undefined) throw new Fault(`has an unknown parameter; use only ${parameters.join(', ')}`)
    if (query[name] !== undefined) throw new Fault(`has ${name} twice`)
    query[name] = decoded(value.join('='))
    if (query[name] === '') throw new Fault(`has ${name} without a value`)
  }
  return query
}

function socketOf({ host, port }: Query): DatabaseHost {
  if (host === undefined) throw new Fault(`has no host; the address ${expectedForm}`)
  if (!host.startsWith('/')) throw new Fault('host: must be the folder of a socket, such as /run/postgresql')
  return { host, port: portOf(port) }
}

function hostsOf(authority: string, { host, port }: Query): DatabaseHost[] {
  if (host !== undefined || port !== undefined)
    throw new Fault(
      'has a host before the name, so host and port must not be parameters; use parameters for sockets only',
    )
  return authority.split(',').map((each) => {
    const [, bracketed, name, port] = /^(?:\[([^\]]*)\]|([^:[\]]*))(?::(.*))?$/s.exec(each) ?? []
    const host = bracketed ?? name ?? ''
    const isHost =
      bracketed === undefined ? /^[A-Za-z0-9._-]+$/.test(host) : isIP(host) === 6 && !host.includes('%')
    if (!isHost)
      throw new Fault('has an invalid host; use a name, an IPv4 address or an IPv6 address in brackets')
    return { host, port: portOf(port) }
  })
}

function portOf(text: string | undefined): number {
  if (text === undefined) return usualPort
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0
  if (port < 1 || port > 65_535) throw new Fault('has an invalid port; use 1 to 65535')
  return port
}

function sslModeOf(mode: string | undefined, hosts: readonly DatabaseHost[]): DatabaseAddress['sslMode'] {
  if (mode !== undefined && mode !== 'disable' && mode !== 'verify-full') {
    throw new Fault(
      'sslmode: must be verify-full, or disable for a host on this machine, because other modes can be intercepted',
    )
  }
  const isLocal = hosts.every(({ host }) => isLoopback(host))
  if (!isLocal && mode !== 'verify-full') {
    throw new Fault(
      'sslmode: must be verify-full for a host on another machine, because other modes can be intercepted',
    )
  }
  return mode ?? 'disable'
}

/** Decodes percent-encoding (RFC 3986 §2.1). */
function decoded(text: string): string {
  let plain: string
  try {
    plain = decodeURIComponent(text)
  } catch {
    throw new Fault('has invalid percent-encoding; write % itself as %25')
  }
  // NUL is invalid, because NUL ends strings in the PostgreSQL protocol.
  if (plain.includes('\0')) throw new Fault('must not contain %00')
  return plain
}

function formatHost({ host, port }: DatabaseHost): string {
  const name = host.includes(':') ? `[${host}]` : host
  return port === usualPort ? name : `${name}:${port}`
}

export interface Networks {
  /** Treats an IPv4-mapped IPv6 address (RFC 4291 §2.5.5.2) as IPv4. */
  readonly include: (address: string) => boolean
}

const bitsOf = { 4: 32, 6: 128 } as const

/** Parses comma-separated networks (RFC 4632 §3.1, RFC 4291 §2.3). Returns a fault as a text. */
export function parseNetworks(text: string): Networks | string {
  const list = new BlockList()
  for (const part of text.split(',')) {
    const [address = '', prefix, more] = part.trim().split('/')
    const version = isIP(address)
    if ((version !== 4 && version !== 6) || address.includes('%') || more !== undefined) return networksFault
    const bits = bitsOf[version]
    // A prefix of length 0 would include every address.
    const isPrefix = prefix === undefined || (/^[1-9]\d{0,2}$/.test(prefix) && Number(prefix) <= bits)
    if (!isPrefix) return networksFault
    list.addSubnet(address, Number(prefix ?? bits), version === 4 ? 'ipv4' : 'ipv6')
  }
  return { include: (address) => list.check(address, address.includes(':') ? 'ipv6' : 'ipv4') }
}

/** Returns the IPv4 address, also of IPv4-mapped IPv6 (RFC 4291 §2.5.5.2); else the IPv6 /64 network (RFC 6177). */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address
  const groups = groupsOf(address)
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff
  const network = groups.slice(0, 4).map((group) => group.toString(16))
  const mapped = groups.slice(6).flatMap((group) => [group >> 8, group & 0xff])
  return isMapped ? mapped.join('.') : `${network.join(':')}::/64`
}

function groupsOf(address: string): number[] {
  const [text = ''] = address.split('%')
  const [head = [], tail] = text.split('::').map((part) => part.split(':').filter(Boolean).flatMap(groupsIn))
  if (!tail) return head
  const zeros = Array<number>(Math.max(0, 8 - head.length - tail.length)).fill(0)
  return [...head, ...zeros, ...tail]
}

/** Returns the group for a hexadecimal text, or two groups for an IPv4 suffix. */
function groupsIn(text: string): number[] {
  if (!text.includes('.')) return [Number.parseInt(text, 16)]
  const [a = 0, b = 0, c = 0, d = 0] = text.split('.').map(Number)
  return [a * 256 + b, c * 256 + d]
}

/** Returns the fault of a network that a partner may call from (RFC 4632 §3.1), as a text; null for a valid one. */
export function callerNetworkFault(text: string): string | null {
  const [address = '', prefix] = text.split('/')
  if (prefix === undefined || text.includes(',') || typeof parseNetworks(text) === 'string')
    return 'must look like 203.0.113.0/24, 203.0.113.7/32 or 2001:db8::/32'
  const isSet = networkBits(address).slice(Number(prefix)).includes('1')
  return isSet ? `must be the first address of its network, without host bits` : null
}

function networkBits(address: string): string {
  const isShort = !address.includes(':')
  const parts = isShort ? address.split('.').map(Number) : groupsOf(address)
  return parts.map((part) => part.toString(2).padStart(isShort ? 8 : 16, '0')).join('')
}

const networksIn = memo(1_000, parseNetworks, Number.POSITIVE_INFINITY)

/** Returns true if `networks` is null (any) or includes the address. An unreadable list includes none. */
export function isWithin(networks: string | null, address: string): boolean {
  if (networks === null) return true
  const parsed = networksIn(networks)
  return typeof parsed !== 'string' && isAddress(address) && parsed.include(address)
}

/** Returns true for an IP address without a zone. A zone is valid on one machine only (RFC 4007 §11). */
export function isAddress(text: string): boolean {
  return isIP(text) !== 0 && !text.includes('%')
}

const networksFault =
  'must be addresses or networks separated by commas, such as 10.0.0.7,2001:db8::/32; names, ports and /0 are not allowed'

export interface CertificateFiles {
  readonly certificate: string
  readonly key: string
  /** True if systemd passes the key and controls read access to the key. */
  readonly isCredential: boolean
}
