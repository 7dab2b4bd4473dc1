import type { Kind, RefusalCount } from '../domain/errors'
import { instantText } from './terminal/output'

export function presentRefusal({ reason, isClaimed, count, lastAt }: Omit<RefusalCount, 'partnerId'>) {
  return { reason, claimed: isClaimed, count, lastAt: instantText(lastAt) }
}

export function refusalsText(refusals: readonly RefusalCount[]): string {
  const each = refusals.map(({ reason, isClaimed, count, lastAt }) => {
    return `${reason}${isClaimed ? ', claimed' : ''}: ${count}, last ${instantText(lastAt)}`
  })
  return each.join('; ') || 'nothing'
}

/** Documented in docs/settings.md. */
export const exitCodes = {
  done: 0,
  failed: 1,
  misused: 2,
  notFound: 3,
  refused: 4,
  fileInvalid: 5,
  databaseUnusable: 6,
  busy: 7,
  unhealthy: 8,
} as const

export const exitCodeOf: Record<Kind, number> = {
  settings_invalid: exitCodes.misused,
  field_invalid: exitCodes.misused,
  not_confirmed: exitCodes.misused,
  record_unknown: exitCodes.notFound,
  member_not_found: exitCodes.notFound,
  request_not_found: exitCodes.notFound,
  region_unknown: exitCodes.notFound,
  provider_unknown: exitCodes.notFound,
  directory_invalid: exitCodes.fileInvalid,
  directory_changed: exitCodes.busy,
  database_unusable: exitCodes.databaseUnusable,
  storage_busy: exitCodes.busy,
  overloaded: exitCodes.busy,
  rate_limited: exitCodes.busy,
  authentication_limited: exitCodes.busy,
  email_conflicts_limited: exitCodes.busy,
  storage_failed: exitCodes.databaseUnusable,
  https_required: exitCodes.refused,
  token_invalid: exitCodes.refused,
  missing_claim: exitCodes.refused,
  partner_not_found: exitCodes.refused,
  partner_inactive: exitCodes.refused,
  organization_not_configured: exitCodes.refused,
  organization_deactivated: exitCodes.refused,
  path_unknown: exitCodes.refused,
  method_not_allowed: exitCodes.refused,
  media_type_unsupported: exitCodes.refused,
  body_too_large: exitCodes.refused,
  body_malformed: exitCodes.refused,
  page_out_of_range: exitCodes.refused,
  region_required: exitCodes.refused,
  region_outside_country: exitCodes.refused,
  idempotency_key_reused: exitCodes.refused,
  request_changed: exitCodes.refused,
  request_closed: exitCodes.refused,
  request_started: exitCodes.refused,
  request_without_slot: exitCodes.refused,
  cursor_invalid: exitCodes.refused,
  slot_unavailable: exitCodes.refused,
  slot_already_yours: exitCodes.refused,
  slot_conflicts_with_yours: exitCodes.refused,
  too_many_open_requests: exitCodes.refused,
  member_deactivated: exitCodes.refused,
  email_taken: exitCodes.refused,
  operator_unknown: exitCodes.refused,
  name_taken: exitCodes.refused,
  token_exists: exitCodes.refused,
  move_unknown: exitCodes.refused,
  too_many_changes: exitCodes.refused,
}
