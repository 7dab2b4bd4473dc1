import { formatInstant } from '../scheduling/calendar'
import { Refusal } from './errors'

/** What a database stores about its copy. Serving both would sell a slot twice. */
export interface CopyNote {
  /** An absolute path, or an address without its password. */
  readonly to: string
  /** ms */
  readonly at: number
}

export function describeCopy({ to, at }: CopyNote): string {
  return `copied to ${to} at ${formatInstant(at)}`
}

export const copyRemedy = 'use that one, or go on with this one: anteroom database reactivate'

/** @throws Refusal database_unusable if the database was copied */
export function requireActive(note: CopyNote | null): void {
  if (note) throw new Refusal('database_unusable', `the database was ${describeCopy(note)}: ${copyRemedy}`)
}

/** @throws Refusal record_unknown if the database was not copied */
export function requireCopied(note: CopyNote | null): CopyNote {
  if (note) return note
  throw new Refusal('record_unknown', 'the database is active: it was not left for a copy')
}
