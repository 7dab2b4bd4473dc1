import { fileDatabase } from '../db/sqlite/database'
import type { MasterKeySource } from './config'
import { Directory } from './directory/directory'
import { isDatabaseAddress } from './domain/addresses'
import { type Limits, unlimited } from './domain/limits'
import type { Report, ReportProgress } from './domain/measures'
import {
  type DatabaseLocation,
  type DatabaseLogin,
  type DatabaseSetting,
  type Engine,
  keptCopyNote,
  type Restored,
  type Restoring as RestoringPlace,
} from './domain/ports/database'
import type { Purpose } from './domain/ports/database-copy'
import type { Clock, ZoneData } from './domain/ports/time'
import { openKeyring, readBackupKey } from './keyring'
import type { Context, Records } from './operations/context'
import { type Copied, copyDatabase } from './operations/database-copy'
import { Notebook } from './operations/notebook'
import type { Served, Server, ServerOptions } from './serving'
import { type BackupKeys, openBackup } from './vault/backup'
import { masterKeyOf } from './vault/vault'
import { zonesFromFolder } from './zones/folder'
import { builtInZones } from './zones/packed'

export type { Restored } from './domain/ports/database'
export type { Copied } from './operations/database-copy'
export type { Server } from './serving'
export { type Certificate, certificateNotes, readCertificate } from './vault/certificate'

/** How a service opens its database, and what it is put together of. */
export interface ServiceOptions extends DatabaseSetting {
  readonly purpose: Purpose
  readonly masterKey: MasterKeySource
  /** Whether to make the database and the master key file where they are missing. */
  readonly create: boolean
  /** Whether to bring a database of an older schema up to date. */
  readonly upgrade?: boolean
  /** Whether to serve the database, which is to be there, for as long as it is open. */
  readonly alone?: boolean
  /** A zoneinfo folder to take time zones from instead of the built-in data. */
  readonly zoneFolder?: string | undefined
  readonly clock: Clock
  /** None unless given. */
  readonly limits?: Limits
  /** Logs an event for the operator. */
  readonly report: Report
  /** Writes in one transaction at most, where that is to be measured: no setting of an operator's. */
  readonly largestGroup?: number | undefined
}

/** The service, put together and not yet listening. */
export interface Service extends Pick<Engine, 'close'> {
  readonly context: Context
  readonly zones: ZoneData
  listen(options: ServerOptions): Promise<Server>
  setLimits(limits: Limits): void
  /**
   * Makes a database of a backup that the master key opens, and holds it to the backup's manifest.
   *
   * @throws Refusal database_unusable
   */
  restore(backup: string, path: string, progress: ReportProgress): Promise<Restored>
  /** Puts the service together on another database under the same master key, with the same zone data. */
  openOn(database: string, clock: Clock): Promise<Service>
}

const noLogin: DatabaseLogin = { password: null, passFile: null }

/** Where a database is, in an engine's keeping. What kind of place it is says which, and nothing else asks for that. */
export async function databaseAt({ database, login = noLogin }: DatabaseSetting): Promise<DatabaseLocation> {
  if (!isDatabaseAddress(database)) return fileDatabase(database)
  // Loaded here, since whoever has a file would start the slower for it.
  const { serverDatabase } = await import('../db/postgres/database')
  return serverDatabase(database, login)
}

/**
 * Opens the database alone: its directory is not read into memory.
 *
 * @throws Refusal database_unusable; storage_busy where it has a server that is to be alone
 */
export async function openStorage(options: ServiceOptions) {
  const { key: _, ...storage } = await openWithKey(options)
  return storage
}

async function openWithKey(options: ServiceOptions) {
  const { purpose, masterKey: source, create, upgrade = false, alone = false, largestGroup, clock } = options
  const place = await databaseAt(options)
  const take = once(() => openKeyring({ source, place, purpose, create }))
  const takeKey = async () => masterKeyOf((await take()).key)
  const opening = { purpose, takeKey, create, upgrade, alone, largestGroup }
  const { store, maintenance, upgraded, ...opened } = await place.open(opening)
  const { key, keyring } = await take()
  if (upgraded?.copy) options.report(keptCopyNote(upgraded.copy))
  const records: Records = { store, maintenance, clock, keyring, directory: null }
  return { ...opened, records, upgraded, key }
}

/** The time zones of a zoneinfo folder, or those that are built in. @throws Refusal settings_invalid */
export function readZones(folder: string | undefined): ZoneData {
  return folder === undefined ? builtInZones() : zonesFromFolder(folder)
}

/** Opens the database and puts the service together. @throws Refusal as openStorage does */
export async function openService(options: ServiceOptions): Promise<Service> {
  const { purpose, zoneFolder, clock, report } = options
  const zones = readZones(zoneFolder)
  const { records, feed, watch, measure, close, key } = await openWithKey(options)
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
  const served: Served = {
    report,
    context,
    zones,
    isSandbox: purpose === 'sandbox',
    measureEngine: measure,
    watch: () => watch(report, options.alone ?? false),
  }
  return {
    context,
    zones,
    async listen(options) {
      // Loaded lazily: other commands start faster without it.
      const { serve } = await import('./serving')
      return serve(served, options)
    },
    setLimits: (given) => void Object.assign(limits, given),
    restore: (backup, path, progress) =>
      restoreBackup({ purpose, masterKey: sameKey(), backup, path }, progress),
    openOn: (database, clock) =>
      openService({ ...options, database, masterKey: sameKey(), create: false, clock, report: () => {} }),
    close,
  }
}

/** A backup, where it shall stand, and what opens it: the master key unless another key of it is named. */
export interface Restoring
  extends Pick<ServiceOptions, 'purpose' | 'masterKey'>,
    Pick<RestoringPlace, 'backup' | 'against' | 'agree'>,
    Omit<BackupKeys, 'masterKey'> {
  /** Where the database is to be made. */
  readonly path: string
}

/** Makes a database of a backup, at a path where nothing is, and checks it against the backup's manifest. @throws Refusal database_unusable */
export async function restoreBackup(
  { masterKey: source, path, ...restoring }: Restoring,
  progress: ReportProgress,
): Promise<Restored> {
  const place = await databaseAt({ database: path })
  const key = once(() => readBackupKey(source, restoring.backup))
  const takeKey = () => masterKeyOf(key())
  const decrypt: RestoringPlace['decrypt'] = (encrypted, plain) =>
    openBackup(encrypted, plain, { ...restoring, masterKey: key() }, progress)
  return place.restore({ ...restoring, takeKey, decrypt }, progress)
}

/** A database that is there, and where it shall be too. */
export interface Relocating extends Pick<ServiceOptions, 'purpose' | 'masterKey' | 'clock'> {
  readonly from: DatabaseSetting
  readonly to: DatabaseSetting
  /** Whether a server may work with the one that is copied. */
  readonly whileServing: boolean
}

/** Copies a database to a place where nothing is. @throws Refusal as copyDatabase does */
export async function copyBetween(
  { from, to, masterKey: source, purpose, whileServing, clock }: Relocating,
  progress: ReportProgress,
): Promise<Copied> {
  const places = { from: await databaseAt(from), to: await databaseAt(to) }
  const take = once(() => openKeyring({ source, place: places.from, purpose, create: false }))
  const takeKey = async () => masterKeyOf((await take()).key)
  return copyDatabase({ ...places, purpose, takeKey, whileServing, clock }, progress)
}

/** A key that comes by a descriptor cannot be read again. */
function once<Made>(make: () => Made): () => Made {
  let made: { readonly it: Made } | undefined
  return () => {
    made ??= { it: make() }
    return made.it
  }
}
