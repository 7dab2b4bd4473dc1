import type { Purpose } from '../db/sqlite/data-key'
import { type Engine, openEngine } from '../db/sqlite/engine'
import { holdsReadablePeople, recognizeFile } from '../db/sqlite/file-head'
import { copyPathOf, isOutdated } from '../db/sqlite/migrate'
import { type Offered, readOffers } from '../db/sqlite/offers'
import { openDatabase } from '../db/sqlite/open'
import { compareContent, restoreDatabase } from '../db/sqlite/restore'
import { takeServeLock } from '../db/sqlite/serve-lock'
import type { MasterKeySource } from './config'
import { readKey, takeCustody } from './custody'
import { Directory } from './directory/directory'
import type { Clock } from './domain/clock'
import { type Limits, unlimited } from './domain/limits'
import type { Undone } from './domain/undone'
import type { Manifest, TellStep } from './domain/upkeep'
import type { ZoneData } from './domain/zone-data'
import type { Context, Records } from './operations/context'
import { Notebook } from './operations/notebook'
import type { Server, ServingOptions } from './serving'
import { type BackupKeys, openBackup } from './vault/backup'
import { masterKeyOf } from './vault/vault'
import { zonesFromFolder } from './zones/folder'
import { builtInZones } from './zones/packed'

export type { Server } from './serving'
export { type Certificate, certificateNotes, readCertificate } from './vault/certificate'

/** What the service is made of. */
export interface ServiceOptions extends ServingOptions {
  readonly purpose: Purpose
  readonly database: string
  readonly masterKey: MasterKeySource
  /** Whether to make the database and the master key file where they are missing. */
  readonly create: boolean
  /** Whether to bring a database of an older schema up to date. */
  readonly upgrade?: boolean
  /** Whether to be the only server of the database, which is to be there, for as long as it is open. */
  readonly alone?: boolean
  /** A zoneinfo folder to take time zones from instead of the built-in data. */
  readonly zoneFolder?: string | undefined
  readonly clock: Clock
  /** None unless given. */
  readonly limits?: Limits
  /** Writes in one transaction at most, where that is to be measured: no setting of an operator's. */
  readonly largestGroup?: number | undefined
}

/** The service, put together and not yet listening. */
export interface Service extends Pick<Engine, 'close'> {
  readonly context: Context
  readonly zones: ZoneData
  /**
   * Listens on a host and port, 0 for a free one.
   *
   * @param baseUrl the public address, where it is not the one listened on
   */
  listen(host: string, port: number, baseUrl?: string): Promise<Server>
  /** Holds callers to other limits from now on. */
  setLimits(limits: Limits): void
  /**
   * Makes a database of a backup that the master key opens, and holds it to the backup's manifest.
   *
   * @throws Refusal database_unusable
   */
  restore(backup: string, path: string, tell: TellStep): Promise<Restored>
  /** Puts the service together on another database under the same master key, with the same zone data. */
  openOn(database: string, clock: Clock): Promise<Service>
}

/**
 * Opens the database alone: its directory is not read into memory.
 *
 * @throws Refusal database_unusable; storage_busy where it has a server that is to be alone
 */
export function openStorage(options: ServiceOptions) {
  const { key: _, ...storage } = openWithKey(options)
  return storage
}

function openWithKey(options: ServiceOptions) {
  const { database, create, alone = false } = options
  // First: that a stranger's file has no key of ours is not what is wrong with it.
  recognizeFile(database, create)
  // Before anything is finished or upgraded, under the server that runs.
  const lock = alone ? takeServeLock(database) : null
  const unlock = () => lock?.[Symbol.dispose]()
  try {
    const { close, ...opened } = openRecords(options)
    return { ...opened, close: () => close().finally(unlock) }
  } catch (error) {
    unlock()
    throw error
  }
}

function openRecords({
  purpose,
  database,
  masterKey,
  create,
  upgrade = false,
  largestGroup,
  clock,
  report,
}: ServiceOptions) {
  const { key, custody } = takeCustody({ source: masterKey, database, purpose, create })
  const keptCopy = upgrade && isOutdated(database) ? copyPathOf(database) : null
  const opening = { path: database, purpose, masterKey: masterKeyOf(key), create, upgrade }
  const { store, upkeep, feed, watch, measure, close } = openEngine(opening, largestGroup)
  if (keptCopy !== null) for (const note of upgradeNotes(keptCopy)) report(note)
  const records: Records = { store, upkeep, clock, custody, directory: null }
  return { records, feed, watch, measure, close, key }
}

/** The time zones of a zoneinfo folder, or those that are built in. @throws Refusal settings_invalid */
export function readZones(folder: string | undefined): ZoneData {
  return folder === undefined ? builtInZones() : zonesFromFolder(folder)
}

/** Opens the database and puts the service together. @throws Refusal as openStorage does */
export async function openService(options: ServiceOptions): Promise<Service> {
  const { purpose, zoneFolder, clock, report } = options
  const zones = readZones(zoneFolder)
  const { records, feed, watch, measure, close, key } = openWithKey(options)
  // A key that came by a descriptor cannot be read again.
  const sameKey = () => ({ base64: Buffer.from(key).toString('base64') })
  const directory = await Directory.load({ feed, findZone: zones.find, clock, report }).catch(
    async (error) => {
      await close()
      throw error
    },
  )
  const notebook = new Notebook()
  // One object that is asked each time, so that others can be set while it runs.
  const limits = { ...(options.limits ?? unlimited) }
  const context: Context = { ...records, directory, notebook, limits }
  const served = {
    ...options,
    context,
    zones,
    isSandbox: purpose === 'sandbox',
    measureEngine: measure,
    watch: () => watch(report, options.alone ?? false),
  }
  return {
    context,
    zones,
    async listen(host, port, baseUrl) {
      // Loaded here, since a command that serves nobody would start the slower for it.
      const { serve } = await import('./serving')
      return serve(served, { host, port, baseUrl })
    },
    setLimits: (given) => void Object.assign(limits, given),
    restore: (backup, path, tell) => verifyBackup({ purpose, masterKey: sameKey(), backup, path }, tell),
    openOn: (database, clock) =>
      openService({ ...options, database, masterKey: sameKey(), create: false, clock, report: () => {} }),
    close,
  }
}

/**
 * Brings a database up to date. Tells where it is kept as it was; null if there was nothing to do.
 *
 * @throws Refusal database_unusable
 */
export function migrateDatabase(options: Pick<ServiceOptions, 'purpose' | 'database' | 'masterKey'>) {
  const { purpose, database: path, masterKey } = options
  recognizeFile(path, false)
  const wasOutdated = isOutdated(path)
  const { key } = takeCustody({ source: masterKey, database: path, purpose, create: false })
  openDatabase({ path, purpose, masterKey: masterKeyOf(key), create: false, upgrade: true }).close()
  return wasOutdated ? copyPathOf(path) : null
}

/** What can be named on a command line, by the names of arguments and options. */
export const offeredBy: Readonly<Record<string, Offered>> = {
  organization: 'organization',
  partner: 'partner',
  provider: 'provider',
  ref: 'provider',
  request: 'request',
  member: 'member',
  region: 'region',
}

/** What a shell may offer for a word that begins so: no person's name. Nothing is made or changed. @throws Refusal database_unusable */
export function listOffers(database: string, offered: Offered, begin: string): string[] {
  return readOffers(database, offered, begin)
}

/** What an operator has to know after an upgrade, which left a copy. */
export function upgradeNotes(copy: string): string[] {
  const absences =
    'Time off that staff entered before stands among that of the directory: the next load asks before it takes it back.'
  return [keptCopyNote(copy), absences]
}

/** What an operator has to know of the copy that an upgrade leaves. */
export function keptCopyNote(copy: string): string {
  const why = holdsReadablePeople(copy)
    ? 'names and addresses of people lie readable in it'
    : 'what is erased later stays in it'
  return `The database as it was is kept in ${copy}; ${why}: remove it once all is well.`
}

/** A backup, where it shall stand, and what opens it: the master key unless another key of it is named. */
export interface Restoring
  extends Pick<ServiceOptions, 'purpose' | 'masterKey'>,
    Omit<BackupKeys, 'masterKey'> {
  readonly backup: string
  readonly path: string
  /** The database that it is to take the place of, to tell what becomes valid again. */
  readonly against?: string | undefined
  /** Is asked before the database is there, with what becomes valid again; null where nothing is known of it. */
  readonly agree?: (manifest: Manifest | null, undone: Undone | null) => Promise<void>
}

/** What was made of a backup. */
export interface Restored {
  /** What the backup says of itself; null where an earlier version made it. */
  readonly manifest: Manifest | null
  /** Whether it has an older schema. */
  readonly isOlder: boolean
}

/** Makes a database of a backup, at a place where nothing is. @throws Refusal database_unusable */
export async function restoreBackup(
  { masterKey, ...restoring }: Restoring,
  tell: TellStep,
): Promise<Restored> {
  const key = readKey(masterKey, restoring.backup)
  const manifest = await restoreDatabase({
    ...restoring,
    masterKey: masterKeyOf(key),
    decrypt: (encrypted, plain) => openBackup(encrypted, plain, { ...restoring, masterKey: key }, tell),
    tell,
  })
  return { manifest, isOlder: isOutdated(restoring.path) }
}

/** The same, and holds what was made to the backup's manifest. @throws Refusal database_unusable */
export async function verifyBackup(restoring: Restoring, tell: TellStep): Promise<Restored> {
  const restored = await restoreBackup(restoring, tell)
  if (restored.manifest) await compareContent(restoring.path, restored.manifest, tell)
  return restored
}
