import { type Kind, type PartnerKind, Refusal } from '../domain/errors'
import { logDefect } from './defect-log'

/** What programs are told of an answer that is not what was asked for. */
export type ErrorCode = PartnerKind | 'internal_error'

/** How a refusal is answered, and what the document tells of it. */
interface Told {
  readonly status: number
  readonly when: string
  readonly remedy: string
  /** The field, by its wire name, that a rule's refusal is about. */
  readonly field?: string
}

/** Every error code in the order in which requests are judged: the only place that knows their statuses. */
export const errorCodes: Record<ErrorCode, Told> = {
  path_unknown: {
    status: 404,
    when: 'There is nothing at this path',
    remedy: 'Correct the path',
  },
  token_invalid: {
    status: 401,
    when: 'The token is missing, malformed or forged, was replaced or revoked, or does not hold yet',
    remedy: 'Send the token exactly as it was issued; ask the operator where it was replaced',
  },
  missing_claim: {
    status: 401,
    when: 'The token lacks its kid header',
    remedy: 'Send the token exactly as it was issued',
  },
  partner_not_found: {
    status: 401,
    when: 'The token belongs to no partner of this environment',
    remedy: "Use this environment's token: those of the sandbox and of production differ",
  },
  partner_inactive: {
    status: 401,
    when: 'The operator has deactivated the partner',
    remedy: 'Ask the operator',
  },
  method_not_allowed: {
    status: 405,
    when: 'The path does not take this method',
    remedy: 'Use a method that Allow names',
  },
  organization_not_configured: {
    status: 409,
    when: 'The partner has no organization configured',
    remedy: 'Ask the operator to configure it',
  },
  organization_deactivated: {
    status: 403,
    when: "The partner's organization is deactivated",
    remedy: 'Ask the operator',
  },
  media_type_unsupported: {
    status: 415,
    when: 'The body is not announced as plain JSON',
    remedy: 'Send Content-Type: application/json, not compressed',
  },
  body_too_large: {
    status: 413,
    when: 'The body is larger than 256 KiB',
    remedy: 'Send less',
  },
  body_malformed: {
    status: 400,
    when: 'The body is not whole, not JSON in UTF-8 or nested too deeply',
    remedy: 'Correct how the body is made',
  },
  field_invalid: {
    status: 400,
    when: 'A parameter or a member of the body is missing or not of its form',
    remedy: 'Correct the fields that the message names',
  },
  region_unknown: {
    status: 400,
    when: 'region_id names no active region',
    remedy: 'List the regions again',
    field: 'region_id',
  },
  region_outside_country: {
    status: 400,
    when: 'region_id lies in another country than country_code',
    remedy: 'Send one of the two, or a region of that country',
    field: 'region_id',
  },
  region_required: {
    status: 400,
    when: 'No region_id, in a country with several regions or for sessions in person',
    remedy: 'List the regions and send the id of one',
    field: 'region_id',
  },
  page_out_of_range: {
    status: 400,
    when: 'The page lies past the last one',
    remedy: 'Stop at the last page',
    field: 'page',
  },
  member_not_found: {
    status: 404,
    when: 'No member of the partner has this id',
    remedy: 'Create the member by a booking request or an intake',
    field: 'external_user_id',
  },
  member_deactivated: {
    status: 403,
    when: 'The operator has deactivated the member',
    remedy: 'Ask the operator',
  },
  provider_unknown: {
    status: 400,
    when: 'No provider who can be booked has this id',
    remedy: 'Search again',
    field: 'bookingData.selfSchedulingProviderId',
  },
  slot_unavailable: {
    status: 400,
    when: 'The slot is not, or no longer, available',
    remedy: 'Search again and offer the member another slot',
    field: 'bookingData.utcStartTime',
  },
  slot_already_yours: {
    status: 400,
    when: 'The member already holds this slot',
    remedy: 'Take it as booked: the request was probably sent twice',
    field: 'bookingData.utcStartTime',
  },
  email_taken: {
    status: 409,
    when: 'The e-mail address belongs to a different member',
    remedy: "Ask the member for another address, or use the member's earlier external_user_id",
    field: 'memberData.email',
  },
  storage_busy: {
    status: 503,
    when: 'The service is busy; nothing was changed',
    remedy: 'Send the same request again after Retry-After seconds',
  },
  storage_failed: {
    status: 503,
    when: 'The service cannot store or read anything at the moment; nothing was changed',
    remedy: 'Send the same request again after Retry-After seconds',
  },
  internal_error: {
    status: 500,
    when: 'The service failed',
    remedy: 'Look up whether the request was carried out; tell the operator when it happened',
  },
}

/** Kinds of refusal that are possible somewhere, each with the words of an example. */
export type Words = Partial<Record<ErrorCode, string>>

/** What every path can answer, whatever is asked for. */
export const refusalsEverywhere = {
  method_not_allowed: 'the path does not take this method',
  storage_failed: 'the service cannot store anything at the moment; try again',
  internal_error: 'the service failed; nothing is known to be wrong with the request',
} as const satisfies Words

/** Whether a refusal says that the caller could not be authenticated. */
export function isUnauthenticated({ kind }: Refusal): boolean {
  return isTold(kind) && errorCodes[kind].status === 401
}

function isTold(kind: Kind): kind is PartnerKind {
  return Object.hasOwn(errorCodes, kind)
}

/** A wrong method, with those that the path takes (RFC 9110 §15.5.6). */
export class MethodNotAllowed extends Refusal {
  constructor(readonly allow: string) {
    super('method_not_allowed', refusalsEverywhere.method_not_allowed)
  }
}

/** The answer to whatever went wrong, in the contract's shape; what is ours to mend is logged. */
export function answerTo(error: unknown, elysiaCode: string | number): Response {
  if (error instanceof Refusal && isTold(error.kind)) {
    if (error.kind === 'storage_failed') logDefect('storage failed', error.cause)
    const response = errorResponse(error.kind, error.message)
    if (error instanceof MethodNotAllowed) response.headers.set('Allow', error.allow)
    return response
  }
  if (elysiaCode === 'NOT_FOUND') return errorResponse('path_unknown', 'there is nothing at this path')
  logDefect('internal error', error)
  return errorResponse('internal_error', refusalsEverywhere.internal_error)
}

/** An error as the contract has it. */
export function errorResponse(code: ErrorCode, words: string): Response {
  const { status, field } = errorCodes[code]
  const message = field ? `${field}: ${words}` : words
  const body = status === 401 ? { code, message } : { message, status }
  const response = Response.json(body, { status, headers: { 'X-Error-Code': code } })
  if (status === 401) response.headers.set('WWW-Authenticate', 'Bearer')
  if (status === 503) response.headers.set('Retry-After', '1')
  return response
}
