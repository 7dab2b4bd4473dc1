import { Database } from 'bun:sqlite'
import { copyFileSync, statSync } from 'node:fs'
import type { Engine } from '../../src/domain/database'
import { beginFile } from '../../src/files/durable'
import { openVault } from './data-key'
import { directoryFeed } from './feed'
import { beginQuickCheck, type QuickCheck } from './file/check'
import { tryCheckpoint } from './file/checkpoint'
import { readPragma, schemaOf } from './file/head'
import { LogIndex } from './file/log-index'
import { Standing } from './file/standing'
import { Health } from './health'
import { createUpkeep } from './maintenance'
import { type Opening, openDatabase } from './open'
import { prepareQueries } from './queries'
import { queryEngine } from './query-engine'
import { sqliteStore } from './store'
import { Writer } from './writer'

/**
 * Opens an embedded SQLite database.
 *
 * @param largestGroup writes in one transaction at most; the writer's own number unless something is to be measured
 * @throws Refusal database_unusable, as openDatabase does
 */
export function openEngine(opening: Opening, largestGroup?: number): Engine {
  const database = openDatabase(opening)
  const queries = prepareQueries(
    queryEngine(database),
    openVault(database, opening.purpose, opening.masterKey),
  )
  const standing = new Standing(opening.path)
  const health = new Health(standing)
  const writer = new Writer(database, health, largestGroup)
  let check: QuickCheck | undefined
  let isClosed = false
  const schema = schemaOf(readPragma(database, 'user_version'))
  return {
    store: sqliteStore(queries, writer),
    feed: directoryFeed(queries, new LogIndex(opening.path), (error) => health.noteUnread(error)),
    upkeep: createUpkeep(database, opening, writer, queries),
    watch(tell, isServer) {
      health.tellTo(tell)
      if (isServer) standing.holdContent(opening.path, () => readPragma(database, 'user_version'))
      check ??= lookThrough(opening.path, health, tell, isServer)
      return { isReady: () => health.isReady(() => writer.attempt()) }
    },
    measure: () => ({
      queueDepth: writer.depth,
      groupSizes: writer.groupSizes,
      commitMillis: writer.commitMillis,
      failedGroups: writer.failedGroups,
      databaseBytes: bytesOf(opening.path),
      logBytes: bytesOf(`${opening.path}-wal`),
      server: null,
      schema,
    }),
    async close() {
      if (isClosed) return
      isClosed = true
      // Before the last checkpoint: it reads from the log.
      await check?.stop()
      await writer.drain()
      if (standing.isIndexLost) return leaveOpen(opening.path)
      try {
        // Checkpoint: so that the file alone is the whole database, once nobody has it open.
        if (standing.isOverwritten) makeAnew(opening.path)
        else tryCheckpoint(database)
      } catch {
        // No room, say: then the log stays beside the file, and whoever opens it next reads both.
      }
      // Where the file was moved, SQLite leaves alone what has the name of its log by now.
      database.close()
    },
  }
}

/** The length of a file; 0 where there is none. It is not opened: with its descriptor the process would give up its locks. */
function bytesOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}

/** How long it is until a database that is not sound is looked through again. */
const againMillis = 5_000

/**
 * Looks through the pages of a database for as long as it is known to be damaged: a disk that fails to read looks the same.
 *
 * @param isChecked whether at once too
 */
function lookThrough(
  path: string,
  health: Health,
  tell: (line: string) => void,
  isChecked: boolean,
): QuickCheck {
  let check: QuickCheck | undefined
  const look = () => {
    check = beginQuickCheck(path, (verdict) => {
      check = undefined
      if (verdict === 'sound') health.noteSound()
      if (verdict === 'damaged') health.noteDamaged('the database is damaged: anteroom doctor tells more')
      if (verdict === 'unchecked' && !health.isDamaged)
        tell('the database could not be checked: run anteroom doctor')
    })
  }
  if (isChecked) look()
  const again = setInterval(() => {
    if (health.isDamaged && !check) look()
  }, againMillis)
  again.unref()
  return {
    async stop() {
      clearInterval(again)
      await check?.stop()
    },
  }
}

/**
 * Makes what was written over the database a file of its own: at its end SQLite writes back to what it has open, and leaves
 * alone what has the name by then.
 */
function makeAnew(path: string): void {
  using file = beginFile(path, { replace: true })
  copyFileSync(path, file.path)
  file.publish()
}

/**
 * Leaves a database and its log as they are, to the end of the process: others may have written to the log as if nobody
 * else did. At that end the runtime would cut the log back, which nobody can while somebody reads.
 */
function leaveOpen(path: string): void {
  try {
    const reader = new Database(path, { readonly: true })
    reader.run('BEGIN')
    reader.query('SELECT 1 FROM settings').get()
  } catch {
    // Others have cut it back, say: then nothing of ours is in it.
  }
}
