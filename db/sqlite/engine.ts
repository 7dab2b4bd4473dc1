import type { DirectoryFeed } from '../../src/domain/directory-feed'
import type { Store } from '../../src/domain/store'
import type { Upkeep } from '../../src/domain/upkeep'
import { tryCheckpoint } from './checkpoint'
import { openVault } from './data-key'
import { drizzleOn } from './drizzle'
import { directoryFeed } from './feed'
import { type Opening, openDatabase } from './open'
import { prepareQueries } from './queries'
import { sqliteStore } from './store'
import { createUpkeep } from './upkeep'
import { Writer } from './writer'

/** An open database behind the domain's ports. */
export interface Engine {
  readonly store: Store
  readonly feed: DirectoryFeed
  readonly upkeep: Upkeep
  close(): Promise<void>
}

/**
 * Opens an embedded SQLite database.
 *
 * @param largestGroup writes in one transaction at most; the writer's own number unless something is to be measured
 * @throws Refusal database_unusable, as openDatabase does
 */
export function openEngine(opening: Opening, largestGroup?: number): Engine {
  const database = openDatabase(opening)
  const queries = prepareQueries(drizzleOn(database), openVault(database, opening.purpose, opening.masterKey))
  const writer = new Writer(database, queries.audit.sealRequests, largestGroup)
  let isClosed = false
  return {
    store: sqliteStore(queries, writer),
    feed: directoryFeed(database, queries),
    upkeep: createUpkeep(database, opening, writer, queries),
    async close() {
      if (isClosed) return
      isClosed = true
      await writer.drain()
      try {
        // Checkpoint: so that the file alone is the whole database, once nobody has it open.
        tryCheckpoint(database)
      } catch {
        // No room, say: then the log stays beside the file, and whoever opens it next reads both.
      }
      database.close()
    },
  }
}
