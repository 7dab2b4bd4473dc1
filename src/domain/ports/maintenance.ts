import type { Act, AuditArchive, AuditChain, AuditHead, AuditVerdict } from '../audit'
import type { ReportProgress } from '../measures'
import type { CopyNote } from './database-copy'
import type { ZoneEdition } from './time'
import type { MasterKey, Protect } from './vault'

/** The result of one check. Only `bad` findings make the database unhealthy. */
export interface Finding {
  /** For example `integrity`. */
  readonly check: string
  readonly state: 'ok' | 'note' | 'bad'
  /** For the operator. */
  readonly detail: string
  /** Set by the engine if only it knows the remedy. */
  readonly remedy?: string
}

/** The default remedies, by check. */
export interface Remedies {
  readonly whenNoted: Readonly<Record<string, string>>
  readonly whenBad: Readonly<Record<string, string>>
}

/** Adds the remedy to a finding that needs one. */
export function withRemedy(finding: Finding, { whenNoted, whenBad }: Remedies): Finding {
  const remedy = finding.remedy ?? (finding.state === 'bad' ? whenBad : whenNoted)[finding.check]
  return finding.state === 'ok' || remedy === undefined ? finding : { ...finding, remedy }
}

/** A server's record of itself, stored while it listens. */
export interface ServerNote {
  readonly host: string
  readonly port: number
  /** True for HTTPS. Older versions store nothing here. */
  readonly isSecure?: boolean
  /** False while nothing can be stored. */
  readonly isReady?: boolean
  /** The host name. Older versions store nothing here. */
  readonly machine?: string
  readonly version: string
  /** Older versions store nothing here. */
  readonly zoneData?: ZoneEdition
  readonly startedAt: number
}

export interface FoundServer {
  /** True if it serves the database now, regardless of its note. */
  readonly isServing: boolean
  /** The note of this server, or of an earlier one that crashed; null if there is none. */
  readonly note: ServerNote | null
  /** The last heartbeat in ms; null for an engine without heartbeats. */
  readonly seenAt: number | null
}

/** In ms; null for never. */
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
  /** Rows by table. */
  readonly counts: Readonly<Record<string, number>>
  /** Over all rows of all tables, in hex. */
  readonly sha256: string
}

/** The description inside a backup. */
export interface Manifest extends Content {
  /** ms */
  readonly madeAt: number
  readonly schema: number
  /** The data of the last server; null if none ever ran. */
  readonly zoneData: ZoneEdition | null
}

export interface BackingUp {
  readonly progress?: ReportProgress
  /** True for a backup that is only tried and removed. It is recorded as a drill. */
  readonly isDrill?: boolean
}

export interface AuditPrune {
  readonly chain: AuditChain
  /** ms; removes all lines before the first that is not older. */
  readonly before: number
  /** The path of the archive. */
  readonly target: string
}

/** The archive's contents and its relation to the log (`next`), or the first fault. */
export type ArchiveVerdict =
  | { readonly intact: true; readonly archive: AuditArchive; readonly next: string }
  | { readonly intact: false; readonly id: number; readonly fault: string }

/**
 * Operations that need the engine itself. An engine that cannot do one refuses, and names an alternative for
 * the operator.
 */
export interface Maintenance {
  /**
   * Writes a verified backup with a manifest to an unused place. It gets its name once it is synced. Reads
   * and writes continue.
   *
   * @param target a path or name for the engine
   * @param protect encrypts the backup; null for an unencrypted one
   * @throws Refusal database_unusable if the place is in use or the backup fails; also the errors of
   *   `protect`
   */
  backUp(target: string, protect: Protect | null, act: Act, how?: BackingUp): Promise<Manifest>
  /** Records that a backup was restored, served and found sound. */
  noteDrill(act: Act): Promise<void>

  /**
   * Seals the data key under another master key. Returns false if it is sealed under that key already.
   *
   * @throws Refusal database_unusable if it is sealed under neither key
   */
  rewrap(next: MasterKey, act: Act): Promise<boolean>

  /**
   * Checks the schema, the settings, the integrity and the age of the last backup.
   *
   * @param oldest the maximum age of the last backup in ms; null for any age
   * @param isAll true to open all sealed values instead of a sample of each kind
   */
  check(now: number, oldest?: number | null, isAll?: boolean): Promise<Finding[]>
  /** Checks the machine or server, for example file modes and disk space. */
  checkHost(): Promise<Finding[]>
  findLastBackups(): Promise<LastBackups>

  /** Records where the current server listens; null when it stops. */
  noteServer(note: ServerNote | null): Promise<void>
  /** Includes crashed servers. Returns at most one for an engine that allows one server only. */
  listServers(): Promise<FoundServer[]>

  /**
   * Moves audit lines to an archive and returns their number. The lines are removed once the archive is
   * verified and synced.
   * An interrupted call continues from the archive.
   *
   * @throws Refusal field_invalid if the file exists, database_unusable if writing fails or a line was
   *   altered
   */
  pruneAudit(prune: AuditPrune, act: Act): Promise<number>
  /** Verifies an archive. It must contain the noted head. */
  checkArchive(path: string, noted: AuditHead | null): Promise<ArchiveVerdict>
  /** Verifies the audit log. It must contain the noted head. Reads in batches, so that writes continue. */
  verifyAudit(noted: AuditHead | null): Promise<AuditVerdict>

  /**
   * Removes old changes of the directory. A node that is behind the oldest one kept reloads the directory.
   */
  forgetChanges(): Promise<void>

  /**
   * Removes erased data from all files of the engine. Returns false if readers prevented it: then call it
   * again.
   *
   * @throws Refusal storage_failed or storage_busy, for example for a full disk
   */
  purge(): Promise<boolean>
  /** Describes for staff where erased data remains beyond the engine's reach. Never fails. */
  keptAfterErasure(): Promise<string>

  /** Null if the database was not copied. */
  findCopyNote(): Promise<CopyNote | null>
  /** Removes the copy note. @throws Refusal record_unknown if there is none */
  reactivate(act: Act): Promise<void>

  /** Records the server's zone data for commands. */
  noteZoneData(zones: ZoneEdition): Promise<void>
  /** The zone data of the last server; null if none ever ran. */
  findZoneData(): Promise<ZoneEdition | null>
}
