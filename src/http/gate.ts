import { bearer } from '@elysiajs/bearer'
import { Elysia } from 'elysia'
import { authenticate } from '../auth/authenticate'
import { Refusal } from '../domain/errors'
import type { Caller } from '../domain/partner'
import type { Context } from '../operations/context'
import { MethodNotAllowed } from './errors'

/** The contract's paths and the one method that each takes. */
const methods = {
  '/partners/v1/provider-regions/': 'GET',
  '/partners/v1/providers/': 'GET',
  '/partners/v1/booking-request/': 'POST',
  '/partners/v1/user/': 'GET',
} as const

/**
 * What stands before every route of the contract: it tells them their `caller` and the request's one `now`, or
 * ends the request with the 401, 405, 409 or 403 that comes first (decisions, Order of checks). It runs for
 * requests that have reached a route, whatever led them there, and before anything of a body is read.
 *
 * Routes are added to the instance that this returns: hooks keep their order on one instance alone.
 */
export function gate(context: Context) {
  return catchWrongMethods(authentication(context)).derive(({ partner }): { caller: Caller } => {
    const { organization } = partner
    if (!organization) {
      throw new Refusal('organization_not_configured', 'the partner has no organization configured')
    }
    if (!organization.active) {
      throw new Refusal('organization_deactivated', "the partner's organization is deactivated")
    }
    return { caller: { partner, organization } }
  })
}

/** The routes' app behind the gate. */
export type Gated = ReturnType<typeof gate>

function authentication(context: Context) {
  return new Elysia({ name: 'partner-api' })
    .onTransform(({ headers }) => {
      // The plugin below knows one case of the scheme and looks for tokens in the query too: it gets to see
      // a header in its own spelling or is not reached (RFC 9110 §11.1, RFC 6750 §2.1).
      const token = /^bearer ([^ ]+)$/i.exec(headers.authorization ?? '')?.[1]
      if (!token) throw new Refusal('token_invalid', 'the token is missing, malformed or not valid')
      headers.authorization = `Bearer ${token}`
    })
    .use(bearer())
    .derive(async ({ bearer: token = '', request, path }) => {
      await context.directory.catchUp()
      const now = context.clock.now()
      const { kid, partner } = await authenticate(token, (id) => context.directory.findKey(id), now)
      context.notebook.noteUse(kid, now)
      refuseWrongMethod(path, request.method)
      return { now, partner }
    })
}

function refuseWrongMethod(path: string, method: string): void {
  const allowed = methods[(path.endsWith('/') ? path : `${path}/`) as keyof typeof methods]
  if (method !== allowed) throw new MethodNotAllowed(allowed)
}

/** Routes for the methods that the contract's paths do not take, so that these reach the gate and its 405. */
function catchWrongMethods<App extends ReturnType<typeof authentication>>(app: App): App {
  const hidden = { parse: 'none', detail: { hide: true } } as const
  const unreachable = () => {
    throw new Error('the gate lets a wrong method through')
  }
  for (const path of Object.keys(methods)) {
    app.all(path, unreachable, hidden)
    // Elysia would give HEAD to the route of GET.
    app.route('HEAD', path, unreachable, hidden)
  }
  return app
}
