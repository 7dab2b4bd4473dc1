import type { AuditChain, AuditSpan } from './audit'
import type { CopyNote } from './copy-note'
import type { Purpose } from './database'
import type { TellStep } from './upkeep'
import type { MasterKey } from './vault'

/** A value of a record as every engine tells it: a flag is true or false whatever stands for it in a table. */
export type CopiedValue = string | number | boolean | Uint8Array | null

/** The values of a record, in the order of its table's columns. */
export type CopiedRow = readonly CopiedValue[]

/** A table that every engine has. */
export interface CopiedTable {
  readonly name: string
  /** In an order that is the same on every engine. */
  readonly columns: readonly string[]
}

/** A table at one moment. */
export interface TableAtMoment extends CopiedTable {
  readonly rows: number
  /** The highest id that was ever given in it, of a record that is gone too; null where the engine gives none. */
  readonly lastId: number | null
}

/** The stretches of the audit log that are there. */
export type AuditSpans = Readonly<Record<AuditChain, AuditSpan>>

/** All of a database as of one moment, whatever is written meanwhile. Every method may throw Refusal database_unusable. */
export interface Moment {
  /** In an order in which no record points at one of a later table. */
  readonly tables: readonly TableAtMoment[]
  /** Holds the audit log to be as it was written. @throws Refusal database_unusable if it is not */
  proveLog(): Promise<AuditSpans>
  /** The records of a table in the order of its key, some at a time. */
  rowsOf(table: CopiedTable): AsyncIterable<readonly CopiedRow[]>
  /** @throws Refusal storage_busy where a server has begun to work with it that is not to */
  requireAlone(): Promise<void>
  /** What it notes of an earlier copy. */
  readonly copyNote: CopyNote | null
  /**
   * Notes where it was copied to, in place of what it noted before, once and at its end. No server may be at work: from the
   * moment on nothing was written, and nothing is afterwards. False where it cannot be noted.
   */
  noteCopy(note: CopyNote): Promise<boolean>
}

/** A database in the making, which nobody sees before it is whole. Every method may throw Refusal database_unusable. */
export interface Unfinished {
  /** @throws Refusal database_unusable naming the record that breaks a rule of the engine's */
  add(table: CopiedTable, rows: readonly CopiedRow[]): Promise<void>
  /** Sees that no id up to this one is given again. */
  keepIds(table: CopiedTable, lastId: number): Promise<void>
  /** Tells what was added, as it is read back. */
  rowsOf(table: CopiedTable): AsyncIterable<readonly CopiedRow[]>
  /** Has the audit log go on from where it stood, once all lines and requests are there, and holds it to be whole. */
  keepLog(spans: AuditSpans): Promise<void>
}

/** Which moment of a database is read, and by whom. */
export interface ReadingMoment {
  readonly purpose: Purpose
  /** Gives the master key, once the database is known to be none of a stranger's. */
  readonly takeKey: () => Promise<MasterKey>
  /** Whether a server may work with it meanwhile: what that stores afterwards is not of the moment. Else nobody writes to it. */
  readonly whileServing: boolean
}

/** What a database is made for. */
export interface MakingOfMoment<T> {
  readonly purpose: Purpose
  readonly masterKey: MasterKey
  /** Fills it. Where it throws, nothing is made. */
  readonly fill: (unfinished: Unfinished) => Promise<T>
  readonly tell: TellStep
}
