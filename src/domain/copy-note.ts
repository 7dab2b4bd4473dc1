import { formatInstant } from '../scheduling/calendar'
import { Refusal } from './errors'

/** What a database notes of itself once it was copied to be served elsewhere: two that are served would sell a slot twice. */
export interface CopyNote {
  /** The path of a file from the root on, or an address without its password. */
  readonly to: string
  /** ms */
  readonly at: number
}

/** Where a database was copied to, and when, in words. */
export function describeCopy({ to, at }: CopyNote): string {
  return `copied to ${to} at ${formatInstant(at)}`
}

/** What there is to do for whoever comes to a database that was copied. */
export const copyRemedy = 'use that one, or go on with this one: anteroom database reactivate'

/**
 * Holds a database to be served and changed, and not to be one that was left for its copy.
 *
 * @param kind how that is refused: on the way to a server of it, or to a write
 * @throws Refusal of that kind
 */
export function requireActive(
  note: CopyNote | null,
  kind: 'database_unusable' | 'storage_failed' = 'storage_failed',
): void {
  if (note) throw new Refusal(kind, `the database was ${describeCopy(note)}: ${copyRemedy}`)
}

/** The note that is to be taken back. @throws Refusal record_unknown where there is none */
export function requireCopied(note: CopyNote | null): CopyNote {
  if (note) return note
  throw new Refusal('record_unknown', 'the database is active: it was not left for a copy')
}
