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
  /** Set if only the engine knows the remedy. */
  readonly remedy?: string
}

/** @param fault empty, false or null if the check passed */
export function finding(check: string, fault: string | false | null | undefined, fine: string): Finding {
  return { check, state: fault ? 'bad' : 'ok', detail: fault || fine }
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
  /** False while the server cannot store anything. */
  readonly isReady?: boolean
  /** The host name. Missing in a note of an older version. */
  readonly machine?: string
  readonly version: string
  readonly zoneData?: ZoneEdition
  readonly startedAt: number
}

export interface FoundServer {
  /** True if the server runs now. A running server may have no note. */
  readonly isServing: boolean
  /** The note of this server, or of an earlier server that crashed. Null if there is no note. */
  readonly note: ServerNote | null
  /** The last heartbeat in ms; null for an engine without heartbeats. */
  readonly seenAt: number | null
}

/** Times in ms. Null means that there was no backup or no drill. */
export interface LastBackups {
  readonly backedUpAt: number | null
  readonly drilledAt: number | null
  /** True if the database server makes the backups. The times of the backups are then unknown. */
  readonly isByServer?: boolean
}

/** Returns true if the last backup is older than `oldest` (ms). If `oldest` is null, any age is allowed. */
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
  /** True for a temporary backup that is only tested. Recorded as a drill. */
  readonly isDrill?: boolean
}

export interface AuditPrune {
  readonly chain: AuditChain
  /** ms, exclusive. Pruning stops at the first line with this time or a later time. */
  readonly before: number
  readonly target: string
}

export type ArchiveVerdict =
  | { readonly intact: true; readonly archive: AuditArchive; readonly next: string }
  | { readonly intact: false; readonly id: number; readonly fault: string }

/** An unsupported operation throws a Refusal. The message names an alternative for the operator. */
export interface Maintenance {
  /**
   * Writes a verified backup to an unused path. The backup appears only after all data is synced.
   * @param protect encrypts the backup; null for an unencrypted backup
   * @throws Refusal database_unusable if the path is in use or the backup fails; also errors of `protect`
   */
  backUp(target: string, protect: Protect | null, act: Act, how?: BackingUp): Promise<Manifest>
  /** Records that a backup was restored, served and found sound. */
  noteDrill(act: Act): Promise<void>

  /** Seals the data key under another master key. Returns false if `next` already seals the data key. */
  rewrap(next: MasterKey, act: Act): Promise<boolean>

  /**
   * @param oldest the maximum age of the last backup in ms; null for any age
   * @param isAll true to open all sealed values; false to open a sample of each kind
   */
  check(now: number, oldest?: number | null, isAll?: boolean): Promise<Finding[]>
  /** Compares records with their newest audit lines. */
  checkRecords(now: number, isAll?: boolean): Promise<Finding>
  /** Checks the machine or the database server that stores the data, for example file modes and disk space. */
  checkHost(): Promise<Finding[]>
  findLastBackups(): Promise<LastBackups>

  /** Stores the note of this server. Null removes the note when the server stops. */
  noteServer(note: ServerNote | null): Promise<void>
  /** Lists running and crashed servers. Returns at most one server if the engine allows only one server. */
  listServers(): Promise<FoundServer[]>

  /**
   * Moves audit lines to a verified archive. Returns the number of lines. Continues after an interrupted call.
   * @throws Refusal field_invalid if `target` is another file; database_unusable if a line was altered or writing fails
   */
  pruneAudit(prune: AuditPrune, act: Act): Promise<number>
  /** Verifies an archive. If `noted` is given, the archive must contain this head. */
  checkArchive(path: string, noted: AuditHead | null): Promise<ArchiveVerdict>
  /** Verifies the audit log. If `noted` is given, the log must contain this head. Does not block writes. */
  verifyAudit(noted: AuditHead | null): Promise<AuditVerdict>

  /** Deletes old directory changes. A node that has not read these changes reloads the whole directory. */
  forgetChanges(): Promise<void>

  /** Removes erased data from the engine's files. Returns false if readers prevented this; then call again. */
  purge(): Promise<boolean>
  /** Returns a text for staff about the places where erased data remains. Never fails. */
  keptAfterErasure(): Promise<string>

  findCopyNote(): Promise<CopyNote | null>
  /** Removes the copy note. @throws Refusal record_unknown if the database has no copy note */
  reactivate(act: Act): Promise<void>

  /** Records the server's zone data, so that commands can detect a difference. */
  noteZoneData(zones: ZoneEdition): Promise<void>
  /** Returns null if no server ever ran. */
  findZoneData(): Promise<ZoneEdition | null>
}
