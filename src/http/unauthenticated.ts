import { authenticationRefusals, claimedPartner } from '../auth/authenticate'
import type { Refusal } from '../domain/errors'
import { shareOf } from '../domain/limits'
import type { Context } from '../operations/context'
import { answerTo, type ErrorCode, repeatedly, type Words } from './errors'
import { addressBudgets } from './rates'
import type { Seen } from './seen'

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
