import type { Answer } from '../support/service'

// Responses to partners, according to the contract and the decisions.

/** The parts of a response that the oracle predicts. Null stands for a missing header. */
export interface PartnerAnswer {
  readonly status: number
  readonly code: string | null
  readonly retryAfter: string | null
  readonly link: string | null
  readonly total: string | null
  readonly replayed: string | null
  readonly body: unknown
}

export function answerOf({ status, headers, body }: Answer): PartnerAnswer {
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
  request_not_found: [404, 'id: no request has this id'],
  request_closed: [409, ''],
  request_started: [409, 'id: the session has started'],
  request_without_slot: [409, 'id: the request has no slot'],
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

export function refused(code: string, more: { message?: string; retryAfter?: string } = {}): PartnerAnswer {
  const [status, words] = refusals[code] ?? [400, '']
  const message = more.message ?? words
  const body = status === 401 ? { code, message } : { message, status }
  return { ...answered(status, body), code, retryAfter: more.retryAfter ?? null }
}

export function answered(
  status: number,
  body: unknown,
  headers: { link?: string; total?: string } = {},
): PartnerAnswer {
  const { link = null, total = null } = headers
  return { status, code: null, retryAfter: null, link, total, replayed: null, body }
}

export function urlWith(url: string, query: Query): string {
  const parameters = Object.entries(query).map(([name, value]): [string, string] => [name, String(value)])
  return `${url}?${new URLSearchParams(parameters)}`
}
