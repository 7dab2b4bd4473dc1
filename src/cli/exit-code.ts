import type { Kind } from '../domain/errors'

/** What the program's exit codes mean, as the README documents them. */
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

const codes: Partial<Record<Kind, number>> = {
  settings_invalid: exitCodes.misused,
  field_invalid: exitCodes.misused,
  not_confirmed: exitCodes.misused,
  record_unknown: exitCodes.notFound,
  member_not_found: exitCodes.notFound,
  region_unknown: exitCodes.notFound,
  provider_unknown: exitCodes.notFound,
  directory_invalid: exitCodes.fileInvalid,
  directory_changed: exitCodes.busy,
  database_unusable: exitCodes.databaseUnusable,
  storage_busy: exitCodes.busy,
  storage_failed: exitCodes.databaseUnusable,
}

/** The exit code of a refusal: unless it has one of its own, what was asked for is against a rule. */
export function exitCodeOf(kind: Kind): number {
  return codes[kind] ?? exitCodes.refused
}
