import { existsSync } from 'node:fs'
import type { Purpose } from '../db/sqlite/open'
import { openStore } from '../db/sqlite/store'
import { Directory } from './directory/directory'
import type { Clock } from './domain/clock'
import { createApp } from './http/app'
import { type Listening, listen } from './http/listen'
import type { Context } from './operations/context'
import { createMasterKey, readMasterKey } from './vault/master-key-file'
import { createVault } from './vault/vault'
import { zonesFromFolder } from './zones/folder'
import { builtInZones } from './zones/packed'

/** What the service is made of. */
export interface ServiceOptions {
  readonly purpose: Purpose
  readonly database: string
  readonly masterKeyFile: string
  /** Whether to make the database and the master key file where they are missing. */
  readonly create: boolean
  /** A zoneinfo folder to take time zones from instead of the built-in data. */
  readonly zoneFolder?: string | undefined
  readonly clock: Clock
  /** Who the audit log says it was. */
  readonly actor: string
}

/** The service, put together and not yet listening. */
export interface Service {
  readonly context: Context
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
  const { purpose, database, masterKeyFile, create, zoneFolder, clock, actor } = options
  const isNew = create && !existsSync(masterKeyFile)
  const vault = createVault(isNew ? createMasterKey(masterKeyFile) : readMasterKey(masterKeyFile))
  const zones = zoneFolder === undefined ? builtInZones() : zonesFromFolder(zoneFolder)
  const store = openStore({ path: database, purpose, vault, create, actor, clock })
  const directory = await Directory.load(store, zones.find)
  const context: Context = { store, directory, clock }
  return {
    context,
    listen(host, port, baseUrl) {
      let address = ''
      const listening = listen(host, port, (actualPort) => {
        address = baseUrl?.replace(/\/+$/, '') ?? `http://${urlHost(host)}:${actualPort}`
        return createApp(context, address).fetch
      })
      return { ...listening, baseUrl: address }
    },
    close: () => store.close(),
  }
}

/** A host as URLs write it; one that stands for all addresses is reached at the loopback one. */
function urlHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  if (host === '::') return '[::1]'
  return host.includes(':') ? `[${host}]` : host
}
