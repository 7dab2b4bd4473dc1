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
import type { RandomSource } from './domain/ports/random'
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

export interface ServiceOptions extends DatabaseSetting {
  readonly purpose: Purpose
  readonly masterKey: MasterKeySource
  readonly create: boolean
  readonly upgrade?: boolean
  /** True for a server. A SQLite file can have only one server at a time. */
  readonly alone?: boolean
  readonly zoneFolder?: string | undefined
  readonly clock: Clock
  readonly limits?: Limits
  readonly random?: RandomSource | undefined
  readonly report: Report
}

export interface Service extends Pick<Engine, 'close'> {
  readonly context: Context
  readonly zones: ZoneData
  readonly served: Served
  listen(options: ServerOptions): Promise<Server>
  setLimits(limits: Limits): void
  /** Restores a backup to an unused path, and checks its manifest. @throws Refusal database_unusable */
  restore(backup: string, path: string, progress: ReportProgress): Promise<Restored>
  /** Opens another database with the same master key and the same zone data. */
  openOn(database: string, clock: Clock): Promise<Service>
}

const noLogin: DatabaseLogin = { password: null, passFile: null }

/** The only code that chooses between SQLite and PostgreSQL. */
export async function databaseAt({ database, login = noLogin }: DatabaseSetting): Promise<DatabaseLocation> {
  if (!isDatabaseAddress(database)) return fileDatabase(database)
  const { serverDatabase } = await import('../db/postgres/database')
  return serverDatabase(database, login)
}

/** Opens the database, but loads no directory. @throws Refusal database_unusable; storage_busy if it is locked */
export async function openStorage(options: ServiceOptions) {
  const { key: _, ...storage } = await openWithKey(options)
  return storage
}

async function openWithKey(options: ServiceOptions) {
  const { purpose, masterKey: source, create, upgrade = false, alone = false, clock, random } = options
  const place = await databaseAt(options)
  const take = once(() => openKeyring({ source, place, purpose, create }))
  const takeKey = async () => masterKeyOf((await take()).key)
  const opening = { purpose, takeKey, create, upgrade, alone }
  const { store, maintenance, upgraded, ...opened } = await place.open(opening)
  const { key, keyring } = await take()
  if (upgraded?.copy) options.report(keptCopyNote(upgraded.copy))
  const records: Records = { store, maintenance, clock, keyring, random, directory: null }
  return { ...opened, records, upgraded, key }
}

export function readZones(folder: string | undefined): ZoneData {
  return folder === undefined ? builtInZones() : zonesFromFolder(folder)
}

export async function openService(options: ServiceOptions): Promise<Service> {
  const { purpose, zoneFolder, clock, report } = options
  const zones = readZones(zoneFolder)
  const { records, feed, watch, measure, close, key } = await openWithKey(options)
  // Passes the key, not its source, because a key from a file descriptor can be read only once.
  const sameKey = () => ({ base64: Buffer.from(key).toString('base64') })
  const directory = await Directory.load({ feed, findZone: zones.find, clock, report }).catch(
    async (error) => {
      await close()
      throw error
    },
  )
  const notebook = new Notebook()
  // Shared with the context, so that setLimits can change it in place.
  const limits = { ...(options.limits ?? unlimited) }
  const context: Context = { ...records, directory, notebook, limits }
  const served: Served = {
    report,
    context,
    zones,
    isSandbox: purpose === 'sandbox',
    measureEngine: measure,
    watch: () => watch(report, options.alone === true && purpose === 'production'),
  }
  return {
    context,
    zones,
    served,
    async listen(options) {
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

/** Without an identity file or a passphrase file, the master key decrypts the backup. */
export interface Restoring
  extends Pick<ServiceOptions, 'purpose' | 'masterKey'>,
    Pick<RestoringPlace, 'backup' | 'against' | 'agree'>,
    Omit<BackupKeys, 'masterKey'> {
  readonly path: string
}

/** Restores a backup to an unused path, and checks its manifest. @throws Refusal database_unusable */
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

interface Relocating extends Pick<ServiceOptions, 'purpose' | 'masterKey' | 'clock'> {
  readonly from: DatabaseSetting
  readonly to: DatabaseSetting
  /** True if servers of the source database may keep running. */
  readonly whileServing: boolean
}

/** Copies a database to an empty target. @throws Refusal as copyDatabase does */
export async function copyBetween(
  { from, to, masterKey: source, purpose, whileServing, clock }: Relocating,
  progress: ReportProgress,
): Promise<Copied> {
  const places = { from: await databaseAt(from), to: await databaseAt(to) }
  const take = once(() => openKeyring({ source, place: places.from, purpose, create: false }))
  const takeKey = async () => masterKeyOf((await take()).key)
  return copyDatabase({ ...places, purpose, takeKey, whileServing, clock }, progress)
}

/** Memoizes `make`, because a key from a file descriptor can be read only once. */
function once<Made>(make: () => Made): () => Made {
  let made: { readonly it: Made } | undefined
  return () => {
    made ??= { it: make() }
    return made.it
  }
}
