import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { type Networks, parseNetworks } from '../../domain/addresses'
import { Refusal } from '../../domain/errors'
import type { AskServer } from '../../operations/status'

/** Formats a host for a URL. Replaces a wildcard address by the loopback address. */
export function urlHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  if (host === '::') return '[::1]'
  return host.includes(':') ? `[${host}]` : host
}

/** Timeout of a health check, in ms. Long enough for the trial write of /readyz. */
const answerMillis = 2_000

export const askServer: AskServer = async ({ host, port, isSecure }) => {
  const isFine = (path: string) => {
    // The server is on this machine, so the environment's proxy is not used. The certificate is not checked: its name
    // is the public address, and nothing secret is sent.
    const tls = { rejectUnauthorized: false }
    const options = { proxy: false, tls, signal: AbortSignal.timeout(answerMillis) } as RequestInit
    return fetch(`${isSecure ? 'https' : 'http'}://${urlHost(host)}:${port}${path}`, options).then(
      ({ ok }) => ok,
      () => false,
    )
  }
  if (!(await isFine('/livez'))) return 'silent'
  return (await isFine('/readyz')) ? 'up' : 'unready'
}

const loopback = parseNetworks('127.0.0.0/8,::1') as Networks

/** @throws Refusal settings_invalid if other machines can reach the host, or the host cannot be resolved */
export async function requireLoopback(host: string): Promise<void> {
  if ((await addressesOf(host)).every(loopback.include)) return
  const ways = [
    'put it behind an HTTPS proxy and set --behind-proxy (ANTEROOM_BEHIND_PROXY) to its address (127.0.0.1 if it is on this machine)',
    'set --tls-certificate and --tls-key',
    'or listen on loopback with --host 127.0.0.1',
  ]
  const why = `--host: without HTTPS, requests to ${host} cross the network unencrypted`
  throw new Refusal('settings_invalid', why, { action: ways.join(', ') })
}

/** True if the address means plain HTTP to another machine. */
export function isPlainAddress(address: string): boolean {
  const { protocol, hostname } = new URL(address)
  const host = hostname.replace(/^\[(.*)\]$/, '$1')
  const isLocal = isIP(host) === 0 ? /^(.*\.)?localhost$/.test(host) : loopback.include(host)
  return protocol === 'http:' && !isLocal
}

async function addressesOf(host: string): Promise<string[]> {
  if (isIP(host) !== 0) return [host]
  const found = await lookup(host, { all: true }).catch(() => [])
  if (found.length > 0) return found.map(({ address }) => address)
  throw new Refusal('settings_invalid', `--host: ${host} cannot be resolved to an address`)
}
