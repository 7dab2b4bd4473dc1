import { bearer } from '@elysiajs/bearer'
import { authenticationRefusals, claimedPartner, outsideNetworks } from '../auth/token'
import type { Refusal } from '../domain/errors'
import { shareOf } from '../domain/limits'
import type { Context } from '../operations/context'
import { outsideReason } from '../operations/notebook'
import { answerTo, type ErrorCode, repeatedly, type Words } from './errors'
import type { LogEntry } from './log'
import { addressBudgets } from './rate-limits'

type ReadBearer = (sent: { query: object; headers: { authorization: string } }) => { readonly bearer: string }

// Calls the plugin's function directly, because its hook alone takes as long as all other steps together.
const readBearer = bearer().event.transform?.[0]?.fn as unknown as ReadBearer

/** Returns the token in the Authorization header (RFC 6750 §2.1); an empty text if there is none. */
export function tokenOf({ headers }: Request): string {
  const authorization = headers.get('authorization')
  if (authorization === null || !/^bearer [^ ]+$/i.test(authorization)) return ''
  // The scheme is case-insensitive (RFC 9110 §11.1), but the plugin accepts one spelling only. The plugin must not see
  // the query, because it would accept a token in the query.
  const inItsSpelling = `Bearer ${authorization.slice('bearer '.length)}`
  return readBearer({ query: {}, headers: { authorization: inItsSpelling } }).bearer
}

/** Answers failed authentications, and charges them to the address's budget. Valid tokens cost nothing. */
export function refusing({
  notebook,
  clock,
  directory,
  limits,
}: Context): (address: string, token: string, refusal: Refusal, entry: LogEntry) => Response {
  const rate = () => shareOf(limits.failedAuthentications, limits.nodes)
  const spend = addressBudgets('failed-authentications', 'authentication_limited', rate, clock)
  const words: Words = authenticationRefusals
  const answers = new Map(
    Object.entries(words).map(([kind, message]) => [kind, repeatedly(kind as ErrorCode, message)]),
  )
  return (address, token, refusal, entry) => {
    const claimed = claimedPartner(token, (kid) => directory.findKey(kid))
    const reason = refusal === outsideNetworks ? outsideReason : refusal.kind
    notebook.noteRefusal(reason, address, clock.now(), claimed?.id)
    const limited = spend(address, entry.headers)
    if (limited) return answerTo(limited, 'UNKNOWN', entry)
    return answers.get(refusal.kind)?.(entry, token) ?? answerTo(refusal, 'UNKNOWN', entry)
  }
}
