import type { Static, TSchema } from '@sinclair/typebox'
import { Elysia } from 'elysia'
import { authenticate, kidOf, recognize } from '../auth/authenticate'
import { Refusal } from '../domain/errors'
import type { Report } from '../domain/measures'
import type { Networks } from '../domain/networks'
import type { Caller, Partner } from '../domain/partner'
import type { Version } from '../domain/ports/directory-feed'
import type { Validator } from '../domain/validation'
import type { Context } from '../operations/context'
import { noPlace, type PlacesInFlight, placesInFlight, type Steps, Turns } from './admission'
import { refusing, tokenOf } from './authentication'
import { parseJson, readBody } from './body'
import { type Endpoint, organizationRefusals } from './endpoints/endpoint'
import { misspelt, readHeaders, readParams, readQuery } from './endpoints/query'
import { answerTo, isUnauthenticated, MethodNotAllowed } from './errors'
import type { Forwarding } from './listening/behind-proxy'
import { partnerBudgets } from './rate-limits'
import { type Seen, seenOf } from './request-log'
import { respond } from './respond'

/** How many faults of one request are looked for. */
const mostFaults = 20

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
  /** Where the places are counted from outside; its own, unless given. */
  readonly places?: PlacesInFlight
  /** Whether it is asked over TLS. */
  readonly isSecure?: boolean
  /** The proxies that do HTTPS for it: what comes from others, or plainly through them, is refused. */
  readonly proxies?: Networks | null
  /** Is told what an operator should know of; nobody unless given. */
  readonly report?: Report
}

/** A request that has reached a path. */
interface Incoming {
  readonly request: Request
  /** The token that it hands over; empty where there is none. */
  readonly token: string
  readonly params: Record<string, string | null> | undefined
  readonly seen: Seen
}

/** What comes of a request: at once, unless something is to be waited for. */
type Answer = Response | Promise<Response>

/**
 * The endpoints behind what stands before all of them. Each path is one route that takes every method, so that
 * who calls is asked before the method is judged (decisions, Order of checks), whatever the path's parameters.
 */
export function gate(
  endpoints: readonly Endpoint[],
  serving: Serving,
  { clientOf, refusePlain }: Forwarding,
) {
  const order = toOrder(serving)
  const refuse = refusing(serving.context, clientOf)
  const app = new Elysia({ name: 'partner-api' })
  for (const [path, there] of Map.groupBy(endpoints, ({ path }) => path)) {
    const judge = judging(there, serving, order, clientOf)
    const serve = ({ request, params }: Pick<Incoming, 'request' | 'params'>) => {
      const seen = seenOf(request)
      seen.route = path
      const plain = refusePlain(request, seen)
      if (plain) return plain
      return answering({ request, token: tokenOf(request), params, seen }, judge, refuse)
    }
    // Elysia would read a body before it is known who sends it.
    app.all(routeOf(path), serve, { parse: 'none' })
    // It would answer HEAD by measuring the whole answer to GET, and tell a length where there is none.
    app.head(routeOf(path), serve, { parse: 'none' })
  }
  return app
}

/** The answer to a request, and to whatever it is refused for: Elysia would make the answer to an error twice. */
function answering(
  incoming: Incoming,
  judge: (incoming: Incoming) => Answer,
  refuse: ReturnType<typeof refusing>,
): Answer {
  const answer = (error: unknown) =>
    isUnauthenticated(error)
      ? refuse(incoming.request, incoming.token, error, incoming.seen)
      : answerTo(error, 'UNKNOWN', incoming.seen)
  try {
    const judged = judge(incoming)
    return judged instanceof Promise ? judged.catch(answer) : judged
  } catch (error) {
    return answer(error)
  }
}

/** Goes on with a value: at once where it is there, since waiting for it costs more than most of what is done here. */
function andThen<T, R>(value: T | Promise<T>, goOn: (value: T) => R | Promise<R>): R | Promise<R> {
  return value instanceof Promise ? value.then(goOn) : goOn(value)
}

/** A path's {names} as Elysia writes them. */
export function routeOf(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1')
}

/** What keeps partners from starving one another, or those who read by those who write. */
type Order = ReturnType<typeof toOrder>

function toOrder({ context, places = placesInFlight() }: Serving) {
  return { spend: partnerBudgets(context), turns: new Turns(), ...places }
}

/** What answers the requests to one path, which are judged in the order of the decisions. */
function judging(
  endpoints: readonly Endpoint[],
  serving: Serving,
  order: Order,
  addressOf: (request: Request) => string,
) {
  const { context } = serving
  const shed = shedding(serving, order)
  const takes = endpoints.map((endpoint) => ({ endpoint, carryOut: carryingOut(endpoint, serving, order) }))
  const allow = endpoints.map(({ method }) => (method === 'GET' ? 'GET, HEAD' : method)).join(', ')
  return (incoming: Incoming): Answer => {
    const { method } = incoming.request
    // The answer to HEAD is that to GET; its body is left out where it is sent (RFC 9110 §9.3.2).
    const wanted = method === 'HEAD' ? 'GET' : method
    const taken = takes.find(({ endpoint }) => endpoint.method === wanted)
    const full = taken && wanted === 'POST' && shed(incoming)
    if (full) return full
    const identity = identify(context, incoming.token)
    // Where it may be refused after something was waited for, its client may have gone by then.
    incoming.seen.isLate = identity instanceof Promise || Boolean(taken?.endpoint.body)
    if (incoming.seen.isLate) addressOf(incoming.request)
    return andThen(identity, (identity) => {
      context.notebook.noteUse(identity.kid, identity.now)
      incoming.seen.partnerId = identity.partner.id
      if (taken) return taken.carryOut(incoming, identity)
      // It costs nothing, and is told how a budget of the path stands.
      for (const { budget } of endpoints) order.spend(budget, identity.partner, 0, incoming.seen.told)
      throw new MethodNotAllowed(allow)
    })
  }
}

/**
 * What refuses a booking for which there is no place before anything else is done for it, where a look tells who sends it:
 * refusing must cost a fraction of carrying out, or a flood leaves no time for what has a place (load shedding).
 */
function shedding({ context }: Serving, { bookings, spend }: Order) {
  const { directory, clock } = context
  // Made once: an error notes where it was made, which takes longer than all the rest.
  const full = noPlace()
  return ({ token, seen }: Incoming): Response | undefined => {
    if (!bookings.isCrowded) return
    const key = recognize(token, (kid) => directory.findKey(kid), clock.now())
    if (!key || bookings.hasPlaceFor(key.partner.id)) return
    seen.partnerId = key.partner.id
    return answerTo(spend('bookings', key.partner, 1, seen.told) ?? full, 'UNKNOWN', seen)
  }
}

/** What answers the requests to one endpoint whose token is in force. */
function carryingOut(endpoint: Endpoint, serving: Serving, order: Order) {
  const places = endpoint.method === 'GET' ? order.reads : order.bookings
  const attend = attending(endpoint, serving, order)
  const queryIn = readingQueries(endpoint)
  return (incoming: Incoming, identity: Identity): Answer => {
    const query = queryIn(incoming.request.url)
    const cost = query instanceof Refusal ? 1 : (endpoint.costOf?.(query) ?? 1)
    const refusal = order.spend(endpoint.budget, identity.partner, cost, incoming.seen.told)
    if (refusal) throw refusal
    // From here on, and before a body is read: whoever is let in holds a place until they are answered.
    const { id } = identity.partner
    places.take(id)
    let answer: Answer | undefined
    try {
      answer = attend(incoming, identity, query)
    } finally {
      if (!(answer instanceof Promise)) places.leave(id)
    }
    return answer instanceof Promise ? answer.finally(() => places.leave(id)) : answer
  }
}

const noBytes = new Uint8Array()

/** What answers a request that is within its partner's rate and has a place. */
function attending(endpoint: Endpoint, serving: Serving, { turns }: Order) {
  const { answer, checks, body: schema } = endpoint
  const { context, baseUrl } = serving
  const handle = endpoint.handler(context, baseUrl)
  return (
    incoming: Incoming,
    identity: Identity,
    query: ReturnType<ReturnType<typeof readingQueries>>,
  ): Answer => {
    const { request, token, seen } = incoming
    const caller = callerOf(identity)
    const carryOut = ({ caller, now, version, body, bytes }: Received): Answer => {
      const params = valid(checks.params, 'path', readParams(incoming.params, checks.params.schema))
      const headers = valid(checks.headers, 'headers', readHeaders(request.headers, checks.headers.schema))
      if (query instanceof Refusal) throw query
      const again = async () => {
        const again = await identify(context, token)
        callerOf(again)
        return again.version
      }
      const letIn = { version, again }
      const given = valid(checks.body, 'body', body)
      const made = handle({ caller, now, letIn, params, headers, query, body: given, bytes })
      const partnerId = caller.partner.id
      seen.isLate ||= 'next' in made
      return andThen('next' in made ? turns.take(partnerId, made) : made, (reply) =>
        respond(reply, { request, partnerId, status: answer.status, seen }, turns),
      )
    }
    const { now, version } = identity
    if (!schema) return carryOut({ caller, now, version, body: {}, bytes: noBytes })
    return receive(incoming, schema, serving, turns).then(carryOut)
  }
}

/** Queries that are remembered as they were read, and how long their text may be. */
const [mostQueries, mostQueryLength] = [1_000, 500]

/** What a query asks for: read first, since that decides what it costs, and refused where its turn comes. */
function readingQueries({ checks, answer }: Endpoint) {
  const read = (text: string) => {
    try {
      return valid(checks.query, 'query', readQuery(text, checks.query.schema))
    } catch (error) {
      if (error instanceof Refusal) return error
      throw error
    }
  }
  const known = new Map<string, ReturnType<typeof read>>()
  return (url: string) => {
    const mark = url.indexOf('?')
    const text = mark < 0 ? '' : url.slice(mark + 1)
    // Of what is asked over and over, and never of what names a person.
    if (!answer.isRevalidated || text.length > mostQueryLength) return read(text)
    const found = known.get(text)
    if (found) return found
    if (known.size >= mostQueries) known.clear()
    const query = read(text)
    known.set(text, query)
    return query
  }
}

/** Who sends a request, and what: once all of it is there. */
interface Received extends Pick<Identity, 'now' | 'version'> {
  readonly caller: Caller
  readonly body: unknown
  readonly bytes: Uint8Array
}

/** A request's body, and who sends it once it is there: whatever was revoked while it was on its way counts. */
async function receive(
  { request, token, seen }: Incoming,
  schema: TSchema,
  { context, isSandbox }: Serving,
  turns: Turns,
): Promise<Received> {
  const bytes = await readBody(request)
  const identity = await identify(context, token)
  const caller = callerOf(identity)
  const isLarge = bytes.length > mostBytesAtOnce
  const body = isLarge ? await turns.queue(caller.partner.id, parsing(bytes)) : parseJson(bytes)
  const warning = isSandbox && misspelt(body, schema)
  if (warning) seen.told['X-Sandbox-Warning'] = warning
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

/**
 * Who a token stands for by all that is stored. This is asked for each request: a commit can come between two of one turn of
 * the event loop, and whoever was told of it may have sent the second.
 *
 * @throws Refusal token_invalid, missing_claim, partner_not_found or partner_inactive, or rejects with it
 */
function identify({ directory, clock }: Context, token: string): Identity | Promise<Identity> {
  // What names no key is refused whatever is stored, and so is not asked.
  kidOf(token)
  return andThen(directory.catchUp(), () => {
    const now = clock.now()
    const { version } = directory
    const key = authenticate(token, (kid) => directory.findKey(kid), now)
    return andThen(key, ({ kid, partner }) => ({ kid, partner, now, version }))
  })
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
