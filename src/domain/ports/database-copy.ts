import { formatInstant } from '../../scheduling/calendar'
import type { AuditChain, AuditHead, AuditSpan } from '../audit'
import { Refusal } from '../errors'
import type { ReportProgress } from '../measures'
import type { MasterKey } from './vault'

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

/** A table of a database that is copied. */
export interface TableSnapshot {
  readonly name: string
  readonly rows: number
  /** The highest id that was ever generated, also of a row that is deleted; null for a table without generated ids. */
  readonly lastId: number | null
}

/** The rows of a table in order of its key, in batches: each a line of JSON that is the same on every engine. */
export type Lines = AsyncIterable<readonly string[]>

export type AuditSpans = Readonly<Record<AuditChain, AuditSpan>>

/** A database as of one moment. Every method may throw Refusal database_unusable or storage_busy. */
export interface CopySource {
  /** Rows refer to rows of earlier tables only. */
  readonly tables: readonly TableSnapshot[]
  readonly copiedBefore: CopyNote | null
  linesOf(table: string): Lines
  /** @throws Refusal database_unusable if the audit log is not as it was written */
  verifyLog(): Promise<AuditSpans>
  /** @throws Refusal storage_busy if a server started meanwhile, unless that is allowed */
  requireStopped(): Promise<void>
  /** Marks the database as copied. Called once, last. Returns false if the database cannot be written. */
  markCopied(note: CopyNote): Promise<boolean>
}

/** A new database that others cannot see yet. Every method may throw Refusal database_unusable or storage_busy. */
export interface CopyTarget {
  /** @throws Refusal database_unusable that names the row which breaks a constraint */
  add(table: string, lines: readonly string[]): Promise<void>
  /** Ids up to this one are never generated again. Called before rows of the table are added. */
  keepIds(table: string, lastId: number): Promise<void>
  linesOf(table: string): Lines
  /** Continues the audit log where it ended, and verifies it. Called after all rows were added. */
  continueLog(spans: AuditSpans): Promise<void>
}

export interface ReadingSource {
  readonly purpose: Purpose
  /** Called once the database is known to be one of ours. */
  readonly takeKey: () => Promise<MasterKey>
  /** Whether servers may run meanwhile. If not, all writes are blocked. */
  readonly whileServing: boolean
}

export interface MakingTarget<T> {
  readonly purpose: Purpose
  readonly masterKey: MasterKey
  /** If it throws, there is no new database. */
  readonly fill: (target: CopyTarget) => Promise<T>
  readonly progress: ReportProgress
}

/** What a database is for: the data of one is never served as the other. */
export type Purpose = 'sandbox' | 'production'

/** A token by its kid, and the name of its partner. */
export interface TokenInForce {
  readonly id: string
  readonly partner: string
}

/** A value of a backup, and of the database that the backup is to replace. */
export interface InBoth<T> {
  readonly backup: T
  readonly replaced: T
}

/** What restoring a backup changes, compared with the database that it replaces. */
export interface RestoreDiff {
  /** The newest acts in the audit logs. They are the same if nothing was done since the backup. */
  readonly heads: InBoth<AuditHead>
  /** Records by table. */
  readonly counts: InBoth<Readonly<Record<string, number>>>
  /** Tokens that were revoked, rotated out or cancelled since. They become valid again. */
  readonly tokens: readonly TokenInForce[]
  /** Members who were deactivated since. They become active again. */
  readonly deactivatedMembers: readonly number[]
  /** Members who were erased since. They are there again. */
  readonly erasedMembers: readonly number[]
}

/** Whether anything was done since the backup. */
export function isAnyUndone({ heads }: RestoreDiff): boolean {
  return heads.backup.hash !== heads.replaced.hash
}
