import { isAddress, type Networks } from '../../domain/addresses'
import type { Report } from '../../domain/measures'
import { memo } from '../../domain/memo'
import { errorAnswer, strictTransport, transportRefusals } from '../errors'
import type { LogEntry } from '../log'

/** What tells of a request that may have come through a proxy. */
export interface Forwarding {
  /** The address of its client. */
  readonly clientOf: (request: Request) => string
  /** The refusal of one that did not come by HTTPS; null if there is none, and its answer tells to go on so. */
  readonly refusePlain: (request: Request, entry: LogEntry) => Response | null
}

/** How many proxies one request is believed to have come through: whoever is inside their networks can name any number. */
const mostHops = 16

/** Peers that are remembered as they were judged: those who connect are the proxies. */
const mostPeers = 1_000

/**
 * What the headers of proxies say, of those alone that are to be believed: to everybody else it is no request that came by
 * HTTPS, whatever it says. Without such proxies the headers mean nothing.
 *
 * @param peerOf who sent a request to this machine
 * @param report is told once of each way in which a proxy may be set up wrongly, so that nobody is served
 */
export function forwarding(
  proxies: Networks | null,
  peerOf: (request: Request) => string,
  report: Report = () => {},
): Forwarding {
  if (!proxies) return { clientOf: peerOf, refusePlain: () => null }
  const warn = { stranger: once(report, strangerNotice), unsaid: once(report, protocolNotice) }
  const isProxy = memo(mostPeers, proxies.include)
  return {
    clientOf(request) {
      const peer = peerOf(request)
      return isProxy(peer) ? clientAmong(request.headers.get('x-forwarded-for'), peer, proxies) : peer
    },
    refusePlain(request, entry) {
      // A list, as several proxies write it, tells of one plain hop at least, or of who knows whom.
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
  'a request was refused (https_required) that says it came by HTTPS, but not from an address of --behind-proxy: if your proxy sent it, name its address there; this is told once'
const protocolNotice =
  'a request from an address of --behind-proxy was refused (https_required), since its X-Forwarded-Proto was not just https or http: have your proxy set it; this is told once'

function once(report: Report, line: string): () => void {
  let isReported = false
  return () => {
    if (!isReported) report(line)
    isReported = true
  }
}

/** What a name that a proxy gives a request is made of: a UUID, with hyphens or, as nginx writes it, without. It tells nothing of anybody. */
const requestName = /^[\da-f]{8}(-?)(?:[\da-f]{4}\1){3}[\da-f]{12}$/i

/** Calls a request as the proxy does that it came through, so that both logs speak of it by one name. */
function takeName(name: string | null, entry: LogEntry): void {
  if (name === null || !requestName.test(name)) return
  entry.id = name
  entry.headers['X-Request-Id'] = name
}

/**
 * The client among the addresses that proxies wrote down, each of which added the one it was asked from at the right: the
 * rightmost that is no proxy's, since what stands before it the client may have sent itself. Where a proxy wrote none, or
 * what is no address, it is that proxy's own.
 *
 * @param forwardedFor X-Forwarded-For, of all its lines
 * @param peer the proxy that sent it
 */
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

/** An IPv6 address with a zone is the longest that is looked at; a port of five digits and brackets around it. */
const mostLength = 64

/** An address as proxies write it, some with the port of its client; null if it is none. */
function addressIn(text: string): string | null {
  if (text.length > mostLength) return null
  const entry = text.trim()
  const [, bracketed, version4] = /^(?:\[([^\]]*)\]|([\d.]+))(?::\d{1,5})?$/.exec(entry) ?? []
  const address = bracketed ?? version4 ?? entry
  return isAddress(address) ? address : null
}
