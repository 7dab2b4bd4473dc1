import type { Static, TSchema } from '@sinclair/typebox'
import { Elysia } from 'elysia'
import { authenticate, kidOf, recognize } from '../auth/token'
import type { Networks } from '../domain/addresses'
import { Refusal } from '../domain/errors'
import type { Report } from '../domain/measures'
import type { Caller, Partner } from '../domain/partner'
import type { Version } from '../domain/ports/directory-feed'
import type { Validator } from '../domain/validation'
import type { Context } from '../operations/context'
import { type ConcurrencyLimits, concurrencyLimits, FairQueue, overloaded } from './admission'
import { refusing, tokenOf } from './authentication'
import { costOfBody, declaredBytes, parseJson, readBody, skipBody } from './body'
import { type Endpoint, organizationRefusals } from './endpoints/endpoint'
import { parametersOf, readHeaders, readParams, readQuery, warnOfTypos } from './endpoints/query'
import { answerTo, isUnauthenticated, MethodNotAllowed } from './errors'
import { type Forwarding, goneClient } from './listening/behind-proxy'
import { type LogEntry, logEntryOf } from './log'
import { intakeBudgets, partnerBudgets } from './rate-limits'
import { respond } from './respond'

const mostFaults = 20

/** In bytes. Larger bodies wait for the partner's turn: hundreds of them would delay other partners by seconds. */
const mostBytesAtOnce = 8 * 1024

export interface Serving {
  readonly context: Context
  /** Public address for links, without a trailing slash. */
  readonly baseUrl: string
  /** A sandbox warns of likely typos, and its examples use a free slot. */
  readonly isSandbox: boolean
  readonly noDocs?: boolean
  readonly places?: ConcurrencyLimits
  readonly isSecure?: boolean
  /** Proxies that terminate HTTPS. All other requests are rejected. */
  readonly proxies?: Networks | null
  readonly report?: Report
}

type Admission = ReturnType<typeof admissionOf>

export function admissionOf({ context, places = concurrencyLimits() }: Serving) {
  const [spend, spendIntake] = [partnerBudgets(context), intakeBudgets(context)]
  return { spend, spendIntake, queue: new FairQueue(), ...places }
}

/** Rejects excess bookings with verified tokens before routing: a rejection must cost far less than a booking. */
export function shedding(
  endpoints: readonly Endpoint[],
  { context: { directory, clock } }: Serving,
  { bookings, spend }: Admission,
  { clientOf, refusePlain }: Forwarding,
): (request: Request, entry: LogEntry) => Response | undefined {
  const posts = endpoints.filter(({ method }) => method === 'POST')
  const patterns = posts.map(({ path }) => ({ path, pattern: patternOf(path) }))
  // Creates the error once, because capturing a stack takes longer than the rest of this function.
  const full = overloaded()
  return (request, entry) => {
    if (!bookings.isCrowded || request.method !== 'POST') return
    const { path } = patterns.find(({ pattern }) => pattern.test(request.url)) ?? {}
    const findKey = (kid: string) => directory.findKey(kid)
    const key = path && recognize(tokenOf(request), findKey, clock.now(), clientOf(request))
    if (!key || bookings.hasRoomFor(key.partner.id)) return
    entry.route = path
    const plain = refusePlain(request, entry)
    if (plain) return plain
    entry.partnerId = key.partner.id
    return answerTo(spend('bookings', key.partner, 1, entry.headers) ?? full, 'UNKNOWN', entry)
  }
}

/** Matches URLs with this path. Ignores the query and a missing trailing slash. */
function patternOf(path: string): RegExp {
  const own = path.replaceAll(/\{\w+\}/g, '[^/?]+').replace(/\/$/, '/?')
  return new RegExp(`^[^/]*//[^/]+${own}(?:\\?|$)`)
}

interface Route {
  readonly path: string
  readonly endpoints: readonly (Endpoint & { readonly handle: ReturnType<Endpoint['handler']> })[]
}

interface Incoming {
  readonly request: Request
  readonly params: Record<string, string | null> | undefined
  readonly entry: LogEntry
}

/** Adds one route for all methods of a path. Authentication comes before the check of the method. */
export function gate(
  endpoints: readonly Endpoint[],
  serving: Serving,
  admission: Admission,
  forwarding: Forwarding,
) {
  const door = new Gate(serving, admission, forwarding)
  const app = new Elysia({ name: 'partner-api' })
  for (const [path, there] of Map.groupBy(endpoints, ({ path }) => path)) {
    const handled = there.map((one) => ({ ...one, handle: one.handler(serving.context, serving.baseUrl) }))
    const route: Route = { path, endpoints: handled }
    const serve = ({ request, params }: Pick<Incoming, 'request' | 'params'>) => {
      const entry = logEntryOf(request)
      entry.route = path
      return forwarding.refusePlain(request, entry) || door.answer(route, { request, params, entry })
    }
    // parse: 'none' stops Elysia from reading the body before authentication.
    app.all(routeOf(path), serve, { parse: 'none' })
    // By default, Elysia measures the body of GET to answer HEAD. The length is wrong for streams.
    app.head(routeOf(path), serve, { parse: 'none' })
  }
  return app
}

/** Converts {names} in a path to Elysia's syntax. */
export function routeOf(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1')
}

const noBytes = new Uint8Array()

class Gate {
  readonly #refuse: ReturnType<typeof refusing>

  constructor(
    private readonly serving: Serving,
    private readonly admission: Admission,
    private readonly forwarding: Forwarding,
  ) {
    this.#refuse = refusing(serving.context)
  }

  /** Runs the checks in order (docs/architecture.md, Order of checks). Awaits only promises, for speed. */
  async answer(route: Route, { request, params, entry }: Incoming): Promise<Response> {
    const { context, isSandbox } = this.serving
    const { spend, spendIntake, reads, bookings, queue } = this.admission
    const token = tokenOf(request)
    // Reads the client's address now, because the address is unknown after a disconnection.
    const address = this.forwarding.clientOf(request)
    // The audit log could not name this user of the token. The client gets no response anyway.
    if (address === goneClient) return answerTo(overloaded(), 'UNKNOWN', entry)
    let [place, partnerId] = [null as typeof reads | null, 0]
    let within: string | undefined
    try {
      // Handles HEAD like GET. The body is dropped when the response is sent (RFC 9110 §9.3.2).
      const method = request.method === 'HEAD' ? 'GET' : request.method
      const endpoint = route.endpoints.find((one) => one.method === method)
      const identifying = identify(context, token, address)
      entry.isLate = identifying instanceof Promise || method === 'POST'
      let identity = identifying instanceof Promise ? await identifying : identifying
      const { partner } = identity
      context.notebook.noteUse(identity.kid, identity.now)
      context.notebook.noteAddress(identity.kid, partner.id, address, identity.now)
      entry.partnerId = partnerId = partner.id
      within = endpoint?.within
      if (!endpoint) throw this.#wrongMethod(route, partner, entry)

      const query = readQueryOf(endpoint, request.url)
      if (isSandbox) warnOfTypos(parametersOf(request.url), endpoint.checks.query.schema, entry)
      const byBody = costOfBody(endpoint.body ? declaredBytes(request) : 0)
      const cost = query instanceof Refusal ? 1 : (endpoint.costOf?.(query) ?? byBody)
      const refusal = spend(endpoint.budget, partner, cost, entry.headers)
      if (refusal) throw refusal
      const places = method === 'GET' ? reads : bookings
      places.acquire(partnerId)
      place = places

      callerOf(identity)
      let [bytes, body]: [Uint8Array, unknown] = [noBytes, {}]
      if (method === 'POST') {
        bytes = await (endpoint.body ? readBody : skipBody)(request)
        // The token may have been revoked while the body arrived.
        identity = await identify(context, token, address)
        callerOf(identity)
        const uncharged = endpoint.costOf ? 0 : costOfBody(bytes.length) - cost
        const tooLarge = uncharged > 0 ? spend(endpoint.budget, partner, uncharged, entry.headers) : null
        if (tooLarge) throw tooLarge
      }
      if (endpoint.body) {
        if (bytes.length > mostBytesAtOnce) await queue.turn(partnerId)
        body = parseJson(bytes)
        if (isSandbox) warnOfTypos(body, endpoint.body, entry)
      }
      const { now, version } = identity
      const given = validated(endpoint, { params, headers: request.headers, query, body })
      const turn = queue.turnsOf(partnerId)
      const caller = callerOf(identity)
      const again = () => identifyAgain(context, token, address)
      const authenticated = { version, partner: caller.partner, again }
      const intake = () => spendIntake(caller.partner, entry.headers)
      const call = { ...given, method: request.method, caller, now, bytes, authenticated, turn, intake }
      const running = endpoint.handle(call)
      entry.isLate ||= running instanceof Promise
      const reply = running instanceof Promise ? await running : running

      // A 304 costs 1.
      const refund = () => void spend(endpoint.budget, partner, 1 - cost, entry.headers)
      const { status } = endpoint.answer
      const sending = respond(reply, { request, partnerId, status, entry, refund }, queue)
      return sending instanceof Promise ? await sending : sending
    } catch (error) {
      return isUnauthenticated(error)
        ? this.#refuse(address, token, error, entry)
        : answerTo(error, 'UNKNOWN', entry, within)
    } finally {
      place?.release(partnerId)
    }
  }

  /** Returns the error for a wrong method. Sets the rate limit headers, but charges no budget. */
  #wrongMethod({ endpoints }: Route, partner: Partner, entry: LogEntry): MethodNotAllowed {
    for (const { budget } of endpoints) this.admission.spend(budget, partner, 0, entry.headers)
    return new MethodNotAllowed(
      endpoints.map(({ method }) => (method === 'GET' ? 'GET, HEAD' : method)).join(', '),
    )
  }
}

/** Reads the query early, to know the cost. Returns an error and does not throw: other checks come first. */
function readQueryOf({ checks }: Endpoint, url: string) {
  const mark = url.indexOf('?')
  try {
    return valid(checks.query, 'query', readQuery(mark < 0 ? '' : url.slice(mark + 1), checks.query.schema))
  } catch (error) {
    if (error instanceof Refusal) return error
    throw error
  }
}

/** @throws Refusal field_invalid for the first invalid part of path, headers, query and body */
function validated(
  { checks }: Endpoint,
  sent: Pick<Incoming, 'params'> & {
    readonly headers: Headers
    readonly query: ReturnType<typeof readQueryOf>
    readonly body: unknown
  },
) {
  const params = valid(checks.params, 'path', readParams(sent.params, checks.params.schema))
  const headers = valid(checks.headers, 'headers', readHeaders(sent.headers, checks.headers.schema))
  if (sent.query instanceof Refusal) throw sent.query
  return { params, headers, query: sent.query, body: valid(checks.body, 'body', sent.body) }
}

/** The partner of a token at the time `now` (ms). */
interface Identity {
  readonly kid: string
  readonly partner: Partner
  readonly now: number
  /** Directory version at `now`. A newer version may exist once the signature is verified. */
  readonly version: Version
}

/** Authenticates a token. Reads newly committed data first, because the token may have been revoked. Fails with 401. */
function identify(context: Context, token: string, address: string): Identity | Promise<Identity> {
  // Rejects a malformed token before the database is read.
  kidOf(token)
  const catchingUp = context.directory.catchUp()
  const identity = () => identityOf(context, token, address)
  return catchingUp ? catchingUp.then(identity) : identity()
}

function identityOf(
  { directory, clock }: Context,
  token: string,
  address: string,
): Identity | Promise<Identity> {
  const now = clock.now()
  const { version } = directory
  const key = authenticate(token, (kid) => directory.findKey(kid), now, address)
  if (key instanceof Promise) return key.then(({ kid, partner }) => ({ kid, partner, now, version }))
  return { kid: key.kid, partner: key.partner, now, version }
}

async function identifyAgain(context: Context, token: string, address: string): Promise<Identity> {
  const identity = await identify(context, token, address)
  callerOf(identity)
  return identity
}

/** @throws Refusal organization_not_configured or organization_deactivated */
function callerOf({ partner }: Identity): Caller {
  const refuse = (kind: keyof typeof organizationRefusals) => new Refusal(kind, organizationRefusals[kind])
  const { organization } = partner
  if (!organization) throw refuse('organization_not_configured')
  if (!organization.active) throw refuse('organization_deactivated')
  return { partner, organization }
}

/** @param whole name in the message if the fault is not about a single field */
export function valid<T extends TSchema>(check: Validator<T>, whole: string, value: unknown): Static<T> {
  if (check.accepts(value)) return value
  const faults = check.faultsOf(value, mostFaults).map(({ path, fault }) => `${path || whole}: ${fault}`)
  throw new Refusal('field_invalid', faults.join('; '))
}
