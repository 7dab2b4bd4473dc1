import { existsSync } from 'node:fs'
import { type Purpose, recognizeDatabase } from '../db/sqlite/open'
import { openStore } from '../db/sqlite/store'
import type { MasterKeySource } from './config'
import { Directory } from './directory/directory'
import type { Clock } from './domain/clock'
import { createApp } from './http/app'
import { type Listening, listen } from './http/listen'
import type { Context } from './operations/context'
import { Notebook } from './operations/notebook'
import { createMasterKey, parseMasterKey, readMasterKey } from './vault/master-key-file'
import { createVault } from './vault/vault'
import { zonesFromFolder } from './zones/folder'
import { builtInZones } from './zones/packed'
import type { ZoneData } from './zones/zone-data'

/** What the service is made of. */
export interface ServiceOptions {
  readonly purpose: Purpose
  readonly database: string
  readonly masterKey: MasterKeySource
  /** Whether to make the database and the master key file where they are missing. */
  readonly create: boolean
  /** A zoneinfo folder to take time zones from instead of the built-in data. */
  readonly zoneFolder?: string | undefined
  readonly clock: Clock
  /** Who the audit log says it was. */
  readonly actor: string
}

/** How often what was noted while requests were answered is written down. */
const flushMillis = 1_000

/** The service, put together and not yet listening. */
export interface Service {
  readonly context: Context
  readonly zones: ZoneData
  /**
   * Listens on a host and port, 0 for a free one.
   *
   * @param baseUrl the public address, where it is not the one listened on
   */
  listen(host: string, port: number, baseUrl?: string): Listening & { readonly baseUrl: string }
  close(): Promise<void>
}

/** Opens the database and puts the service together. @throws Refusal database_unusable */
export async function openService(options: ServiceOptions): Promise<Service> {
  const { purpose, database, masterKey, create, zoneFolder, clock, actor } = options
  // First: that a stranger's file has no key of ours is not what is wrong with it.
  recognizeDatabase(database)
  const vault = createVault(keyFrom(masterKey, create && !existsSync(database)))
  const zones = zoneFolder === undefined ? builtInZones() : zonesFromFolder(zoneFolder)
  const store = openStore({ path: database, purpose, vault, create, actor, clock })
  const directory = await Directory.load(store, zones.find)
  const notebook = new Notebook()
  const context: Context = { store, directory, clock, notebook }
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
        notebook.flush(store).catch(() => console.error('what was noted could not be written'))
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
    close: () => store.close(),
  }
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
