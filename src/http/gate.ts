import { bearer } from '@elysiajs/bearer'
import type { Static, TSchema } from '@sinclair/typebox'
import { Elysia } from 'elysia'
import { authenticate, unauthenticated } from '../auth/authenticate'
import { Refusal } from '../domain/errors'
import type { Caller, Partner } from '../domain/partner'
import type { Validator } from '../domain/validation'
import type { Context } from '../operations/context'
import { parseJson, readBody } from './body'
import { type Endpoint, organizationRefusals } from './endpoint'
import { MethodNotAllowed } from './errors'
import { misspelt } from './misspelt'
import { readParams, readQuery } from './query'

/** How many faults of one request are looked for. */
const mostFaults = 20

/** What an app serves its endpoints with. */
export interface Serving {
  readonly context: Context
  /** The public address that links in answers begin with, without a slash at its end. */
  readonly baseUrl: string
  /** Whether whoever builds against it is helped: by warnings, and examples that work at this moment. */
  readonly isSandbox: boolean
}

/** A request that has reached a path, as Elysia hands it over. */
interface Incoming {
  readonly request: Request
  readonly token: string | undefined
  readonly params: Record<string, string | null> | undefined
  readonly set: { readonly headers: Record<string, unknown> }
}

/**
 * The endpoints behind what stands before all of them. Each path is one route that takes every method, so that
 * who calls is asked before the method is judged (decisions, Order of checks), whatever the path's parameters.
 */
export function gate(endpoints: readonly Endpoint[], serving: Serving) {
  const app = new Elysia({ name: 'partner-api' })
    .onTransform(({ headers }) => {
      // The plugin below knows one case of the scheme and looks for tokens in the query too: it gets to see
      // a header in its own spelling or is not reached (RFC 9110 §11.1, RFC 6750 §2.1).
      const token = /^bearer ([^ ]+)$/i.exec(headers.authorization ?? '')?.[1]
      if (!token) throw unauthenticated('token_invalid')
      headers.authorization = `Bearer ${token}`
    })
    .use(bearer())
  for (const [path, there] of Map.groupBy(endpoints, ({ path }) => path)) {
    const serve = judging(there, serving)
    // Elysia would read a body before it is known who sends it.
    app.all(
      routeOf(path),
      ({ request, bearer: token, params, set }) => serve({ request, token, params, set }),
      {
        parse: 'none',
      },
    )
  }
  return app
}

/** A path's {names} as Elysia writes them. */
export function routeOf(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1')
}

/** What answers the requests to one path, which are judged in the order of the decisions. */
function judging(endpoints: readonly Endpoint[], serving: Serving) {
  const { context } = serving
  const takes = endpoints.map((endpoint) => ({ endpoint, carryOut: carryingOut(endpoint, serving) }))
  const allow = endpoints.map(({ method }) => (method === 'GET' ? 'GET, HEAD' : method)).join(', ')
  return async (incoming: Incoming): Promise<Response> => {
    const identity = await identify(context, incoming.token)
    context.notebook.noteUse(identity.kid, identity.now)
    const { method } = incoming.request
    // The answer to HEAD is that to GET; its body is left out where it is sent (RFC 9110 §9.3.2).
    const wanted = method === 'HEAD' ? 'GET' : method
    const taken = takes.find(({ endpoint }) => endpoint.method === wanted)
    if (!taken) throw new MethodNotAllowed(allow)
    return taken.carryOut(incoming, identity)
  }
}

function carryingOut(endpoint: Endpoint, { context, baseUrl, isSandbox }: Serving) {
  const { answer, checks } = endpoint
  const handle = endpoint.handler(context, baseUrl)
  return async ({ request, token, params, set }: Incoming, identity: Identity): Promise<Response> => {
    let [caller, now, body]: [Caller, number, unknown] = [callerOf(identity), identity.now, {}]
    if (endpoint.body) {
      const bytes = await readBody(request)
      // Whatever was revoked while the body was on its way counts.
      const again = await identify(context, token)
      caller = callerOf(again)
      now = again.now
      body = parseJson(bytes)
      const warning = isSandbox && misspelt(body, endpoint.body)
      if (warning) set.headers['X-Sandbox-Warning'] = warning
    }
    const reply = await handle({
      caller,
      now,
      params: valid(checks.params, 'path', readParams(params, checks.params.schema)),
      query: valid(checks.query, 'query', readQuery(request.url, checks.query.schema)),
      body: valid(checks.body, 'body', body),
    })
    const json = reply.body instanceof Uint8Array ? reply.body : JSON.stringify(reply.body)
    const headers = { 'Content-Type': 'application/json', ...reply.headers }
    return new Response(json, { status: answer.status, headers })
  }
}

/** Who a token stands for, at the instant at which this was asked. */
interface Identity {
  readonly kid: string
  readonly partner: Partner
  readonly now: number
}

/** @throws Refusal token_invalid, missing_claim, partner_not_found or partner_inactive */
async function identify({ directory, clock }: Context, token = ''): Promise<Identity> {
  await directory.catchUp()
  const now = clock.now()
  const { kid, partner } = await authenticate(token, (id) => directory.findKey(id), now)
  return { kid, partner, now }
}

function callerOf({ partner }: Identity): Caller {
  const refuse = (kind: keyof typeof organizationRefusals) => new Refusal(kind, organizationRefusals[kind])
  const { organization } = partner
  if (!organization) throw refuse('organization_not_configured')
  if (!organization.active) throw refuse('organization_deactivated')
  return { partner, organization }
}

/** @param whole what the whole is called where a fault is of no single field */
function valid<T extends TSchema>(check: Validator<T>, whole: string, value: unknown): Static<T> {
  if (check.accepts(value)) return value
  const faults = check.faultsOf(value, mostFaults).map(({ path, fault }) => `${path || whole}: ${fault}`)
  throw new Refusal('field_invalid', faults.join('; '))
}
