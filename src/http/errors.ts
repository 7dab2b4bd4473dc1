import { type Kind, type PartnerKind, Refusal } from '../domain/errors'
import { type LogEntry, logDefect, requestIdHeader } from './log'

/** HSTS for one year (RFC 6797 §6.1). Must not be sent over plain HTTP (§7.2). */
export const strictTransport = { 'Strict-Transport-Security': 'max-age=31536000' }

export type ErrorCode = PartnerKind | 'internal_error'

/** Status of an error code, and its texts in the OpenAPI document. */
interface ErrorMeaning {
  readonly status: number
  readonly when: string
  readonly remedy: string
  /** Name of the invalid field in the request. Messages begin with this name. */
  readonly field?: string | undefined
}

function error(status: number, when: string, remedy: string, field?: string): ErrorMeaning {
  return { status, when, remedy, field }
}

const [slot, provider] = ['bookingData.utcStartTime', 'bookingData.selfSchedulingProviderId']
const [member, email] = ['user.external_user_id', 'memberData.email']
const [asIssued, operator] = ['Send the token exactly as issued', 'Contact the operator']
const again = 'Send the same request again after Retry-After seconds'
const another = 'Search again and offer another slot'

/** All error codes, in the order of the checks. Only this table maps error codes to statuses. */
export const errorCodes: Record<ErrorCode, ErrorMeaning> = {
  https_required: error(403, 'The request did not use HTTPS; it was not processed', 'Send it over HTTPS'),
  path_unknown: error(404, 'No endpoint has this path', 'Correct the path'),
  authentication_limited: error(429, 'Too many invalid tokens came from this address', again),
  token_invalid: error(401, 'The token is missing, malformed, forged or not valid at this time', asIssued),
  missing_claim: error(401, 'The token has no kid header', asIssued),
  partner_not_found: error(401, 'No partner of this service has this token', "Use this environment's token"),
  partner_inactive: error(401, 'The partner is deactivated', operator),
  method_not_allowed: error(405, 'The path does not support this method', 'Use a method listed in Allow'),
  rate_limited: error(429, "The partner's rate limit is exceeded; nothing was changed", again),
  overloaded: error(503, 'The service is overloaded; nothing was changed', again),
  organization_not_configured: error(409, 'The partner has no organization configured', operator),
  organization_deactivated: error(403, "The partner's organization is deactivated", operator),
  media_type_unsupported: error(
    415,
    'Content-Type is not application/json in UTF-8, or Content-Encoding is set',
    'Send uncompressed application/json',
  ),
  body_too_large: error(413, 'The body is larger than 256 KiB', 'Send a smaller body'),
  body_malformed: error(400, 'The body is incomplete, not JSON or nested too deeply', 'Send complete JSON'),
  field_invalid: error(400, 'A field is missing or invalid', 'Correct the fields that the message names'),
  region_unknown: error(400, 'No active region has this id', 'List the regions again', 'region_id'),
  region_outside_country: error(400, 'The region is in another country', 'Send only region_id', 'region_id'),
  region_required: error(400, 'The country has more than one region', 'Send the id of a region', 'region_id'),
  page_out_of_range: error(400, 'The page is after the last page', 'Stop at the last page', 'page'),
  member_not_found: error(404, 'No member has this id', 'Submit a booking or an intake', 'external_user_id'),
  request_not_found: error(404, 'No request of this partner has this id', 'Correct the id', 'id'),
  cursor_invalid: error(
    400,
    'The cursor is malformed, or belongs to another list or to a state before a backup was restored',
    'Read the list from the beginning, without after',
    'after',
  ),
  idempotency_key_reused: error(
    422,
    'The key was already used with a different body; nothing was changed',
    'Use a new key for a new request, and the same body for a retry',
    'Idempotency-Key',
  ),
  member_deactivated: error(403, 'The member is deactivated', operator),
  request_changed: error(412, 'The request no longer has this ETag', 'Read the request again', 'If-Match'),
  request_closed: error(409, 'The request is declined, closed or cancelled', 'Submit a new request', 'id'),
  request_without_slot: error(409, 'The request has no slot to reschedule', 'Wait for its slot', 'id'),
  request_started: error(409, 'The session has started', operator, 'id'),
  provider_unknown: error(400, 'No bookable provider has this id', 'Search again', provider),
  slot_unavailable: error(400, 'The slot is not available or no longer available', another, slot),
  slot_already_yours: error(400, 'The member already has this slot', 'Treat the slot as booked', slot),
  slot_conflicts_with_yours: error(400, 'Another slot of the member overlaps with this one', another, slot),
  too_many_open_requests: error(400, 'The member has too many open requests', 'Wait until one ends', member),
  email_conflicts_limited: error(
    429,
    'Too many e-mail addresses of other members were sent',
    'Correct the addresses, then retry after Retry-After seconds',
    email,
  ),
  email_taken: error(409, 'The e-mail address belongs to another member', 'Ask for another address', email),
  storage_busy: error(503, 'The service is busy; nothing was changed', again),
  storage_failed: error(503, 'The service cannot store data; nothing was changed', again),
  internal_error: error(
    500,
    'The service failed unexpectedly',
    'Send a booking request again with its Idempotency-Key, and contact the operator',
  ),
}

export type Words = Partial<Record<ErrorCode, string>>

export const transportRefusals = {
  https_required: 'HTTPS is required; send the request over HTTPS',
} as const satisfies Words

export const refusalsEverywhere = {
  method_not_allowed: 'the path does not support this method',
  overloaded: 'the service is overloaded; try again after Retry-After seconds',
  storage_busy: 'the service is busy; try again',
  storage_failed: 'the service cannot store data at the moment; try again after Retry-After seconds',
  internal_error: 'the service failed unexpectedly; contact the operator',
} as const satisfies Words

export function isUnauthenticated(error: unknown): error is Refusal {
  return error instanceof Refusal && isPartnerKind(error.kind) && errorCodes[error.kind].status === 401
}

export function statusOf({ kind }: Refusal): number {
  return isPartnerKind(kind) ? errorCodes[kind].status : errorCodes.internal_error.status
}

function isPartnerKind(kind: Kind): kind is PartnerKind {
  return Object.hasOwn(errorCodes, kind)
}

export class RefusalWithHeaders extends Refusal {
  constructor(
    kind: PartnerKind,
    words: string,
    readonly headers: Readonly<Record<string, string>>,
  ) {
    super(kind, words)
  }
}

/** The response needs the header Allow (RFC 9110 §15.5.6). */
export class MethodNotAllowed extends RefusalWithHeaders {
  constructor(allow: string) {
    super('method_not_allowed', refusalsEverywhere.method_not_allowed, { Allow: allow })
  }
}

/** Returns the error response for any error. Logs storage failures and unexpected errors. @param within see Endpoint */
export function answerTo(error: unknown, elysiaCode: string | number, entry: LogEntry, within?: string) {
  if (error instanceof Refusal && isPartnerKind(error.kind)) {
    if (error.kind === 'storage_failed' && error.cause) logDefect('storage failed', error.cause)
    const words = error.kind === 'storage_failed' ? refusalsEverywhere.storage_failed : error.message
    if (error instanceof RefusalWithHeaders) Object.assign(entry.headers, error.headers)
    return errorAnswer(entry, error.kind, words, error.retryAfterSeconds, within)
  }
  if (elysiaCode === 'NOT_FOUND') return errorAnswer(entry, 'path_unknown', 'no endpoint has this path')
  logDefect('internal error', error)
  return errorAnswer(entry, 'internal_error', refusalsEverywhere.internal_error)
}

const controlStatuses: Partial<Record<Kind, number>> = { record_unknown: 404, move_unknown: 409 }

/** Like answerTo, for the control routes. The messages omit advice for the command line. */
export function answerToControl(error: unknown, entry: LogEntry): Response {
  if (!(error instanceof Refusal) || error instanceof RefusalWithHeaders)
    return answerTo(error, 'UNKNOWN', entry)
  const code = error.kind as ErrorCode
  const status = controlStatuses[error.kind] ?? errorCodes[code]?.status ?? 500
  return errorAnswer(entry, code, error.fault, null, 'bookingData.', status)
}

/** Returns an error response. Updates the log entry of the request. */
export function errorAnswer(
  entry: LogEntry,
  code: ErrorCode,
  words: string,
  retryAfterSeconds: number | null = null,
  within?: string,
  status = errorCodes[code].status,
): Response {
  const { body, bytes, ...init } = errorParts(code, words, retryAfterSeconds, entry.headers, within, status)
  entry.refusedFor = code
  entry.bytes = bytes
  return new Response(body, init)
}

export const jsonType = 'application/json'

/** Forbids caching (RFC 9111 §5.2.2.5) and content sniffing, because responses contain personal data. */
export const noStore = { 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' }

/** Returns an error response for an example in the OpenAPI document. */
export function errorResponse(...error: Parameters<typeof errorParts>): Response {
  const { body, bytes: _, ...init } = errorParts(...error)
  return new Response(body, init)
}

/** Builds a 401 response once, so that a flood of bad tokens costs little. */
export function repeatedly(code: ErrorCode, words: string): (entry: LogEntry, token: string) => Response {
  const { body, bytes, status, headers } = errorParts(code, words)
  // A Headers object, because Response copies such an object three times as fast as a plain object.
  const toToken = { status, headers: new Headers(headers) }
  // Without a token in the request, the challenge contains only the scheme (RFC 6750 §3.1).
  const toNone = { status, headers: new Headers({ ...headers, 'WWW-Authenticate': 'Bearer' }) }
  return (entry, token) => {
    const init = token === '' ? toNone : toToken
    // Omits rate limit headers. The entry contains them if the token was revoked during the upload.
    for (const name of inEveryResponse) {
      const value = entry.headers[name]
      if (value !== undefined) init.headers.set(name, value)
    }
    entry.refusedFor = code
    entry.bytes = bytes
    return new Response(body, init)
  }
}

const invalidToken = 'Bearer error="invalid_token"'

const inEveryResponse = Object.keys({ ...requestIdHeader, ...strictTransport })

function errorParts(
  code: ErrorCode,
  words: string,
  retryAfterSeconds?: number | null,
  sent: Record<string, string> = {},
  within = '',
  status = errorCodes[code].status,
) {
  const { field } = errorCodes[code] ?? {}
  const message = field ? `${field.replace(within, '')}: ${words}` : words
  const body = JSON.stringify(status === 401 ? { code, message } : { message, status })
  // Sets all headers at once, because setting a header later costs as much as creating the response.
  const about = { 'Content-Type': jsonType, 'X-Error-Code': code }
  const headers: Record<string, string> = { ...sent, ...noStore, ...about }
  if (status === 401) headers['WWW-Authenticate'] = invalidToken
  if (status === 503 || status === 429) headers['Retry-After'] = String(retryAfterSeconds ?? 1)
  return { body, bytes: Buffer.byteLength(body), status, headers }
}
