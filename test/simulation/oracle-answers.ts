import type { Answer } from '../support/service'

// What partners are answered, as the contract and the decisions have it.

/** What of an answer must be as foretold; null for headers that it has not. */
export interface Told {
  readonly status: number
  readonly code: string | null
  readonly retryAfter: string | null
  readonly link: string | null
  readonly total: string | null
  readonly replayed: string | null
  readonly body: unknown
}

/** That of an answer as it came. */
export function toldBy({ status, headers, body }: Answer): Told {
  const header = (name: string) => headers.get(name)
  return {
    status,
    code: header('x-error-code'),
    retryAfter: header('retry-after'),
    link: header('link'),
    total: header('x-total-count'),
    replayed: header('idempotency-replayed'),
    body,
  }
}

/** The parameters of a search or of a list of regions. */
export type Query = Readonly<Record<string, string | number>>

const refusals: Readonly<Record<string, readonly [status: number, message: string]>> = {
  token_invalid: [401, 'the token is missing, malformed or not valid'],
  partner_inactive: [401, 'the partner is deactivated'],
  partner_not_found: [401, 'the token does not belong to a known partner'],
  missing_claim: [401, 'the token lacks a required claim'],
  organization_not_configured: [409, 'the partner has no organization configured'],
  organization_deactivated: [403, "the partner's organization is deactivated"],
  field_invalid: [400, 'memberData.dob: must not be in the future'],
  idempotency_key_reused: [422, 'Idempotency-Key: was already sent with a different body; use a new key'],
  member_deactivated: [403, 'the member is deactivated'],
  member_not_found: [404, 'external_user_id: no member has this id'],
  provider_unknown: [400, 'bookingData.selfSchedulingProviderId: no provider with this id can be booked'],
  slot_unavailable: [400, 'bookingData.utcStartTime: the slot is not available'],
  slot_already_yours: [400, 'bookingData.utcStartTime: the member already holds this slot'],
  slot_conflicts_with_yours: [
    400,
    'bookingData.utcStartTime: the member already has a slot that overlaps with this one',
  ],
  email_taken: [409, 'memberData.email: already belongs to a different member'],
  email_conflicts_limited: [
    429,
    'memberData.email: too many e-mail addresses of other members were sent; try again later',
  ],
}

/** The answer to what is refused. */
export function refused(code: string, more: { message?: string; retryAfter?: string } = {}): Told {
  const [status, words] = refusals[code] ?? [400, '']
  const message = more.message ?? words
  const body = status === 401 ? { code, message } : { message, status }
  return { ...answered(status, body), code, retryAfter: more.retryAfter ?? null }
}

/** The answer to what is done. */
export function answered(
  status: number,
  body: unknown,
  headers: { link?: string; total?: string } = {},
): Told {
  const { link = null, total = null } = headers
  return { status, code: null, retryAfter: null, link, total, replayed: null, body }
}

/** A URL or a path with a query. */
export function urlWith(url: string, query: Query): string {
  const parameters = Object.entries(query).map(([name, value]): [string, string] => [name, String(value)])
  return `${url}?${new URLSearchParams(parameters)}`
}
