import { BlockList, isIP } from 'node:net'

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
