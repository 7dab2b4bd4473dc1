import { bearer } from '@elysiajs/bearer'
import { authenticationRefusals, claimedPartner } from '../auth/token'
import type { Refusal } from '../domain/errors'
import { shareOf } from '../domain/limits'
import type { Context } from '../operations/context'
import { answerTo, type ErrorCode, repeatedly, type Words } from './errors'
import type { LogEntry } from './log'
import { addressBudgets } from './rate-limits'

/** What the plugin derives a token from, and what it comes to. */
type ReadBearer = (sent: { query: object; headers: { authorization: string } }) => { readonly bearer: string }

// Called and not mounted: as a hook it would have Elysia parse the query and all headers of each request, and wait for a
// promise, which takes as long as all else that stands before an endpoint.
const readBearer = bearer().event.transform?.[0]?.fn as unknown as ReadBearer

/** The token in a request's Authorization header (RFC 6750 §2.1); empty if there is none. */
export function tokenOf({ headers }: Request): string {
  const authorization = headers.get('authorization')
  if (authorization === null || !/^bearer [^ ]+$/i.test(authorization)) return ''
  // The plugin knows one case of the scheme, and takes tokens from the query too. So it is given the header in its own
  // spelling, and no query (RFC 9110 §11.1).
  const inItsSpelling = `Bearer ${authorization.slice('bearer '.length)}`
  return readBearer({ query: {}, headers: { authorization: inItsSpelling } }).bearer
}

/**
 * What answers callers who could not be authenticated: it takes the refusal from the budget of their address, and notes
 * it. Nothing is taken for any other request: whoever has a token in force is served, whatever others send from their
 * address.
 *
 * @param addressOf where a request came from
 */
export function refusing(
  { notebook, clock, directory, limits }: Context,
  addressOf: (request: Request) => string,
): (request: Request, token: string, refusal: Refusal, entry: LogEntry) => Response {
  const rate = () => shareOf(limits.failedAuthentications, limits.nodes)
  const spend = addressBudgets('failed-authentications', 'authentication_limited', rate, clock)
  const words: Words = authenticationRefusals
  const answers = new Map(
    Object.entries(words).map(([kind, message]) => [kind, repeatedly(kind as ErrorCode, message)]),
  )
  return (request, token, refusal, entry) => {
    const address = addressOf(request)
    const claimed = claimedPartner(token, (kid) => directory.findKey(kid))
    notebook.noteRefusal(refusal.kind, address, clock.now(), claimed?.id)
    const limited = spend(address, entry.headers)
    if (limited) return answerTo(limited, 'UNKNOWN', entry)
    return answers.get(refusal.kind)?.(entry, token) ?? answerTo(refusal, 'UNKNOWN', entry)
  }
}
