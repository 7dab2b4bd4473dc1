import { bearer } from '@elysiajs/bearer'
import { authenticationRefusals, claimedPartner } from '../auth/authenticate'
import type { Refusal } from '../domain/errors'
import { shareOf } from '../domain/limits'
import { memo } from '../domain/memo'
import type { Context } from '../operations/context'
import { answerTo, type ErrorCode, repeatedly, type Words } from './errors'
import { addressBudgets } from './rate-limits'
import type { Seen } from './request-log'

/** What the plugin derives a token from, and what it comes to. */
type ReadBearer = (sent: { query: object; headers: { authorization: string } }) => { readonly bearer: string }

// Called and not mounted: as a hook it would have Elysia parse the query and all headers of each request, and wait for a
// promise, which takes as long as all else that stands before an endpoint.
const readBearer = bearer().event.transform?.[0]?.fn as unknown as ReadBearer

/** The token that a request's Authorization header hands over (RFC 6750 §2.1); empty where it hands over none. */
export function tokenOf({ headers }: Request): string {
  const authorization = headers.get('authorization')
  return authorization === null ? '' : read(authorization)
}

// A partner sends the same header with each request.
const read = memo(1_000, (authorization) => {
  if (!/^bearer [^ ]+$/i.test(authorization)) return ''
  // The plugin knows one case of the scheme, and looks for tokens in the query too: it gets to see a header in its own
  // spelling, and no query (RFC 9110 §11.1).
  const inItsSpelling = `Bearer ${authorization.slice('bearer '.length)}`
  return readBearer({ query: {}, headers: { authorization: inItsSpelling } }).bearer
})

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
): (request: Request, token: string, refusal: Refusal, seen: Seen) => Response {
  const rate = () => shareOf(limits.failedAuthentications, limits.nodes)
  const spend = addressBudgets('failed-authentications', 'authentication_limited', rate, clock)
  const words: Words = authenticationRefusals
  const answers = new Map(
    Object.entries(words).map(([kind, message]) => [kind, repeatedly(kind as ErrorCode, message)]),
  )
  return (request, token, refusal, seen) => {
    const address = addressOf(request)
    const claimed = claimedPartner(token, (kid) => directory.findKey(kid))
    notebook.noteRefusal(refusal.kind, address, clock.now(), claimed?.id)
    const limited = spend(address, seen.told)
    if (limited) return answerTo(limited, 'UNKNOWN', seen)
    return answers.get(refusal.kind)?.(seen, token) ?? answerTo(refusal, 'UNKNOWN', seen)
  }
}
