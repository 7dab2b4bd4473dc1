import type { Purpose } from '../db/sqlite/data-key'
import { type Engine, openEngine } from '../db/sqlite/engine'
import { holdsReadablePeople, recognizeFile } from '../db/sqlite/file-head'
import { copyPathOf, isOutdated } from '../db/sqlite/migrate'
import { openDatabase } from '../db/sqlite/open'
import { restoreDatabase } from '../db/sqlite/restore'
import type { MasterKeySource } from './config'
import { readKey, takeCustody } from './custody'
import { Directory } from './directory/directory'
import type { Clock } from './domain/clock'
import { type Limits, unlimited } from './domain/limits'
import type { ZoneData } from './domain/zone-data'
import { createApp } from './http/app'
import { type Listening, listen } from './http/listen'
import type { Context, Records } from './operations/context'
import { Notebook } from './operations/notebook'
import { type BackupKeys, openBackup } from './vault/backup'
import { masterKeyOf } from './vault/vault'
import { zonesFromFolder } from './zones/folder'
import { builtInZones } from './zones/packed'

/** What the service is made of. */
export interface ServiceOptions {
  readonly purpose: Purpose
  readonly database: string
  readonly masterKey: MasterKeySource
  /** Whether to make the database and the master key file where they are missing. */
  readonly create: boolean
  /** Whether to bring a database of an older schema up to date. */
  readonly upgrade?: boolean
  /** A zoneinfo folder to take time zones from instead of the built-in data. */
  readonly zoneFolder?: string | undefined
  readonly clock: Clock
  /** None unless given. */
  readonly limits?: Limits
  /** Whether the API's documents are left out. */
  readonly noDocs?: boolean
  /** Writes in one transaction at most, where that is to be measured: no setting of an operator's. */
  readonly largestGroup?: number | undefined
  /** Is told what an operator should know of. */
  readonly report: (line: string) => void
}

/** How often what was noted while requests were answered is written down. */
const flushMillis = 1_000

/** The service, put together and not yet listening. */
export interface Service extends Pick<Engine, 'close'> {
  readonly context: Context
  readonly zones: ZoneData
  /**
   * Listens on a host and port, 0 for a free one.
   *
   * @param baseUrl the public address, where it is not the one listened on
   */
  listen(host: string, port: number, baseUrl?: string): Listening & { readonly baseUrl: string }
}

/** Opens the database alone: its directory is not read into memory. @throws Refusal database_unusable */
export function openStorage(options: ServiceOptions) {
  const { purpose, database, masterKey, create, upgrade = false, largestGroup, clock, report } = options
  // First: that a stranger's file has no key of ours is not what is wrong with it.
  recognizeFile(database, create)
  const { key, custody } = takeCustody({ source: masterKey, database, purpose, create })
  const keptCopy = upgrade && isOutdated(database) ? copyPathOf(database) : null
  const opening = { path: database, purpose, masterKey: masterKeyOf(key), create, upgrade }
  const { store, upkeep, feed, close } = openEngine(opening, largestGroup)
  if (keptCopy !== null) report(keptCopyNote(keptCopy))
  const records: Records = { store, upkeep, clock, custody, directory: null }
  return { records, feed, close }
}

/** Opens the database and puts the service together. @throws Refusal database_unusable */
export async function openService(options: ServiceOptions): Promise<Service> {
  const { purpose, zoneFolder, clock, limits = unlimited, noDocs = false, report } = options
  const zones = zoneFolder === undefined ? builtInZones() : zonesFromFolder(zoneFolder)
  const { records, feed, close } = openStorage(options)
  const { store } = records
  const directory = await Directory.load({ feed, findZone: zones.find, clock, report }).catch(
    async (error) => {
      await close()
      throw error
    },
  )
  const notebook = new Notebook()
  const context: Context = { ...records, directory, notebook, limits }
  return {
    context,
    zones,
    listen(host, port, baseUrl) {
      let address = ''
      const listening = listen(host, port, (actualPort, addressOf) => {
        address = baseUrl?.replace(/\/+$/, '') ?? `http://${urlHost(host)}:${actualPort}`
        const serving = { context, baseUrl: address, isSandbox: purpose === 'sandbox', noDocs }
        return createApp(serving, addressOf).fetch
      })
      const flush = () =>
        notebook
          .flush(store)
          .catch(() =>
            report(
              'uses of tokens, look-ups and refused authentications could not be noted yet; they are kept',
            ),
          )
      const flushing = setInterval(flush, flushMillis)
      return {
        ...listening,
        baseUrl: address,
        async stop() {
          clearInterval(flushing)
          await listening.stop()
          await flush()
        },
      }
    },
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
}

/**
 * Makes a database of a backup, at a place where nothing is. Tells whether it has an older schema.
 *
 * @throws Refusal database_unusable
 */
export async function restoreBackup({ masterKey, ...restoring }: Restoring): Promise<boolean> {
  const key = readKey(masterKey, restoring.backup)
  const decrypt = (encrypted: string, plain: string) =>
    openBackup(encrypted, plain, { ...restoring, masterKey: key })
  await restoreDatabase({ ...restoring, masterKey: masterKeyOf(key), decrypt })
  return isOutdated(restoring.path)
}

/** A host as URLs write it; one that stands for all addresses is reached at the loopback one. */
function urlHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  if (host === '::') return '[::1]'
  return host.includes(':') ? `[${host}]` : host
}
