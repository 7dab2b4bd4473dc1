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
  /** True for a systemd credential. In the file mode, the access control list looks like group access. */
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
  /** @param isServer false for a temporary copy, for example in a drill */
  watch(report: Report, isServer: boolean): Watched
  /** Must be cheap, regardless of the size of the database. */
  measure(): EngineMeasures
  close(): Promise<void>
}

export interface Watched {
  /** Returns true if submissions can be stored. Takes at most one second. The result is at most one second old. */
  isReady(): Promise<boolean>
}

export interface Opening {
  readonly purpose: Purpose
  /** Called after the database is recognized. Otherwise, a foreign database would be reported as a missing key. */
  readonly takeKey: () => Promise<MasterKey>
  readonly create: boolean
  readonly upgrade: boolean
  /** True for a server. If the engine allows only one server, other servers are refused while the database is open. */
  readonly alone: boolean
}

export interface Upgrade {
  /** The path of the copy of the old database; null if no copy was made. */
  readonly copy: string | null
}

export function keptCopyNote(copy: string): string {
  return `The old database was kept as ${copy}. Data that is erased later stays in this copy. Delete the copy when the new database works.`
}

export interface Opened extends Engine {
  /** The upgrade of the schema; null if no upgrade was needed. */
  readonly upgraded: Upgrade | null
}

export interface Making {
  /** The path of the master key; null if the key is not in a file. */
  readonly keyFile: string | null
  /** True to refuse an existing key or database. False to use an existing key or database. */
  readonly mustBeNew: boolean
  /** Creates and closes the database. @param database may contain a password */
  readonly fill: (database: string, keyFile: string) => Promise<void>
}

export interface Restoring {
  readonly backup: string
  readonly purpose: Purpose
  /** Returns the master key. Not called if the engine cannot restore. */
  readonly takeKey: () => MasterKey
  readonly decrypt: (backup: string, path: string, progress: ReportProgress) => Promise<void>
  readonly against?: string | undefined
  /** Called before the new database is visible; throws to cancel. The diff is null if nothing was compared. */
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
  /** Contains no password, so that the name can be shown. */
  readonly name: string
  /** `name` with an absolute path. */
  readonly fullName: string
  find(): Promise<Found | null>
  /** Returns true if the database uses this master key. Returns false if the engine cannot determine this. */
  isSealedUnder(purpose: Purpose, masterKey: MasterKey): Promise<boolean>
  /**
   * @throws Refusal database_unusable if the database is missing, foreign or copied, or has another schema,
   *   purpose or master key
   * @throws Refusal storage_busy if another process uses the database; also errors of `takeKey`
   */
  open(opening: Opening): Promise<Opened>
  /** Creates a database and its master key. Can be repeated after an interruption. */
  make(making: Making): Promise<void>
  /** Creates a database from a backup. First checks the integrity, origin and master key of the backup. */
  restore(restoring: Restoring, progress: ReportProgress): Promise<Restored>
  /** @throws Refusal database_unusable as in `open`; storage_busy if a server runs and `whileServing` is false */
  readSource<T>(reading: ReadingSource, use: (source: CopySource) => Promise<T>): Promise<T>
  /** Creates a database, unless `fill` throws. @throws Refusal database_unusable if the location is not empty */
  makeTarget<T>(making: MakingTarget<T>): Promise<T>
  /** Returns shell completions without names of people. Needs no master key. Never writes or waits. */
  listOffers(offered: Offered, begin: string): Promise<string[]>
  /** Adds the cause to a database error, for operators only. Returns other errors unchanged. */
  explain(error: unknown): unknown
}
