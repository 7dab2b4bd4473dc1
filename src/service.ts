import { openStore, type StoreOptions } from '../db/sqlite/store'
import { Directory } from './directory/directory'
import type { Clock } from './domain/clock'
import { createApp } from './http/app'
import { type Listening, listen } from './http/listen'
import type { Context } from './operations/context'
import type { ZoneData } from './zones/zone-data'

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
export async function openService(
  options: StoreOptions & { zones: ZoneData; clock: Clock },
): Promise<Service> {
  const store = openStore(options)
  const directory = await Directory.load(store, (name) => options.zones.find(name))
  const context: Context = { store, directory, clock: options.clock }
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
