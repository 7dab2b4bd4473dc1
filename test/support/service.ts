import type { DirectoryFile } from '../../src/directory-files/document'
import type { Networks } from '../../src/domain/addresses'
import type { Act } from '../../src/domain/audit'
import type { BookingRequest, Replay, RequestedSlot, ScreeningAnswer } from '../../src/domain/booking-request'
import type { DirectoryLoad } from '../../src/domain/decisions/compare-directory'
import { type Limits, unlimited } from '../../src/domain/limits'
import type { MemberUpdate } from '../../src/domain/member'
import type { Organization, Partner } from '../../src/domain/partner'
import type { Context } from '../../src/operations/context'
import { loadDirectory } from '../../src/operations/directory-loads'
import { submitBookingRequest } from '../../src/operations/requests'
import { issueFirstToken } from '../../src/operations/tokens'
import { parseInstant } from '../../src/scheduling/calendar'
import { openService } from '../../src/service'
import { actsOf } from './acts'
import { undeclaredError } from './declared'
import { type NewStorage, newStorage, type Storage } from './storage'

export interface TestPartner {
  readonly partner: Partner
  readonly organization: Organization | null
  readonly token: string
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly body: ReturnType<typeof JSON.parse>
}

/** A service on a real port, with a clock that only the test moves. */
export interface TestService {
  /** For example http://localhost:8080. */
  readonly baseUrl: string
  readonly context: Context
  readonly storage: Storage
  /** Null if metrics are off. */
  readonly metricsPort: number | null
  load(directory: unknown): Promise<DirectoryLoad>
  act(): Act
  /** Sets the clock to a UTC timestamp or ms. */
  setNow(timestamp: string | number): void
  /** Adds a partner with a token. By default the partner gets a new organization. */
  addPartner(name: string, organization?: Organization | null): Promise<TestPartner>
  submit(externalUserId: string, submission?: Partial<Submitted>): Promise<BookingRequest | Replay>
  /** Sends a GET request. If the token is null, the request has no token. */
  get(path: string, token?: string | null): Promise<Answer>
  /** Sends a POST request. A string becomes the body unchanged. Any other value is sent as JSON. */
  post(path: string, body: unknown, token?: string | null, headers?: Record<string, string>): Promise<Answer>
  /**
   * Sends any request.
   *
   * @throws Error for an error code that the OpenAPI document does not declare
   */
  send(path: string, init?: RequestInit): Promise<Answer>
  stop(): Promise<void>
}

interface Submitted {
  readonly slot: RequestedSlot | null
  readonly member: Partial<MemberUpdate>
  readonly screeningAnswers: readonly ScreeningAnswer[]
}

export interface TestServiceOptions {
  /** False for a service without HTTP, which starts faster. */
  readonly listens?: boolean
  readonly now?: string
  readonly directory?: DirectoryFile
  readonly limits?: Partial<Limits>
  readonly noDocs?: boolean
  readonly isMeasured?: boolean
  readonly proxies?: Networks
  readonly storage?: Storage
  /** A running service whose database and partner the new service shares. */
  readonly sharing?: { readonly partner: TestPartner; readonly storage: Storage }
}

/** A Tuesday. */
export const defaultNow = '2026-12-01T12:00:00Z'

/** Starts a service on a free port. The default token belongs to `partner`. */
export async function startService(
  options: TestServiceOptions = {},
): Promise<TestService & { readonly partner: TestPartner }> {
  const given = options.storage ?? options.sharing?.storage
  const place = given ? null : await newStorage()
  const storage = given ?? (place as NewStorage).storage
  let now = instantOf(options.now ?? defaultNow)
  const service = await openService({
    purpose: 'sandbox',
    ...storage,
    create: true,
    clock: { now: () => now },
    limits: { ...unlimited, ...options.limits },
    report: () => {},
  })
  const { context } = service
  const load = (directory: unknown) => loadDirectory(context, directory, actAt(now))
  if (options.directory) await load(options.directory)

  const addPartner = async (name: string, given?: Organization | null): Promise<TestPartner> => {
    const organization =
      given === undefined ? await actsOf(context).addOrganization(`${name} Org`, actAt(now)) : given
    const partner = await actsOf(context).addPartner(name, organization?.id ?? null, actAt(now))
    return { partner, organization, token: await issueFirstToken(context, partner, actAt(now)) }
  }
  const partner = options.sharing?.partner ?? (await addPartner('Test Partner'))

  const server =
    options.listens === false
      ? { baseUrl: 'http://not-listening.invalid', metricsPort: null, stop: async () => {} }
      : await service.listen({
          host: 'localhost',
          port: 0,
          noDocs: options.noDocs ?? false,
          metricsPort: options.isMeasured ? 0 : null,
          proxies: options.proxies ?? null,
        })
  const send = async (path: string, init: RequestInit = {}): Promise<Answer> => {
    const response = await fetch(`${server.baseUrl}${path}`, init)
    const text = await response.text()
    const code = response.headers.get('x-error-code')
    const fault = code && undeclaredError(init.method ?? 'GET', new URL(response.url).pathname, code)
    if (fault) throw new Error(fault)
    const isJson = response.headers.get('content-type')?.startsWith('application/json')
    return {
      status: response.status,
      headers: response.headers,
      body: isJson && text ? JSON.parse(text) : text,
    }
  }
  const bearer = (token: string | null | undefined): Record<string, string> =>
    token === null ? {} : { Authorization: `Bearer ${token ?? partner.token}` }

  return {
    baseUrl: server.baseUrl,
    context,
    storage,
    metricsPort: server.metricsPort,
    partner,
    addPartner,
    load,
    act: () => actAt(now),
    setNow: (timestamp) => {
      now = typeof timestamp === 'number' ? timestamp : instantOf(timestamp)
    },
    submit: (externalUserId, { slot = null, member = {}, screeningAnswers = [] } = {}) => {
      const email = `${externalUserId}@example.com`
      const sentMember = { email, firstName: 'Robin', lastName: 'Sample', country: 'CA', ...member }
      const draft = {
        partnerId: partner.partner.id,
        externalUserId,
        member: sentMember,
        slot,
        screeningAnswers,
      }
      return submitBookingRequest(context, { ...draft, retry: null }, now)
    },
    get: (path, token) => send(path, { headers: bearer(token) }),
    post: (path, body, token, headers = {}) =>
      send(path, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', ...bearer(token), ...headers },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
    send,
    async stop() {
      await server.stop()
      await service.close()
      await place?.[Symbol.asyncDispose]()
    },
  }
}

export const actAt = (at: number): Act => ({ actor: 'test', at })

function instantOf(timestamp: string): number {
  const instant = parseInstant(timestamp)
  if (instant === null) throw new Error(`not a UTC timestamp: ${timestamp}`)
  return instant
}
