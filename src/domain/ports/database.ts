import type { EngineMeasures, Report, ReportProgress } from '../measures'
import type { CopySource, MakingTarget, Purpose, ReadingSource, RestoreDiff } from './database-copy'
import type { DirectoryFeed } from './directory-feed'
import type { Maintenance, Manifest } from './maintenance'
import type { Store } from './store'
import type { MasterKey } from './vault'

export type Offered = 'organization' | 'partner' | 'provider' | 'request' | 'member' | 'region'

export interface DatabaseLogin {
  readonly password: string | null
  /** The path of a libpq password file (PostgreSQL §34.16). */
  readonly passFile: string | null
  /** True for a systemd credential: its access control list looks like group access in the file's mode. */
  readonly isPassFileCredential?: boolean
}

export interface DatabaseSetting {
  readonly database: string
  readonly login?: DatabaseLogin | undefined
}

export interface Engine {
  readonly store: Store
  readonly feed: DirectoryFeed
  readonly maintenance: Maintenance
  /** @param isServer false for a copy that is only tried, for example in a drill */
  watch(report: Report, isServer: boolean): Watched
  /** Must be cheap, regardless of the size of the database. */
  measure(): EngineMeasures
  close(): Promise<void>
}

export interface Watched {
  /** Returns true if submissions can be stored. The answer is at most a second old, and takes at most a second. */
  isReady(): Promise<boolean>
}

export interface Opening {
  readonly purpose: Purpose
  /** Called after the database is recognized as ours, so that a foreign database is not reported as a missing key. */
  readonly takeKey: () => Promise<MasterKey>
  readonly create: boolean
  readonly upgrade: boolean
  /** True for a server. An engine that allows one server only refuses other servers while the database is open. */
  readonly alone: boolean
  /** The maximum number of writes in a transaction; for benchmarks only. */
  readonly largestGroup?: number | undefined
}

export interface Upgrade {
  /** The path of the old database's copy; null if none was made. */
  readonly copy: string | null
}

export function keptCopyNote(copy: string): string {
  return `The old database was kept as ${copy}. Data that is erased later stays in it. Delete it once the new database works.`
}

export interface Opened extends Engine {
  /** Null if the schema was up to date. */
  readonly upgraded: Upgrade | null
}

export interface Making {
  /** The path of the master key; null if the key is in no file. */
  readonly keyFile: string | null
  /** True to refuse an existing key or database instead of using it. */
  readonly mustBeNew: boolean
  /** Creates the database with its key, and closes it. @param database may contain a password */
  readonly fill: (database: string, keyFile: string) => Promise<void>
}

export interface Restoring {
  readonly backup: string
  readonly purpose: Purpose
  /** Returns the master key. An engine that cannot restore does not call this. */
  readonly takeKey: () => MasterKey
  readonly decrypt: (backup: string, path: string, progress: ReportProgress) => Promise<void>
  readonly against?: string | undefined
  /** Called before the database appears; throws to cancel. The diff is null without a database to compare with. */
  readonly agree?: ((manifest: Manifest | null, diff: RestoreDiff | null) => Promise<void>) | undefined
}

export interface Restored {
  /** Null if another program made the backup. */
  readonly manifest: Manifest | null
  readonly isOlder: boolean
}

export interface Found {
  /** The uid of the file's owner; undefined for a database on a database server. */
  readonly owner: number | undefined
}

/** The location of a database that is not open. Methods may throw Refusal database_unusable. */
export interface DatabaseLocation {
  /** Without a password, so it can be shown. */
  readonly name: string
  /** `name` with an absolute path. */
  readonly fullName: string
  find(): Promise<Found | null>
  /** Returns true if the database uses this master key; false also if this cannot be determined. */
  isSealedUnder(purpose: Purpose, masterKey: MasterKey): Promise<boolean>
  /**
   * @throws Refusal database_unusable if the database is missing, foreign, copied, or of another schema,
   *   purpose or master key; storage_busy if another process uses it; also the errors of `takeKey`
   */
  open(opening: Opening): Promise<Opened>
  /** Creates a database and its master key. If interrupted, it leaves nothing, or the next call continues. */
  make(making: Making): Promise<void>
  /** Creates a database from a backup, after checking its integrity, origin and master key. */
  restore(restoring: Restoring, progress: ReportProgress): Promise<Restored>
  /** @throws Refusal database_unusable as in `open`; storage_busy if a server runs, unless `whileServing` */
  readSource<T>(reading: ReadingSource, use: (source: CopySource) => Promise<T>): Promise<T>
  /** Creates a database, or nothing if `fill` fails. @throws Refusal database_unusable if the location is not empty */
  makeTarget<T>(making: MakingTarget<T>): Promise<T>
  /** Returns shell completions, never the name of a person. Needs no master key, writes nothing and does not wait. */
  listOffers(offered: Offered, begin: string): Promise<string[]>
  /** Adds the cause to an error, for operators and never for partners. Returns other errors unchanged. */
  explain(error: unknown): unknown
}
