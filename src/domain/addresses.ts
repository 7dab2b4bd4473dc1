import { BlockList, isIP } from 'node:net'

/** Where a PostgreSQL server is to be found. */
export interface DatabaseHost {
  /** A name or an address, without brackets; or the folder of a unix socket, which begins with a slash. */
  readonly host: string
  readonly port: number
}

/** What an address of a PostgreSQL database says (libpq's connection URI). */
export interface DatabaseAddress {
  /** One or more, to be tried in this order. */
  readonly hosts: readonly DatabaseHost[]
  readonly user: string
  readonly database: string
  /** Null where the address has none. */
  readonly password: string | null
  readonly sslMode: 'disable' | 'verify-full'
  /** The file with the authorities to trust; null for those that everybody trusts. */
  readonly sslRootCert: string | null
}

const scheme = /^postgres(?:ql)?:\/\//

/** Whether a text is an address of a server, and not the path of a file. */
export function isDatabaseAddress(text: string): boolean {
  return scheme.test(text)
}

/** Another scheme, a slash or a letter amiss, a space or a quote before it, or libpq's keywords: none is meant for a file. */
const nearly = [
  /^[\s'"]*[a-z][a-z+:]*:\/\//i,
  /^[\s'"]*postgres(?:ql)?(?::|\/\/)/i,
  /(?:^|[\s'"])(?:host|dbname) *=/,
]

/**
 * What is wrong with a path that was to be an address, by which a file would be made or told of, its password in its name;
 * null for a path that is one. What begins with `/`, `./` or `../` always is.
 */
export function mistakenPathFault(path: string): string | null {
  if (/^\.{0,2}\//.test(path) || !nearly.some((each) => each.test(path))) return null
  return `is no address that can be read: ${form}; a file of such a name is given with ./ before it`
}

/** Reads an address; what is wrong with it as a text. */
export function parseDatabaseAddress(text: string): DatabaseAddress | string {
  try {
    return parse(text)
  } catch (error) {
    if (error instanceof Fault) return error.message
    throw error
  }
}

/** An address without its password, for people and logs. */
export function shownAddress(text: string): string {
  const address = parseDatabaseAddress(text)
  // Nobody can tell where the password stands in what cannot be read.
  if (typeof address === 'string') return 'postgres://(an address that cannot be read)'
  const { hosts, user, database, sslMode, sslRootCert } = address
  const query = new URLSearchParams()
  const [first] = hosts
  const isSocket = first?.host.startsWith('/') ?? false
  if (first && isSocket) query.set('host', first.host)
  if (first && isSocket && first.port !== usualPort) query.set('port', `${first.port}`)
  if (sslMode !== 'disable') query.set('sslmode', sslMode)
  if (sslRootCert !== null) query.set('sslrootcert', sslRootCert)
  const shown = `${query}`.replaceAll('%2F', '/')
  const place = isSocket ? '' : hosts.map(shownHost).join(',')
  return `postgres://${encodeURIComponent(user)}@${place}/${encodeURIComponent(database)}${shown && `?${shown}`}`
}

/** Whether a host is this machine, so that nobody between can listen: a socket, or a loopback address (RFC 6761 §6.3). */
function isLoopback(host: string): boolean {
  if (host.startsWith('/') || host === '::1' || host.toLowerCase() === 'localhost') return true
  return isIP(host) === 4 && host.startsWith('127.')
}

class Fault extends Error {}

const usualPort = 5432
const form = 'must be as postgres://user@host:5432/name?sslmode=verify-full'

function parse(text: string): DatabaseAddress {
  if (!scheme.test(text)) throw new Fault(form)
  if (/[\s\p{Cc}]/u.test(text))
    throw new Fault(
      'must have no space and no end of a line; a space in a name or a password is written as %20',
    )
  if (text.includes('#'))
    throw new Fault('must have no fragment; # in a name or a password is written as %23')
  const [, user, password, place, path, search] =
    /^\w+:\/\/(?:([^@:/?]*)(?::([^@/?]*))?@)?([^@/?]*)(?:\/([^/?]*))?(?:\?(.*))?$/.exec(text) ?? []
  if (place === undefined) {
    throw new Fault(
      `${form}; @, :, / and ? in a user, a password or a name are written as %40, %3A, %2F and %3F`,
    )
  }
  if (!user) throw new Fault(`names no user: ${form}`)
  if (!path) throw new Fault(`names no database: ${form}`)
  const query = readAddressQuery(search ?? '')
  const hosts = place === '' ? [socketOf(query)] : hostsOf(place, query)
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
    if (name === undefined)
      throw new Fault(`has a parameter that is not known; known are ${parameters.join(', ')}`)
    if (query[name] !== undefined) throw new Fault(`gives ${name} twice`)
    query[name] = decoded(value.join('='))
    if (query[name] === '') throw new Fault(`gives ${name} without a value`)
  }
  return query
}

function socketOf({ host, port }: Query): DatabaseHost {
  if (host === undefined) throw new Fault(`names no host: ${form}`)
  if (!host.startsWith('/')) throw new Fault('host: must be the folder of a socket, as /run/postgresql')
  return { host, port: portOf(port) }
}

function hostsOf(place: string, { host, port }: Query): DatabaseHost[] {
  if (host !== undefined || port !== undefined)
    throw new Fault('host and port as parameters: only for a socket, where no host stands before the name')
  return place.split(',').map((each) => {
    const [, bracketed, name, port] = /^(?:\[([^\]]*)\]|([^:[\]]*))(?::(.*))?$/s.exec(each) ?? []
    const host = bracketed ?? name ?? ''
    const isHost =
      bracketed === undefined ? /^[A-Za-z0-9._-]+$/.test(host) : isIP(host) === 6 && !host.includes('%')
    if (!isHost) throw new Fault('has a host that is neither a name nor an address; IPv6 stands in brackets')
    return { host, port: portOf(port) }
  })
}

function portOf(text: string | undefined): number {
  if (text === undefined) return usualPort
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0
  if (port < 1 || port > 65_535) throw new Fault('has a port that is none: 1 to 65535')
  return port
}

function sslModeOf(mode: string | undefined, hosts: readonly DatabaseHost[]): DatabaseAddress['sslMode'] {
  if (mode !== undefined && mode !== 'disable' && mode !== 'verify-full') {
    throw new Fault(
      'sslmode: must be verify-full, or disable on this machine; any other lets somebody between read along',
    )
  }
  const isLocal = hosts.every(({ host }) => isLoopback(host))
  if (!isLocal && mode !== 'verify-full') {
    throw new Fault(
      'sslmode: must be verify-full for a host that is not this machine, so that nobody between reads along',
    )
  }
  return mode ?? 'disable'
}

/** Undoes percent-encoding (RFC 3986 §2.1). */
function decoded(text: string): string {
  let plain: string
  try {
    plain = decodeURIComponent(text)
  } catch {
    throw new Fault(
      'has a % that is not followed by two digits of a byte in UTF-8; % itself is written as %25',
    )
  }
  // What the protocol ends each text with.
  if (plain.includes('\0')) throw new Fault('must have no %00')
  return plain
}

function shownHost({ host, port }: DatabaseHost): string {
  const name = host.includes(':') ? `[${host}]` : host
  return port === usualPort ? name : `${name}:${port}`
}

/** Networks that addresses are held against. */
export interface Networks {
  /** Whether an address lies in one of them; IPv4 that is written as IPv6 writes it (RFC 4291 §2.5.5.2) counts as IPv4. */
  readonly include: (address: string) => boolean
}

const bitsOf = { 4: 32, 6: 128 } as const

/** Networks (RFC 4632 §3.1, RFC 4291 §2.3) and single addresses with commas between; what is wrong with them as a text. */
export function parseNetworks(text: string): Networks | string {
  const list = new BlockList()
  for (const part of text.split(',')) {
    const [address = '', prefix, more] = part.trim().split('/')
    const version = isIP(address)
    if ((version !== 4 && version !== 6) || address.includes('%') || more !== undefined) return notNetworks
    const bits = bitsOf[version]
    // Of length 0 it would be everybody.
    const isPrefix = prefix === undefined || (/^[1-9]\d{0,2}$/.test(prefix) && Number(prefix) <= bits)
    if (!isPrefix) return notNetworks
    list.addSubnet(address, Number(prefix ?? bits), version === 4 ? 'ipv4' : 'ipv6')
  }
  return { include: (address) => list.check(address, address.includes(':') ? 'ipv6' : 'ipv4') }
}

/** Whether a text is an IPv4 or IPv6 address, without a zone, which means something on one machine alone (RFC 4007 §11). */
export function isAddress(text: string): boolean {
  return isIP(text) !== 0 && !text.includes('%')
}

const notNetworks =
  'must be addresses or networks with commas between, as 10.0.0.7,2001:db8::/32: no names, no ports, and not all addresses there are'

/** Where a server's certificate and its key are. */
export interface CertificateFiles {
  readonly certificate: string
  readonly key: string
  /** Whether systemd passes on the key, and so decides who can read it. */
  readonly isCredential: boolean
}
