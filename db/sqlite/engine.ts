import type { DirectoryFeed } from '../../src/domain/directory-feed'
import type { Store } from '../../src/domain/store'
import type { Vault } from '../../src/domain/vault'
import { drizzleOn } from './drizzle'
import { directoryFeed } from './feed'
import { tryCutLog } from './log'
import { openDatabase, type Purpose } from './open'
import { prepareQueries } from './queries'
import { sqliteStore } from './store'
import { Writer } from './writer'

export interface EngineOptions {
  readonly path: string
  readonly purpose: Purpose
  readonly vault: Vault
  /** Whether to make the database if there is none. */
  readonly create: boolean
}

/** An open database behind the domain's ports. */
export interface Engine {
  readonly store: Store
  readonly feed: DirectoryFeed
  close(): Promise<void>
}

/** Opens an embedded SQLite database. @throws Refusal database_unusable, as openDatabase does */
export function openEngine({ path, purpose, vault, create }: EngineOptions): Engine {
  const database = openDatabase(path, purpose, vault, create)
  const queries = prepareQueries(drizzleOn(database), vault)
  let isClosed = false
  return {
    store: sqliteStore(queries, new Writer(database)),
    feed: directoryFeed(database, queries),
    async close() {
      if (isClosed) return
      isClosed = true
      try {
        // Checkpoint: so that the file alone is the whole database, once nobody has it open.
        tryCutLog(database)
      } catch {
        // No room, say: then the log stays beside the file, and whoever opens it next reads both.
      }
      database.close()
    },
  }
}
