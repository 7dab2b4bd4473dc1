import type { EngineMeasures, Report, ReportProgress } from '../measures'
import type { CopySource, MakingTarget, Purpose, ReadingSource, RestoreDiff } from './database-copy'
import type { DirectoryFeed } from './directory-feed'
import type { Maintenance, Manifest } from './maintenance'
import type { Store } from './store'
import type { MasterKey } from './vault'

/** What can be named on a command line. */
export type Offered = 'organization' | 'partner' | 'provider' | 'request' | 'member' | 'region'

/** Where the password for a database may be but in its address; null for nowhere. */
export interface DatabaseLogin {
  readonly password: string | null
  /** The path of a file of passwords by host, port, database and user (libpq's, PostgreSQL §34.16). */
  readonly passFile: string | null
  /** Whether systemd keeps that file: it lets the service's user read it by a list of its own, which a mode shows as a group. */
  readonly isPassFileCredential?: boolean
}

/** Which database is meant. */
export interface DatabaseSetting {
  /** The path of a file, or the address of a database on a server. */
  readonly database: string
  /** None for a file. */
  readonly login?: DatabaseLogin | undefined
}

/** An open database behind the domain's ports. */
export interface Engine {
  readonly store: Store
  readonly feed: DirectoryFeed
  readonly maintenance: Maintenance
  /**
   * Begins to look after the database for a server.
   *
   * @param report receives each change between ready and not ready
   * @param isServer whether it is for a server, and not for a copy that is tried: it is held to be sound, and the one that
   *   it was
   */
  watch(report: Report, isServer: boolean): Watched
  /** How much it has to do, and how it does: cheap, whatever is stored. */
  measure(): EngineMeasures
  close(): Promise<void>
}

/** A database that is looked after. */
export interface Watched {
  /** Whether what partners send can be stored at the moment, seen within the last second; within one more it is answered. */
  isReady(): Promise<boolean>
}

/** How a database is to be opened. */
export interface Opening {
  readonly purpose: Purpose
  /**
   * Gives the master key. It is asked once the database is known to be none of a stranger's, and held where it is to be
   * held alone: that a stranger's has no key of ours is not what is wrong with it.
   */
  readonly takeKey: () => Promise<MasterKey>
  /** Whether to make the database if there is none. */
  readonly create: boolean
  /** Whether to bring an older schema up to date. */
  readonly upgrade: boolean
  /** Whether it is opened by a server, for as long as it is open: an engine for one server alone lets no other in. */
  readonly alone: boolean
  /** Writes in one transaction at most, where that is to be measured: no setting of an operator's. */
  readonly largestGroup?: number | undefined
}

/** What an upgrade has left. */
export interface Upgrade {
  /** Where the database is kept as it was; null where it is not. */
  readonly copy: string | null
}

/** What an operator has to know of the copy that an upgrade leaves. */
export function keptCopyNote(copy: string): string {
  return `The database as it was is kept in ${copy}; what is erased later stays in it: remove it once all is well.`
}

/** A database as it was opened. */
export interface Opened extends Engine {
  /** Null where it was up to date. */
  readonly upgraded: Upgrade | null
}

/** How a new database is made. */
export interface Making {
  /** The file that its master key has, or will have; null where the key is in no file. */
  readonly keyFile: string | null
  /** Whether a key or a database that is there already is refused, and not taken. */
  readonly mustBeNew: boolean
  /**
   * Opens it, to be made with its key, and closes it.
   *
   * @param database as a setting names it, with a password where it has one
   * @param keyFile of no meaning where the key is in no file
   */
  readonly fill: (database: string, keyFile: string) => Promise<void>
}

/** A backup that a database is made of. */
export interface Restoring {
  readonly backup: string
  readonly purpose: Purpose
  /** Gives the master key, to an engine that can restore at all. */
  readonly takeKey: () => MasterKey
  /** Writes what an encrypted backup holds to another file. */
  readonly decrypt: (backup: string, path: string, progress: ReportProgress) => Promise<void>
  /** The database that it is to take the place of, where one is left to compare it with. */
  readonly against?: string | undefined
  /** Confirms the restore before the database is there. The diff is null if there is no database to compare with. */
  readonly agree?: ((manifest: Manifest | null, diff: RestoreDiff | null) => Promise<void>) | undefined
}

/** What was made of a backup. */
export interface Restored {
  /** The backup's own manifest; null if another program made the backup. */
  readonly manifest: Manifest | null
  /** Whether it has an older schema. */
  readonly isOlder: boolean
}

/** What there is at the place of a database, whatever it is. */
export interface Found {
  /** Whose it is on this machine, by uid, and whose its master key may so be; undefined where that says nothing. */
  readonly owner: number | undefined
}

/**
 * Where a database is or will be, and what can be done with it before it is open. Every method may throw Refusal
 * database_unusable.
 */
export interface DatabaseLocation {
  /** As it may be shown to anybody: without a password. */
  readonly name: string
  /** The same, wherever it is read: the path of a file from the root on. */
  readonly fullName: string
  /** What there is by now; null for nothing. */
  find(): Promise<Found | null>
  /** Whether the database that is there is sealed under a master key; false if that cannot be told. */
  isSealedUnder(purpose: Purpose, masterKey: MasterKey): Promise<boolean>
  /**
   * Opens the database.
   *
   * @throws Refusal database_unusable for none, what is no database of ours, one that was left for its copy, a newer schema,
   *   an older one that is not to be upgraded, other migrations, another purpose, or another master key than it was sealed
   *   under; storage_busy if others hold it; whatever `takeKey` throws
   */
  open(opening: Opening): Promise<Opened>
  /** Makes a new database and its master key: an end in between leaves neither, or what the same call goes on with. */
  make(making: Making): Promise<void>
  /** Makes the database of a backup, where none is, held to be sound, ours, and sealed under the master key. */
  restore(restoring: Restoring, progress: ReportProgress): Promise<Restored>
  /**
   * Reads the database as of one moment.
   *
   * @throws Refusal database_unusable as open does; storage_busy if a server runs that must not; whatever `takeKey` and
   *   `use` throw
   */
  readSource<T>(reading: ReadingSource, use: (source: CopySource) => Promise<T>): Promise<T>
  /**
   * Makes a database at an empty place, complete or not at all. Returns what `fill` returns.
   *
   * @throws Refusal database_unusable if the place is not empty; whatever `fill` throws
   */
  makeTarget<T>(making: MakingTarget<T>): Promise<T>
  /**
   * What a shell may offer for a word that begins so: names, refs or ids, and no person's name. It is read without the
   * master key; nothing is made, changed or waited for.
   */
  listOffers(offered: Offered, begin: string): Promise<string[]>
  /** What made the database fail, in words for whoever gives a command on it, and no partner; or the same error. */
  explain(error: unknown): unknown
}
