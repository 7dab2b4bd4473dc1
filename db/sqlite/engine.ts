import { statSync } from 'node:fs'
import type { Engine } from '../../src/domain/ports/database'
import type { QuickCheck } from './file/aside'
import { tryCheckpoint } from './file/checkpoint'
import { freeBytes } from './file/findings'
import { FileGuard } from './file/guard'
import { readPragma, schemaOf } from './file/head'
import { checkPages, Health } from './file/health'
import { createMaintenance } from './maintenance'
import { type Opening, openDatabase } from './open'
import { queriesOn, settingsOf } from './query-engine'
import { directoryFeed, sqliteStore } from './store'
import { Writer } from './writer'

export function openEngine(opening: Opening): Engine {
  const database = openDatabase(opening)
  const vault = settingsOf(database).openVault(opening.purpose, opening.masterKey)
  const queries = queriesOn(database, vault)
  const guard = new FileGuard(opening.path, () => readPragma(database, 'user_version'))
  const health = new Health(guard)
  const writer = new Writer(database, health)
  let check: QuickCheck | undefined
  let isClosed = false
  const schema = schemaOf(readPragma(database, 'user_version'))
  return {
    store: sqliteStore(queries, writer),
    feed: directoryFeed(
      queries,
      () => writer.stamp,
      (error) => health.noteUnread(error),
    ),
    maintenance: createMaintenance(database, opening, writer, queries),
    watch(report, isServer) {
      health.reportTo(report)
      if (isServer) guard.watchContent()
      check ??= checkPages(opening.path, health, report, isServer)
      return { isReady: () => health.isReady(() => writer.attempt()) }
    },
    measure: () => ({
      queueDepth: writer.depth,
      groupSizes: writer.groupSizes,
      commitMillis: writer.commitMillis,
      failedGroups: writer.failedGroups,
      databaseBytes: bytesOf(opening.path),
      logBytes: bytesOf(`${opening.path}-wal`),
      freeBytes: freeBytes(opening.path),
      server: null,
      schema,
    }),
    async close() {
      if (isClosed) return
      isClosed = true
      // Stops the check first, because the last checkpoint must empty the log that the check reads.
      await check?.stop()
      await writer.drain()
      try {
        guard.saveOverwritten()
        // Moves all data from the log into the file, unless another program has the file open.
        tryCheckpoint(database)
      } catch {
        // The checkpoint may fail, for example on a full disk. Then the log stays, and the next start reads it.
      }
      // If the file was moved, a newer file may have the log's name. SQLite does not remove that newer file.
      database.close()
    },
  }
}

/** Returns 0 if there is no file. Must not open the file: closing a descriptor would release SQLite's locks. */
function bytesOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}
