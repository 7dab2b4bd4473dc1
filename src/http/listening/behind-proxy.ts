import { isAddress, type Networks } from '../../domain/addresses'
import type { Report } from '../../domain/measures'
import { memo } from '../../domain/memo'
import { errorAnswer, strictTransport, transportRefusals } from '../errors'
import type { LogEntry } from '../log'

/** The address of a client that has disconnected. */
export const goneClient = 'gone'

export interface Forwarding {
  readonly clientOf: (request: Request) => string
  /** Returns an error for plain HTTP. For HTTPS, returns null, sets HSTS and uses the proxy's request id. */
  readonly refusePlain: (request: Request, entry: LogEntry) => Response | null
}

/** Maximum addresses that are read from X-Forwarded-For, because a trusted host could send a long list. */
const mostHops = 16

const mostPeers = 1_000

/** Trusts forwarding headers only from `proxies`. A request from another address counts as plain HTTP. */
export function forwarding(
  proxies: Networks | null,
  peerOf: (request: Request) => string,
  report: Report = () => {},
): Forwarding {
  if (!proxies) return { clientOf: peerOf, refusePlain: () => null }
  const warn = { stranger: reportOnce(report, strangerNotice), unsaid: reportOnce(report, protocolNotice) }
  const isProxy = memo(mostPeers, proxies.include)
  return {
    clientOf(request) {
      const peer = peerOf(request)
      return isProxy(peer)
        ? clientAmong(request.headers.get('x-forwarded-for'), peer, { include: isProxy })
        : peer
    },
    refusePlain(request, entry) {
      // Rejects a list of protocols, because one hop of the list may be plain HTTP.
      const protocol = request.headers.get('x-forwarded-proto')
      const isHttps = protocol === 'https'
      const isFromProxy = isProxy(peerOf(request))
      if (isHttps && isFromProxy) {
        Object.assign(entry.headers, strictTransport)
        takeName(request.headers.get('x-request-id'), entry)
        return null
      }
      if (isHttps) warn.stranger()
      else if (isFromProxy && protocol !== 'http') warn.unsaid()
      return errorAnswer(entry, 'https_required', transportRefusals.https_required)
    },
  }
}

const strangerNotice =
  'a request that claims HTTPS was rejected (https_required), because the address of the sender is not in --behind-proxy. If the sender is your proxy, add its address to --behind-proxy. This is logged once.'
const protocolNotice =
  'a request from an address in --behind-proxy was rejected (https_required), because its X-Forwarded-Proto was neither https nor http. Configure the proxy to set this header. This is logged once.'

function reportOnce(report: Report, line: string): () => void {
  let isReported = false
  return () => {
    if (!isReported) report(line)
    isReported = true
  }
}

/** Request id from a proxy: a UUID, with or without hyphens. Other texts could contain personal data. */
const requestName = /^[\da-f]{8}(-?)(?:[\da-f]{4}\1){3}[\da-f]{12}$/i

function takeName(name: string | null, entry: LogEntry): void {
  if (name === null || !requestName.test(name)) return
  entry.id = name
  entry.headers['X-Request-Id'] = name
}

/** Returns the rightmost address that is not a proxy. Addresses before it may be forged. */
export function clientAmong(forwardedFor: string | null, peer: string, proxies: Networks): string {
  if (forwardedFor === null) return peer
  let client = peer
  let end = forwardedFor.length
  for (let hop = 0; hop < mostHops && end >= 0; hop++) {
    const comma = end === 0 ? -1 : forwardedFor.lastIndexOf(',', end - 1)
    const address = addressIn(forwardedFor.slice(comma + 1, end))
    if (address === null) break
    client = address
    if (!proxies.include(address)) break
    end = comma
  }
  return client
}

/** Maximum length of an address, for example IPv6 in brackets with a port. A longer text is not parsed. */
const mostLength = 64

function addressIn(text: string): string | null {
  if (text.length > mostLength) return null
  const entry = text.trim()
  const [, bracketed, version4] = /^(?:\[([^\]]*)\]|([\d.]+))(?::\d{1,5})?$/.exec(entry) ?? []
  const address = bracketed ?? version4 ?? entry
  return isAddress(address) ? address : null
}
