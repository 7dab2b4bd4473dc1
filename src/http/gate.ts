import { bearer as bearerPlugin } from '@elysiajs/bearer'
import type { Static, TSchema } from '@sinclair/typebox'
import { Elysia } from 'elysia'
import { authenticate, recognize, unauthenticated } from '../auth/authenticate'
import type { Version } from '../domain/directory-feed'
import { Refusal } from '../domain/errors'
import type { Caller, Partner } from '../domain/partner'
import type { Validator } from '../domain/validation'
import type { Context } from '../operations/context'
import { parseJson, readBody } from './body'
import { type Endpoint, organizationRefusals } from './endpoint'
import { answerTo, MethodNotAllowed } from './errors'
import { misspelt } from './misspelt'
import { noPlace, Places } from './places'
import { readHeaders, readParams, readQuery } from './query'
import { partnerBudgets } from './rates'
import { respond } from './respond'
import { type Steps, Turns } from './turns'

/** How many faults of one request are looked for. */
const mostFaults = 20

/** The requests in flight of all partners, and of one: as many bookings are written in a fraction of a second. */
const [mostInFlight, mostOfOnePartner] = [512, 256]

/**
 * The largest body that is parsed as soon as it is there, as nearly every one is. Of larger ones a partner may send hundreds
 * together, which would keep all others waiting for seconds, and be in memory all at once.
 */
const mostBytesAtOnce = 8 * 1024

/** What an app serves its endpoints with. */
export interface Serving {
  readonly context: Context
  /** The public address that links in answers begin with, without a slash at its end. */
  readonly baseUrl: string
  /** Whether whoever builds against it is helped: by warnings, and examples that work at this moment. */
  readonly isSandbox: boolean
  /** Whether the documents are left out. */
  readonly noDocs?: boolean
}

/** A request that has reached a path, as Elysia hands it over. */
interface Incoming {
  readonly request: Request
  readonly bearer: string | undefined
  readonly params: Record<string, string | null> | undefined
  readonly set: { headers: Record<string, string | number> }
}

/**
 * The endpoints behind what stands before all of them. Each path is one route that takes every method, so that
 * who calls is asked before the method is judged (decisions, Order of checks), whatever the path's parameters.
 */
export function gate(endpoints: readonly Endpoint[], serving: Serving) {
  const order = toOrder(serving)
  const shed = shedding(endpoints, serving, order)
  const app = new Elysia({ name: 'partner-api' })
    .onRequest(({ request }) => shed(request))
    .onTransform(({ headers }) => {
      // The plugin below knows one case of the scheme and looks for tokens in the query too: it gets to see
      // a header in its own spelling or is not reached (RFC 9110 §11.1, RFC 6750 §2.1).
      const token = tokenIn(headers.authorization)
      if (!token) throw unauthenticated('token_invalid')
      headers.authorization = `Bearer ${token}`
    })
    .use(bearerPlugin())
  for (const [path, there] of Map.groupBy(endpoints, ({ path }) => path)) {
    const serve = judging(there, serving, order)
    // Elysia would read a body before it is known who sends it.
    app.all(routeOf(path), ({ request, bearer, params, set }) => serve({ request, bearer, params, set }), {
      parse: 'none',
    })
  }
  return app
}

/** A path's {names} as Elysia writes them. */
export function routeOf(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1')
}

/** What keeps partners from starving one another, or those who read by those who write. */
type Order = ReturnType<typeof toOrder>

function toOrder({ context }: Serving) {
  const places = () => new Places(mostInFlight, mostOfOnePartner)
  return { spend: partnerBudgets(context), turns: new Turns(), reads: places(), bookings: places() }
}

/** The token that an Authorization header hands over. */
function tokenIn(authorization: string | null | undefined): string | undefined {
  return /^bearer ([^ ]+)$/i.exec(authorization ?? '')?.[1]
}

/**
 * What refuses a booking for which there is no place before anything else is done for it, where a look tells who sends it:
 * refusing must cost a fraction of carrying out, or a flood leaves no time for what has a place (load shedding).
 */
function shedding(endpoints: readonly Endpoint[], { context }: Serving, { bookings, spend }: Order) {
  const { directory, clock } = context
  const paths = new Set(endpoints.filter(({ method }) => method === 'POST').map(({ path }) => path))
  // Made once: an error notes where it was made, which takes longer than all the rest.
  const full = noPlace()
  return ({ method, url, headers }: Request): Response | undefined => {
    if (!bookings.isCrowded || method !== 'POST') return
    const path = URL.parse(url)?.pathname ?? ''
    if (!paths.has(path.endsWith('/') ? path : `${path}/`)) return
    const token = tokenIn(headers.get('authorization'))
    const key = token && recognize(token, (kid) => directory.findKey(kid), clock.now())
    if (!key || bookings.hasPlaceFor(key.partner.id)) return
    const told: Record<string, string> = {}
    return answerTo(spend('bookings', key.partner, 1, told) ?? full, 'UNKNOWN', told)
  }
}

/** What answers the requests to one path, which are judged in the order of the decisions. */
function judging(endpoints: readonly Endpoint[], serving: Serving, order: Order) {
  const { context } = serving
  const takes = endpoints.map((endpoint) => ({ endpoint, carryOut: carryingOut(endpoint, serving, order) }))
  const allow = endpoints.map(({ method }) => (method === 'GET' ? 'GET, HEAD' : method)).join(', ')
  return async (incoming: Incoming): Promise<Response> => {
    const identity = await identify(context, incoming.bearer)
    context.notebook.noteUse(identity.kid, identity.now)
    const { method } = incoming.request
    // The answer to HEAD is that to GET; its body is left out where it is sent (RFC 9110 §9.3.2).
    const wanted = method === 'HEAD' ? 'GET' : method
    const taken = takes.find(({ endpoint }) => endpoint.method === wanted)
    if (taken) return taken.carryOut(incoming, identity)
    // It costs nothing, and is told how a budget of the path stands.
    for (const { budget } of endpoints) order.spend(budget, identity.partner, 0, incoming.set.headers)
    throw new MethodNotAllowed(allow)
  }
}

/** What answers the requests to one endpoint whose token is in force. */
function carryingOut(endpoint: Endpoint, serving: Serving, order: Order) {
  const places = endpoint.method === 'GET' ? order.reads : order.bookings
  const attend = attending(endpoint, serving, order)
  return async (incoming: Incoming, identity: Identity): Promise<Response> => {
    const query = queryOf(endpoint, incoming.request.url)
    const cost = query instanceof Refusal ? 1 : (endpoint.costOf?.(query) ?? 1)
    const refusal = order.spend(endpoint.budget, identity.partner, cost, incoming.set.headers)
    if (refusal) throw refusal
    // From here on, and before a body is read: whoever is let in holds a place until they are answered.
    const leave = places.take(identity.partner.id)
    try {
      return await attend(incoming, identity, query)
    } finally {
      leave()
    }
  }
}

/** What answers a request that is within its partner's rate and has a place. */
function attending(endpoint: Endpoint, serving: Serving, { turns }: Order) {
  const { answer, checks, body: schema } = endpoint
  const handle = endpoint.handler(serving.context, serving.baseUrl)
  return async (
    incoming: Incoming,
    identity: Identity,
    query: ReturnType<typeof queryOf>,
  ): Promise<Response> => {
    const { params, request, set } = incoming
    const caller = callerOf(identity)
    const bodiless = {
      caller,
      now: identity.now,
      version: identity.version,
      body: {},
      bytes: new Uint8Array(),
    }
    const { version, ...received } = schema ? await receive(incoming, schema, serving, turns) : bodiless
    const givenParams = valid(checks.params, 'path', readParams(params, checks.params.schema))
    const givenHeaders = valid(checks.headers, 'headers', readHeaders(request.headers, checks.headers.schema))
    if (query instanceof Refusal) throw query
    const made = handle({
      ...received,
      letIn: {
        version,
        async again() {
          const again = await identify(serving.context, incoming.bearer)
          callerOf(again)
          return again.version
        },
      },
      params: givenParams,
      headers: givenHeaders,
      query,
      body: valid(checks.body, 'body', received.body),
    })
    const partnerId = caller.partner.id
    const reply = await ('next' in made ? turns.take(partnerId, made) : made)
    const told = set.headers as Record<string, string>
    // Elysia would add them too, and take four times as long as all that stands behind them.
    set.headers = {}
    return respond(reply, { request, partnerId, status: answer.status, told }, turns)
  }
}

/** What a query asks for: read first, since that decides what it costs, and refused where its turn comes. */
function queryOf({ checks: { query } }: Endpoint, url: string) {
  try {
    return valid(query, 'query', readQuery(url, query.schema))
  } catch (error) {
    if (error instanceof Refusal) return error
    throw error
  }
}

/** A request's body, and who sends it once it is there: whatever was revoked while it was on its way counts. */
async function receive(
  { request, bearer, set }: Incoming,
  schema: TSchema,
  { context, isSandbox }: Serving,
  turns: Turns,
) {
  const bytes = await readBody(request)
  const identity = await identify(context, bearer)
  const caller = callerOf(identity)
  const isLarge = bytes.length > mostBytesAtOnce
  const body = isLarge ? await turns.queue(caller.partner.id, parsing(bytes)) : parseJson(bytes)
  const warning = isSandbox && misspelt(body, schema)
  if (warning) set.headers['X-Sandbox-Warning'] = warning
  return { caller, now: identity.now, version: identity.version, body, bytes }
}

/** Parses a large body, which takes some ms: a turn. */
function* parsing(bytes: Uint8Array): Steps<unknown> {
  const body = parseJson(bytes)
  yield
  return body
}

/** Who a token stands for, at the instant at which this was asked. */
interface Identity {
  readonly kid: string
  readonly partner: Partner
  readonly now: number
  /** The directory's, as it was asked: it may have a newer one by the time a token is verified. */
  readonly version: Version
}

/** @throws Refusal token_invalid, missing_claim, partner_not_found or partner_inactive */
async function identify({ directory, clock }: Context, token = ''): Promise<Identity> {
  await directory.catchUp()
  const now = clock.now()
  const { version } = directory
  const { kid, partner } = await authenticate(token, (id) => directory.findKey(id), now)
  return { kid, partner, now, version }
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
