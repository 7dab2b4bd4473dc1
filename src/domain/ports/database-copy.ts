import { formatInstant } from '../../scheduling/calendar'
import type { AuditChain, AuditHead, AuditSpan } from '../audit'
import { Refusal } from '../errors'
import type { ReportProgress } from '../measures'
import type { MasterKey } from './vault'

/** Marks a database that was copied. If both the database and its copy were served, a slot could be booked twice. */
export interface CopyNote {
  /** An absolute path, or an address without its password. */
  readonly to: string
  readonly at: number
}

export function describeCopy({ to, at }: CopyNote): string {
  return `copied to ${to} at ${formatInstant(at)}`
}

export const copyRemedy = 'use the copy, or reactivate this database: anteroom database reactivate'

/** @throws Refusal database_unusable if the database was copied */
export function requireActive(note: CopyNote | null): void {
  if (note) throw new Refusal('database_unusable', `the database was ${describeCopy(note)}: ${copyRemedy}`)
}

/** @throws Refusal record_unknown if the database was not copied */
export function requireCopied(note: CopyNote | null): CopyNote {
  if (note) return note
  throw new Refusal('record_unknown', 'the database is already active: it was not copied')
}

export interface TableSnapshot {
  readonly name: string
  readonly rows: number
  /** The highest id ever generated, including deleted rows; null for a table without generated ids. */
  readonly lastId: number | null
}

/** Rows in order of the table's key, in batches. Each row is one line of JSON, in the same form on every engine. */
export type Lines = AsyncIterable<readonly string[]>

export type AuditSpans = Readonly<Record<AuditChain, AuditSpan>>

/** A snapshot of a database. Methods may throw Refusal database_unusable or storage_busy. */
export interface CopySource {
  /** In foreign-key order: rows refer only to earlier tables. */
  readonly tables: readonly TableSnapshot[]
  readonly copiedBefore: CopyNote | null
  linesOf(table: string): Lines
  /** @throws Refusal database_unusable if the audit log was altered */
  verifyLog(): Promise<AuditSpans>
  /** @throws Refusal storage_busy if a server has started and `whileServing` is false */
  requireStopped(): Promise<void>
  /** Marks the database as copied. Must be the last call. Returns false if the database cannot be written. */
  markCopied(note: CopyNote): Promise<boolean>
}

/** A new database, not yet visible to others. Methods may throw Refusal database_unusable or storage_busy. */
export interface CopyTarget {
  /** @throws Refusal database_unusable if a row violates a constraint */
  add(table: string, lines: readonly string[]): Promise<void>
  /** Ensures that ids up to `lastId` are never generated. Must be called before rows of the table are added. */
  keepIds(table: string, lastId: number): Promise<void>
  linesOf(table: string): Lines
  /** Continues and verifies the audit log. Must be called after all rows were added. */
  continueLog(spans: AuditSpans): Promise<void>
}

export interface ReadingSource {
  readonly purpose: Purpose
  /** Called after the database is recognized as an Anteroom database. */
  readonly takeKey: () => Promise<MasterKey>
  /** True if servers may run during the copy. If false, the copy blocks all writes. */
  readonly whileServing: boolean
}

export interface MakingTarget<T> {
  readonly purpose: Purpose
  readonly masterKey: MasterKey
  /** True if servers of the source go on. The copy then gets another generation. */
  readonly whileServing?: boolean
  /** If `fill` throws, no database is created. */
  readonly fill: (target: CopyTarget) => Promise<T>
  readonly progress: ReportProgress
}

/** Fixed when the database is created. A server refuses a database with another purpose. */
export type Purpose = 'sandbox' | 'production'

export interface TokenInForce {
  readonly id: string
  readonly partner: string
}

interface InBoth<T> {
  readonly backup: T
  readonly replaced: T
}

/** The differences between a backup and the database that the restore replaces. */
export interface RestoreDiff {
  /** The audit heads, without refused authentications. Equal heads mean that nothing was done since the backup. */
  readonly heads: InBoth<AuditHead>
  readonly counts: InBoth<Readonly<Record<string, number>>>
  /** Tokens ended since the backup. The restore makes these tokens valid again. */
  readonly tokens: readonly TokenInForce[]
  /** Members deactivated since the backup. The restore reactivates these members. */
  readonly deactivatedMembers: readonly number[]
  /** Members erased since the backup. The restore brings these members back. */
  readonly erasedMembers: readonly number[]
}

export function isAnyUndone({ heads }: RestoreDiff): boolean {
  return heads.backup.hash !== heads.replaced.hash
}
