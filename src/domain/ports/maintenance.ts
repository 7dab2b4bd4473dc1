import type { Act, AuditArchive, AuditChain, AuditHead, AuditVerdict } from '../audit'
import type { ReportProgress } from '../measures'
import type { CopyNote } from './database-copy'
import type { ZoneEdition } from './time'
import type { MasterKey, Protect } from './vault'

/** The result of one check. Only `bad` findings make the database unhealthy. */
export interface Finding {
  readonly check: string
  readonly state: 'ok' | 'note' | 'bad'
  readonly detail: string
  /** Set by the engine if only it knows the remedy. */
  readonly remedy?: string
}

export interface Remedies {
  readonly whenNoted: Readonly<Record<string, string>>
  readonly whenBad: Readonly<Record<string, string>>
}

export function withRemedy(finding: Finding, { whenNoted, whenBad }: Remedies): Finding {
  const remedy = finding.remedy ?? (finding.state === 'bad' ? whenBad : whenNoted)[finding.check]
  return finding.state === 'ok' || remedy === undefined ? finding : { ...finding, remedy }
}

export interface ServerNote {
  readonly host: string
  readonly port: number
  /** Missing in a note of an older version. */
  readonly isSecure?: boolean
  /** False while nothing can be stored. */
  readonly isReady?: boolean
  /** The host name. Missing in a note of an older version. */
  readonly machine?: string
  readonly version: string
  readonly zoneData?: ZoneEdition
  readonly startedAt: number
}

export interface FoundServer {
  /** True if the server runs now, with or without a note. */
  readonly isServing: boolean
  /** The note of this server, or of an earlier one that crashed; null if there is none. */
  readonly note: ServerNote | null
  /** The last heartbeat in ms; null for an engine without heartbeats. */
  readonly seenAt: number | null
}

/** The times are in ms; null if there was no backup or no drill. */
export interface LastBackups {
  readonly backedUpAt: number | null
  readonly drilledAt: number | null
  /** True if the database server makes the backups, so that their times are unknown. */
  readonly isByServer?: boolean
}

/** Returns true if the last backup is older than `oldest` (ms). Null allows any age. */
export function isBackupTooOld(
  { backedUpAt, isByServer = false }: LastBackups,
  now: number,
  oldest: number | null,
): boolean {
  return !isByServer && oldest !== null && (backedUpAt === null || now - backedUpAt > oldest)
}

export interface Content {
  readonly counts: Readonly<Record<string, number>>
  /** Digest of all rows of all tables, in hex. */
  readonly sha256: string
}

export interface Manifest extends Content {
  /** The version of the program that made the backup. */
  readonly version: string
  readonly madeAt: number
  readonly schema: number
  /** The zone data of the last server; null if no server ever ran. */
  readonly zoneData: ZoneEdition | null
}

export interface BackingUp {
  readonly progress?: ReportProgress
  /** True for a backup that is only tried and removed. It is recorded as a drill. */
  readonly isDrill?: boolean
}

export interface AuditPrune {
  readonly chain: AuditChain
  /** ms. Removes lines from the start of the chain, and stops at the first line with this time or later. */
  readonly before: number
  readonly target: string
}

export type ArchiveVerdict =
  | { readonly intact: true; readonly archive: AuditArchive; readonly next: string }
  | { readonly intact: false; readonly id: number; readonly fault: string }

/** If an engine does not support an operation, the operation throws a Refusal that names an alternative for the operator. */
export interface Maintenance {
  /**
   * Writes a verified backup to a path that is not in use. The backup appears there only after it is synced.
   * @param protect encrypts the backup; null for an unencrypted one
   * @throws Refusal database_unusable if the path is in use or the backup fails; also errors of `protect`
   */
  backUp(target: string, protect: Protect | null, act: Act, how?: BackingUp): Promise<Manifest>
  /** Records that a backup was restored, served and found sound. */
  noteDrill(act: Act): Promise<void>

  /** Seals the data key under another master key. Returns false if it is sealed under that key already. */
  rewrap(next: MasterKey, act: Act): Promise<boolean>

  /**
   * @param oldest the maximum age of the last backup in ms; null for any age
   * @param isAll true to open all sealed values instead of a sample of each kind
   */
  check(now: number, oldest?: number | null, isAll?: boolean): Promise<Finding[]>
  /** Checks the machine or the database server that stores the data, for example file modes and disk space. */
  checkHost(): Promise<Finding[]>
  findLastBackups(): Promise<LastBackups>

  /** Stores the note of this server; removes it (null) when the server stops. */
  noteServer(note: ServerNote | null): Promise<void>
  /** Includes crashed servers. Returns at most one for an engine that allows one server only. */
  listServers(): Promise<FoundServer[]>

  /**
   * Moves audit lines to a verified archive and returns their number. Continues the archive of an interrupted call.
   * @throws Refusal field_invalid if another file exists, database_unusable if a line was altered or writing fails
   */
  pruneAudit(prune: AuditPrune, act: Act): Promise<number>
  /** Verifies an archive. It must contain the `noted` head. */
  checkArchive(path: string, noted: AuditHead | null): Promise<ArchiveVerdict>
  /** Verifies the audit log. It must contain the `noted` head. Reads in batches, so that writes continue. */
  verifyAudit(noted: AuditHead | null): Promise<AuditVerdict>

  /** Deletes old changes of the directory. A node that has not read them yet reloads the whole directory. */
  forgetChanges(): Promise<void>

  /** Removes erased data from the engine's files. Returns false if readers prevented it. In that case, call it again. */
  purge(): Promise<boolean>
  /** Returns a text for staff: where erased data remains that the engine cannot remove. Never fails. */
  keptAfterErasure(): Promise<string>

  findCopyNote(): Promise<CopyNote | null>
  /** Removes the copy note. @throws Refusal record_unknown if there is none */
  reactivate(act: Act): Promise<void>

  /** Records the server's zone data. Commands compare it with theirs. */
  noteZoneData(zones: ZoneEdition): Promise<void>
  /** Null if no server ever ran. */
  findZoneData(): Promise<ZoneEdition | null>
}
