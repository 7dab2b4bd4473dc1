import type { Act, AuditArchive, AuditChain, AuditHead, AuditVerdict } from '../audit'
import type { ReportProgress } from '../measures'
import type { CopyNote } from './database-copy'
import type { ZoneEdition } from './time'
import type { MasterKey, Protect } from './vault'

/** What a check found. Only what is bad makes the whole unhealthy. */
export interface Finding {
  /** What was checked, as `integrity`. */
  readonly check: string
  readonly state: 'ok' | 'note' | 'bad'
  /** In the operator's words. */
  readonly detail: string
  /** What to do about it, where the engine alone knows. */
  readonly remedy?: string
}

/** What to do about findings that do not say it themselves, by the check. */
export interface Remedies {
  /** About what is worth knowing. */
  readonly whenNoted: Readonly<Record<string, string>>
  /** About what is bad. */
  readonly whenBad: Readonly<Record<string, string>>
}

/** A finding with what to do about it; what is as it should be has none. */
export function withRemedy(finding: Finding, { whenNoted, whenBad }: Remedies): Finding {
  const remedy = finding.remedy ?? (finding.state === 'bad' ? whenBad : whenNoted)[finding.check]
  return finding.state === 'ok' || remedy === undefined ? finding : { ...finding, remedy }
}

/** What a server notes of itself for as long as it listens. */
export interface ServerNote {
  readonly host: string
  readonly port: number
  /** Whether it speaks HTTPS there; it does not where nothing is said of it, as by versions before. */
  readonly isSecure?: boolean
  /** False while it can store nothing, where others are to see that by what it noted. */
  readonly isReady?: boolean
  /** The machine's own name; versions before said nothing of it. */
  readonly machine?: string
  readonly version: string
  /** What it works with; versions before said nothing of it. */
  readonly zoneData?: ZoneEdition
  /** ms */
  readonly startedAt: number
}

/** What is known of a server of a database. */
export interface FoundServer {
  /** Whether it serves the database at this moment, whatever is noted. */
  readonly isServing: boolean
  /** What it noted, or one before it that ended without taking that away; null for nothing. */
  readonly note: ServerNote | null
  /** When it was last seen at work by the engine, in ms; null where that sees its one server on this machine alone. */
  readonly seenAt: number | null
}

/** When a backup was last made, and when one was last tried, in ms; null for never. */
export interface LastBackups {
  readonly backedUpAt: number | null
  readonly drilledAt: number | null
  /** Whether the server of the database makes them, and nothing is known of them here. */
  readonly isByServer?: boolean
}

/** Whether the last backup is older than it may be, in ms; null for any age. */
export function isBackupTooOld(
  { backedUpAt, isByServer = false }: LastBackups,
  now: number,
  oldest: number | null,
): boolean {
  return !isByServer && oldest !== null && (backedUpAt === null || now - backedUpAt > oldest)
}

/** What a database holds. */
export interface Content {
  /** Rows by table. */
  readonly counts: Readonly<Record<string, number>>
  /** Of every row of every table, in hex. */
  readonly sha256: string
}

/** What a backup tells of itself, from inside. */
export interface Manifest extends Content {
  /** ms */
  readonly madeAt: number
  readonly schema: number
  /** What the server last worked with; null if none ever did. */
  readonly zoneData: ZoneEdition | null
}

/** How a backup is made. */
export interface BackingUp {
  readonly progress?: ReportProgress
  /** Whether it is made to be tried and removed: then it is no backup to count on, and is noted as a drill. */
  readonly isDrill?: boolean
}

/** Which lines of the audit log are to be removed, and where they go. */
export interface AuditPrune {
  readonly chain: AuditChain
  /** ms: all lines up to the first that is not older. */
  readonly before: number
  /** The file of the archive. */
  readonly target: string
}

/** What a check of an archive found: what it holds and how the log stands to it, or the first fault. */
export type ArchiveVerdict =
  | { readonly intact: true; readonly archive: AuditArchive; readonly next: string }
  | { readonly intact: false; readonly id: number; readonly fault: string }

/**
 * What needs the engine itself and not only its records: keeping copies, looking after its health, and leaving no
 * trace of what was erased. An engine that cannot do one of these refuses with what the operator can do instead.
 */
export interface Maintenance {
  /**
   * Writes a sound copy of the database, with a manifest inside, to a place where nothing is, checked and synced before
   * it gets its name, and notes when. Reads and writes go on meanwhile.
   *
   * @param target where, in the engine's own terms
   * @param protect encrypts it; null for one that whoever finds it can open
   * @throws Refusal database_unusable if there is something already, or no copy could be made; whatever `protect` throws
   */
  backUp(target: string, protect: Protect | null, act: Act, how?: BackingUp): Promise<Manifest>
  /** Notes that a backup was restored and served, and found to be as it should be. */
  noteDrill(act: Act): Promise<void>

  /**
   * Seals the data key under another master key, and nothing else. False if it is sealed under that one already.
   *
   * @throws Refusal database_unusable if it is sealed under neither this key nor that one
   */
  rewrap(next: MasterKey, act: Act): Promise<boolean>

  /**
   * Whether the database is as it should be: schema, settings as read back, integrity, age of the last copy.
   *
   * @param oldest the age in ms beyond which the last backup is bad; null for one of any age
   * @param isAll whether to open all sealed values, and not a sample of each kind
   */
  check(now: number, oldest?: number | null, isAll?: boolean): Promise<Finding[]>
  /** The same of where the database lies, as the modes of its files and the room on their disk. */
  checkHost(): Promise<Finding[]>
  findLastBackups(): Promise<LastBackups>

  /** Notes what the server that has it open listens on; null once it does no more. */
  noteServer(note: ServerNote | null): Promise<void>
  /** The servers of the database, those too that ended without taking their note away; one at most where no more may serve. */
  listServers(): Promise<FoundServer[]>

  /**
   * Writes audit lines to an archive, checked and synced before it gets its name, and removes them then; tells how many.
   * The log goes on from the last of them. One that was killed is taken up again where the archive stands.
   *
   * @throws Refusal field_invalid if there is another file already, database_unusable if no archive could be made or
   *   what it would hold is not as it was written
   */
  pruneAudit(prune: AuditPrune, act: Act): Promise<number>
  /** Whether an archive is as it was written, and has a head that was noted before. */
  checkArchive(path: string, noted: AuditHead | null): Promise<ArchiveVerdict>
  /**
   * Whether every line of the audit log is as it was written, none is missing and none too many, and whether a head that was
   * noted before is among them. The log is read some lines at a time, beside those who write.
   */
  verifyAudit(noted: AuditHead | null): Promise<AuditVerdict>

  /** Removes old changes of the directory. A node that is behind the oldest one kept reloads the directory. */
  forgetChanges(): Promise<void>

  /**
   * Removes what was erased from wherever the engine still has it. False if others who are reading kept it from
   * doing so: then it can be asked again, as after a refusal. What was erased stays so either way.
   *
   * @throws Refusal storage_failed or storage_busy where the storage did, as a full disk does
   */
  purge(): Promise<boolean>
  /** Where what was erased is left beyond the engine's reach, in words for staff. It asks no storage, and does not fail. */
  keptAfterErasure(): Promise<string>

  /** Where the database was copied to, to be served there and no more here; null for nowhere. */
  findCopyNote(): Promise<CopyNote | null>
  /** Takes that note back. @throws Refusal record_unknown where there is none */
  reactivate(act: Act): Promise<void>

  /** Notes which zone data the server works with, for the commands beside it. */
  noteZoneData(zones: ZoneEdition): Promise<void>
  /** The zone data that the server last worked with; null if none ever did. */
  findZoneData(): Promise<ZoneEdition | null>
}
