import type { ValueError } from '@sinclair/typebox/compiler'
import { ValidationError } from 'elysia'
import { type Kind, Refusal } from '../domain/errors'
import { faultsFrom } from '../domain/validation'

/** The HTTP status of every refusal: the only place that knows it. */
const statusOf: Record<Kind, number> = {
  token_invalid: 401,
  missing_claim: 401,
  partner_not_found: 401,
  partner_inactive: 401,
  organization_not_configured: 409,
  organization_deactivated: 403,
  path_unknown: 404,
  method_not_allowed: 405,
  media_type_unsupported: 415,
  body_too_large: 413,
  body_malformed: 400,
  field_invalid: 400,
  page_out_of_range: 400,
  region_required: 400,
  region_unknown: 400,
  region_outside_country: 400,
  provider_unknown: 400,
  slot_unavailable: 400,
  slot_already_yours: 400,
  member_deactivated: 403,
  member_not_found: 404,
  email_taken: 409,
  storage_busy: 503,
  storage_failed: 503,
  // What only an operator's command is told has no status of its own.
  name_taken: 500,
  token_exists: 500,
  record_unknown: 500,
  move_unknown: 500,
  directory_invalid: 500,
  directory_changed: 500,
  database_unusable: 500,
  settings_invalid: 500,
  not_confirmed: 500,
}

/** How many faults of one request are told. */
const mostFaults = 20

/** The field, by its wire name, that a rule's refusal is about. */
const fieldOf: Partial<Record<Kind, string>> = {
  page_out_of_range: 'page',
  region_required: 'region_id',
  region_unknown: 'region_id',
  region_outside_country: 'region_id',
  provider_unknown: 'bookingData.selfSchedulingProviderId',
  slot_unavailable: 'bookingData.utcStartTime',
  slot_already_yours: 'bookingData.utcStartTime',
  email_taken: 'memberData.email',
  member_not_found: 'external_user_id',
}

/** Whether a refusal says that the caller could not be authenticated. */
export function isUnauthenticated({ kind }: Refusal): boolean {
  return statusOf[kind] === 401
}

/** A wrong method, with those that the path takes (RFC 9110 §15.5.6). */
export class MethodNotAllowed extends Refusal {
  constructor(readonly allow: string) {
    super('method_not_allowed', 'the path does not take this method')
  }
}

/** The answer to whatever went wrong, in the contract's shape; what is not a refusal is ours, and logged. */
export function answerTo(error: unknown, code: string | number): Response {
  const refusal = refusalFrom(error, code)
  if (!refusal) {
    logDefect(error)
    return answer(500, 'internal_error', 'the service failed; nothing is known to be wrong with the request')
  }
  const status = statusOf[refusal.kind]
  const field = fieldOf[refusal.kind]
  const response = answer(status, refusal.kind, field ? `${field}: ${refusal.message}` : refusal.message)
  if (status === 401) response.headers.set('WWW-Authenticate', 'Bearer')
  if (status === 503) response.headers.set('Retry-After', '1')
  if (refusal instanceof MethodNotAllowed) response.headers.set('Allow', refusal.allow)
  return response
}

function refusalFrom(error: unknown, code: string | number): Refusal | null {
  if (error instanceof Refusal) return error
  if (code === 'NOT_FOUND') return new Refusal('path_unknown', 'there is nothing at this path')
  if (error instanceof ValidationError && error.type !== 'response') {
    // What Elysia would answer holds the value that was sent.
    const check = error.validator as { Errors(value: unknown): Iterable<ValueError> }
    const faults = faultsFrom(check.Errors(error.value))
    const named = faults.slice(0, mostFaults).map(({ path, fault }) => `${path || error.type}: ${fault}`)
    return new Refusal('field_invalid', named.join('; '))
  }
  return null
}

function answer(status: number, code: string, message: string): Response {
  const body = status === 401 ? { code, message } : { message, status }
  return Response.json(body, { status, headers: { 'X-Error-Code': code } })
}

/** Says what failed and where, without the message: it may hold what was being stored. */
function logDefect(error: unknown): void {
  const name = error instanceof Error ? error.constructor.name : typeof error
  const code = (error as { code?: unknown } | null)?.code ?? ''
  const frames = error instanceof Error ? (error.stack ?? '').match(/^\s+at .*$/gm) : null
  console.error([`internal error: ${name} ${code}`, ...(frames ?? [])].join('\n'))
}
