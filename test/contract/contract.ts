import { expect } from 'bun:test'
import { createHmac, randomBytes } from 'node:crypto'
import { connect } from 'node:net'
import type { DirectoryFile } from '../../src/directory-files/document'
import { weekdays } from '../../src/domain/provider'
import { booking } from '../support/builders'
import type { Answer, TestPartner, TestService } from '../support/service'

export const paths = {
  regions: '/partners/v1/provider-regions/',
  providers: '/partners/v1/providers/',
  booking: '/partners/v1/booking-request/',
  user: '/partners/v1/user/',
  request: '/partners/v1/booking-request/{id}/',
  cancel: '/partners/v1/booking-request/{id}/cancel/',
  reschedule: '/partners/v1/booking-request/{id}/reschedule/',
  changes: '/partners/v1/booking-request-changes/',
} as const

/** Texts that no response may contain, because they reveal the implementation. */
const internals = [
  'sqlite',
  'drizzle',
  'node_modules',
  '/src/',
  '/db/',
  '.ts:',
  '    at ',
  'elysia',
  'typebox',
]

/** Asserts that a response does not contain the given texts and does not reveal the implementation. */
export function expectAbsent(answer: Answer, absent: readonly string[]): void {
  const whole = JSON.stringify([answer.body, [...answer.headers]])
  const found = absent.filter((text) => text !== '' && whole.includes(text))
  const leaked = internals.filter((text) => whole.toLowerCase().includes(text))
  expect([...found, ...leaked]).toEqual([])
}

export interface ExpectedRefusal {
  readonly status: number
  /** The expected X-Error-Code. If omitted, any well-formed code is accepted. */
  readonly kind?: string
  /** A field path or a pattern that the message must contain. */
  readonly path?: string | RegExp
  /** Texts that the response must not contain. */
  readonly absent?: readonly string[]
}

/** Asserts the JSON body `{message, status}` and the headers of an error response other than 401. */
export function expectRefusal(answer: Answer, { status, kind, path, absent = [] }: ExpectedRefusal): void {
  expect({ status: answer.status, body: answer.body }).toEqual({
    status,
    body: { message: expect.stringMatching(/\S/), status },
  })
  if (path !== undefined) expect(answer.body.message).toMatch(naming(path))
  expect(answer.headers.get('x-error-code')).toMatch(kind ? new RegExp(`^${kind}$`) : /^[a-z]+(_[a-z]+)*$/)
  expect(answer.headers.get('content-type')).toBe('application/json')
  expect(answer.headers.get('www-authenticate')).toBeNull()
  expectNoStore(answer)
  expectAbsent(answer, absent)
}

/** Asserts the headers that forbid caching and sniffing, and the request id. */
export function expectNoStore({ headers }: Answer): void {
  expect(headers.get('cache-control')).toBe('no-store')
  expect(headers.get('x-content-type-options')).toBe('nosniff')
  expect(headers.get('x-request-id')).toMatch(/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/)
}

/** Returns a pattern for a field path in a message. The pattern does not match inside a longer path. */
function naming(path: string | RegExp): RegExp {
  if (path instanceof RegExp) return path
  return new RegExp(`(^|[^\\w.\\]])${path.replace(/[.[\]]/g, '\\$&')}: `)
}

/** Asserts the JSON body `{code, message}` and the headers of a 401. */
export function expectUnauthorized(answer: Answer, code: string, absent: readonly string[] = []): void {
  expect({ status: answer.status, body: answer.body }).toEqual({
    status: 401,
    body: { code, message: expect.stringMatching(/\S/) },
  })
  expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer( error="invalid_token")?$/)
  expectNoStore(answer)
  expect(answer.headers.get('x-error-code')).toBe(code)
  expect(answer.headers.get('content-type')).toBe('application/json')
  expectAbsent(answer, absent)
}

/** Asserts a 200 or 201 with exactly this JSON body and without error headers. */
export function expectSuccess(answer: Answer, status: 200 | 201, body: unknown): void {
  expect({ status: answer.status, body: answer.body }).toEqual({ status, body })
  expect(answer.headers.get('content-type')).toBe('application/json')
  expect(answer.headers.get('x-error-code')).toBeNull()
}

export function lookUp(service: TestService, externalUserId: string, token?: string): Promise<Answer> {
  return service.get(`${paths.user}?external_user_id=${encodeURIComponent(externalUserId)}`, token)
}

export function endOf(utcStartTime: string): string {
  return `${new Date(Date.parse(utcStartTime) + 45 * 60_000).toISOString().slice(0, 19)}Z`
}

/** Returns the slots with these start times in the form of a search result. */
export function slotsAt(...starts: string[]): { utcStartTime: string; utcEndTime: string }[] {
  return starts.map((utcStartTime) => ({ utcStartTime, utcEndTime: endOf(utcStartTime) }))
}

type WorkingHours = DirectoryFile['providers'][number]['workingHours'][number]

export const everyDay: WorkingHours['weekdays'] = [...weekdays]

/** Working hours on one date only. */
export function on(date: string, start: string, end: string, more: Partial<WorkingHours> = {}): WorkingHours {
  return { weekdays: everyDay, start, end, from: date, until: date, ...more }
}

/** Working hours on every day. */
export function daily(start: string, end: string): WorkingHours {
  return { weekdays: everyDay, start, end }
}

/** Searches a region and returns the entry of the provider with the given last name. */
export async function entryOf(service: TestService, regionId: number, lastName: string) {
  const answer = await service.get(`${paths.providers}?region_id=${regionId}&page_size=100`)
  expect(answer.status).toBe(200)
  const entries: { providerId: number; details: { lastName: string }; availability: unknown[] }[] =
    answer.body.results
  const entry = entries.find(({ details }) => details.lastName === lastName)
  if (!entry) throw new Error(`${lastName} is not listed in region ${regionId}`)
  return entry
}

/** Returns the last names of the found providers in the order of the search. */
export async function lastNames(service: TestService, query: string): Promise<string[]> {
  const answer = await service.get(`${paths.providers}?${query}`)
  expect(answer.status).toBe(200)
  const results: { details: { lastName: string } }[] = answer.body.results
  expect(answer.body.count).toBe(results.length)
  return results.map(({ details }) => details.lastName)
}

/** Encodes a JWS segment (base64url). A string is encoded unchanged, other values as JSON. */
export function segment(value: unknown): string {
  return Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')
}

/** Builds a compact JWS, signed with HMAC. The default secret is random. */
export function signed(header: unknown, secret: Uint8Array = randomBytes(32), hash = 'sha256'): string {
  const input = `${segment(header)}.${segment({ iat: 1_796_126_400 })}`
  return `${input}.${createHmac(hash, secret).update(input).digest('base64url')}`
}

/** Sends raw bytes over a new connection and returns the first response. */
export function sendRaw(baseUrl: string, head: readonly string[], body: string | Uint8Array = '') {
  return sendSlowly(baseUrl, head, body)
}

/** The head of a booking with a body of this length. `lines` are further header fields. */
export const bookingHead = ({ token }: Pick<TestPartner, 'token'>, length: number, ...lines: string[]) => [
  `POST ${paths.booking} HTTP/1.1`,
  'Host: localhost',
  `Authorization: Bearer ${token}`,
  'Content-Type: application/json',
  `Content-Length: ${length}`,
  ...lines,
]

/** Sends a booking in two halves. */
export function submitSlowly({ baseUrl }: TestService, externalUserId: string, partner: TestPartner) {
  const body = JSON.stringify(booking(externalUserId))
  return sendSlowly(baseUrl, bookingHead(partner, body.length), body)
}

/** Expects that every partner can list regions, search and look up members. */
export async function expectReadsGoOn(service: TestService, partners: readonly TestPartner[]): Promise<void> {
  for (const { token } of partners) {
    expect((await service.get(`${paths.regions}?country_code=CA`, token)).status).toBe(200)
    expect((await service.get(`${paths.providers}?region_id=31&page_size=1`, token)).status).toBe(200)
    expect((await lookUp(service, 'unknown-member', token)).status).toBe(404)
  }
}

/** Sends the first half of the body at once, and the second half after `meanwhile` has resolved. */
export function sendSlowly(
  baseUrl: string,
  head: readonly string[],
  body: string | Uint8Array,
  meanwhile?: () => Promise<unknown>,
) {
  const { hostname, port } = new URL(baseUrl)
  return new Promise<Answer>((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port) })
    let received = Buffer.alloc(0)
    const settle = (isEnd: boolean) => {
      const answer = parseAnswer(received, isEnd)
      if (!answer) return
      socket.destroy()
      resolve(answer)
    }
    socket.setTimeout(10_000, () => {
      socket.destroy()
      reject(new Error(`no complete response within 10 s to ${head[0]}; received: ${received}`))
    })
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk])
      settle(false)
    })
    socket.on('end', () => settle(true))
    socket.on('close', () =>
      reject(new Error(`closed without a complete response to ${head[0]}: ${received}`)),
    )
    socket.on('error', reject)
    socket.write(`${head.join('\r\n')}\r\n\r\n`)
    const half = meanwhile ? Math.floor(body.length / 2) : body.length
    socket.write(body.slice(0, half))
    meanwhile?.().then(() => socket.write(body.slice(half)), reject)
  })
}

function parseAnswer(received: Buffer, isEnd: boolean): Answer | null {
  const headEnd = received.indexOf('\r\n\r\n')
  if (headEnd < 0) return null
  const [statusLine = '', ...lines] = received.subarray(0, headEnd).toString('latin1').split('\r\n')
  const headers = new Headers(
    lines.map((line): [string, string] => {
      const colon = line.indexOf(':')
      return [line.slice(0, colon), line.slice(colon + 1).trim()]
    }),
  )
  const body = received.subarray(headEnd + 4)
  const length = headers.get('content-length')
  if (!isEnd && (length === null || body.length < Number(length))) return null
  const text = body.toString()
  const isJson = headers.get('content-type')?.startsWith('application/json')
  return { status: Number(statusLine.split(' ')[1]), headers, body: isJson && text ? JSON.parse(text) : text }
}

/** Encodes a body for Transfer-Encoding: chunked. */
export function chunked(body: string): Buffer {
  const bytes = Buffer.from(body)
  const chunks: Buffer[] = []
  for (let at = 0; at < bytes.length; at += 65_536) {
    const chunk = bytes.subarray(at, at + 65_536)
    chunks.push(Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n'))
  }
  return Buffer.concat([...chunks, Buffer.from('0\r\n\r\n')])
}
