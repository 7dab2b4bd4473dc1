import { existsSync } from 'node:fs'
import { type Engine, openEngine } from '../db/sqlite/engine'
import { recognizeFile } from '../db/sqlite/file-head'
import { copyPathOf, isOutdated } from '../db/sqlite/migrate'
import { openDatabase, type Purpose } from '../db/sqlite/open'
import type { MasterKeySource } from './config'
import { Directory } from './directory/directory'
import type { Clock } from './domain/clock'
import { type Limits, unlimited } from './domain/limits'
import type { ZoneData } from './domain/zone-data'
import { createApp } from './http/app'
import { type Listening, listen } from './http/listen'
import type { Context, Records } from './operations/context'
import { Notebook } from './operations/notebook'
import { createMasterKey, parseMasterKey, readMasterKey } from './vault/master-key-file'
import { createVault } from './vault/vault'
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
  const { purpose, database, masterKey, create, upgrade = false, clock } = options
  // First: that a stranger's file has no key of ours is not what is wrong with it.
  recognizeFile(database, create)
  const vault = createVault(keyFrom(masterKey, create && !existsSync(database)))
  const { store, upkeep, feed, close } = openEngine({ path: database, purpose, vault, create, upgrade })
  const records: Records = { store, upkeep, clock, directory: null }
  return { records, feed, close }
}

/** Opens the database and puts the service together. @throws Refusal database_unusable */
export async function openService(options: ServiceOptions): Promise<Service> {
  const { purpose, zoneFolder, clock, limits = unlimited, report } = options
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
        const serving = { context, baseUrl: address, isSandbox: purpose === 'sandbox' }
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
  const vault = createVault(keyFrom(masterKey, false))
  openDatabase({ path, purpose, vault, create: false, upgrade: true }).close()
  return wasOutdated ? copyPathOf(path) : null
}

/** A key is made with a database and never for one that is there: it would not fit. */
function keyFrom(source: MasterKeySource, create: boolean): Uint8Array {
  if ('base64' in source) return parseMasterKey(source.base64)
  return create && !existsSync(source.file) ? createMasterKey(source.file) : readMasterKey(source.file)
}

/** A host as URLs write it; one that stands for all addresses is reached at the loopback one. */
function urlHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  if (host === '::') return '[::1]'
  return host.includes(':') ? `[${host}]` : host
}
