import { Elysia } from 'elysia'
import { claimedPartner } from '../auth/authenticate'
import { Refusal } from '../domain/errors'
import { documents } from './docs'
import { endpoints } from './endpoints'
import { answerTo, isUnauthenticated } from './errors'
import { gate, type Serving } from './gate'

/**
 * The application: it answers requests and never listens.
 *
 * @param addressOf where a request came from
 */
export function createApp(serving: Serving, addressOf: (request: Request) => string) {
  const { notebook, clock, directory } = serving.context
  return (
    new Elysia({
      // The contract depends on all three: a path without its last slash is the same path; what is
      // validated is what was sent; a Host header cannot move the beginning of the path.
      strictPath: false,
      normalize: false,
      handler: { standardHostname: false },
    })
      // Before any plugin: it answers for those alone that come after.
      .onError(({ error, code, request }) => {
        if (error instanceof Refusal && isUnauthenticated(error)) {
          const [, token = ''] = /^bearer +(.+)$/i.exec(request.headers.get('authorization') ?? '') ?? []
          const claimed = claimedPartner(token, (kid) => directory.findKey(kid))
          notebook.noteRefusal(error.kind, addressOf(request), clock.now(), claimed?.id)
        }
        return answerTo(error, code)
      })
      .use(documents(endpoints, serving))
      .use(gate(endpoints, serving))
  )
}
