import type { Kind, Refusal, RefusalCount } from '../domain/errors'
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

/** All other refusals exit with `refused`. */
const exitCodesByKind: Partial<Record<Kind, number>> = {
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
}

export function exitCodeOf({ kind }: Refusal): number {
  return exitCodesByKind[kind] ?? exitCodes.refused
}
