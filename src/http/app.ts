import { Elysia } from 'elysia'
import { claimedPartner } from '../auth/authenticate'
import { Refusal } from '../domain/errors'
import { documents } from './docs'
import { endpoints } from './endpoints'
import { answerTo, isUnauthenticated } from './errors'
import { gate, type Serving } from './gate'
import { health } from './health'
import { addressBudgets } from './rates'

/**
 * The application: it answers requests and never listens.
 *
 * @param addressOf where a request came from
 * @param isReady whether what is sent can be stored at the moment; always, unless given
 */
export function createApp(
  serving: Serving,
  addressOf: (request: Request) => string,
  isReady: () => Promise<boolean> = async () => true,
) {
  const { notebook, clock, directory, limits } = serving.context
  // Only a refusal is taken from it: whoever has a token in force is served, whatever others send from their address.
  const { failedAuthentications } = limits
  const spend = addressBudgets(
    'failed-authentications',
    'authentication_limited',
    failedAuthentications,
    clock,
  )
  return (
    new Elysia({
      // The contract depends on all three: a path without its last slash is the same path; what is
      // validated is what was sent; a Host header cannot move the beginning of the path.
      strictPath: false,
      normalize: false,
      handler: { standardHostname: false },
    })
      // Before any plugin: it answers for those alone that come after.
      .onError(({ error, code, request, set }) => {
        if (!(error instanceof Refusal && isUnauthenticated(error))) return answerTo(error, code)
        const address = addressOf(request)
        const [, token = ''] = /^bearer +(.+)$/i.exec(request.headers.get('authorization') ?? '') ?? []
        const claimed = claimedPartner(token, (kid) => directory.findKey(kid))
        notebook.noteRefusal(error.kind, address, clock.now(), claimed?.id)
        return answerTo(spend(address, set.headers) ?? error, code)
      })
      .use(health(isReady))
      .use(serving.noDocs ? new Elysia() : documents(endpoints, serving, addressOf))
      .use(gate(endpoints, serving))
  )
}
