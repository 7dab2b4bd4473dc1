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

/** The exit code of a refusal. */
export function exitCodeOf(kind: Kind): number {
  switch (kind) {
    case 'settings_invalid':
    case 'field_invalid':
    case 'not_confirmed':
      return exitCodes.misused
    case 'record_unknown':
    case 'member_not_found':
    case 'region_unknown':
    case 'provider_unknown':
      return exitCodes.notFound
    case 'directory_invalid':
      return exitCodes.fileInvalid
    case 'database_unusable':
      return exitCodes.databaseUnusable
    case 'storage_busy':
      return exitCodes.busy
    default:
      return exitCodes.refused
  }
}
