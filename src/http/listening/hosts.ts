import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { type Networks, parseNetworks } from '../../domain/addresses'
import { Refusal } from '../../domain/errors'
import type { AskServer } from '../../operations/status'

/** A host as URLs write it; one that stands for all addresses is reached at the loopback one. */
export function urlHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  if (host === '::') return '[::1]'
  return host.includes(':') ? `[${host}]` : host
}

/** How long a server has to answer whoever asks whether it is there, or can store what is sent to it: for that it tries to. */
const answerMillis = 2_000

/** Asks a server at what it noted that it listens on. */
export const askServer: AskServer = async ({ host, port, isSecure }) => {
  const isFine = (path: string) => {
    // Whatever proxy the environment names: it is asked on this machine.
    // Its certificate names its public address, and nothing is handed over here.
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

/** RFC 1122 §3.2.1.3, RFC 4291 §2.5.3. */
const loopback = parseNetworks('127.0.0.0/8,::1') as Networks

/**
 * Refuses to listen where anybody on the way could read what is sent (contract: all requests must use HTTPS).
 *
 * @throws Refusal settings_invalid for a host that is reached from other machines, or leads nowhere
 */
export async function requireLoopback(host: string): Promise<void> {
  if ((await addressesOf(host)).every(loopback.include)) return
  const ways = [
    'name the proxy that does HTTPS for it by --behind-proxy (ANTEROOM_BEHIND_PROXY; 127.0.0.1 for one on this machine)',
    'give it --tls-certificate and --tls-key',
    'or listen on loopback, as --host 127.0.0.1',
  ]
  const why = `--host: what is sent to ${host} without HTTPS can be read on its way`
  throw new Refusal('settings_invalid', `${why}; ${ways.join(', ')}`)
}

/** Whether a public address has whoever follows it send in the clear, other than to this machine. */
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
