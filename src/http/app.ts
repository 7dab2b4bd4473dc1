import { Elysia } from 'elysia'
import { Refusal } from '../domain/errors'
import type { Context } from '../operations/context'
import { bookingRequest } from './booking-request'
import { documents } from './docs'
import { answerTo, isUnauthenticated } from './errors'
import { gate } from './gate'
import { providerRegions } from './provider-regions'
import { providers } from './providers'
import { user } from './user'

/**
 * The application: it answers requests and never listens.
 *
 * @param baseUrl the public address that links in answers begin with, without a slash at its end
 * @param addressOf where a request came from
 */
export function createApp(context: Context, baseUrl: string, addressOf: (request: Request) => string) {
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
          context.notebook.noteRefusal(error.kind, addressOf(request), context.clock.now())
        }
        return answerTo(error, code)
      })
      .use(documents(() => partnerApi(context, baseUrl), baseUrl))
      .use(partnerApi(context, baseUrl))
  )
}

function partnerApi(context: Context, baseUrl: string) {
  const app = gate(context)
  providerRegions(app, context, baseUrl)
  providers(app, context, baseUrl)
  bookingRequest(app, context)
  user(app, context)
  return app
}
