import { type Database, SQLiteError } from 'bun:sqlite'
import type { CopyNote, CopySource, MakingTarget, ReadingSource } from '../../src/domain/ports/database-copy'
import { beginFile, removeAbandoned } from '../../src/files/durable'
import { unusable } from '../findings/findings'
import { constraintBroken, fromLine, quoted, type Run, sourceOver, targetOver } from '../move/rows'
import type { CopiedTable } from '../move/tables'
import { auditQueries } from '../queries/audit'
import { generationName, newGeneration } from '../queries/requests/partner-requests'
import { checkCopy, openCopy, stamp, toUnusable } from './file/copy'
import { recognizeFile } from './file/guard'
import { countTransaction } from './file/head'
import { takeServeLock } from './file/lock'
import { requireNothingAt } from './file/restore'
import { createSchema } from './migration'
import { openDatabase } from './open'
import { isDamage, queryEngine, settingsOf, toRefusal } from './query-engine'

/** Maximum wait in ms for a command that writes. */
const busyTimeoutMillis = 5_000

/** Reads one snapshot. @throws the refusals of openDatabase; Refusal storage_busy if a server runs */
export async function readSource<T>(
  path: string,
  { purpose, takeKey, whileServing }: ReadingSource,
  use: (source: CopySource) => Promise<T>,
): Promise<T> {
  recognizeFile(path, false)
  using _lock = whileServing ? null : takeServeLock(path, serving)
  const masterKey = await takeKey()
  const database = openDatabase({ path, purpose, masterKey, create: false, upgrade: false })
  try {
    if (whileServing) database.run('BEGIN')
    else blockWriters(database)
    const log = auditQueries(queryEngine(database), settingsOf(database).openVault(purpose, masterKey))
    return await use({
      ...(await sourceOver(running(database), log, lastIdOf)),
      copiedBefore: settingsOf(database).readCopyNote(),
      // The serve lock keeps servers out.
      requireStopped: async () => {},
      markCopied: async (note) => markCopied(database, note),
    })
  } finally {
    if (database.inTransaction) database.run('ROLLBACK')
    database.close()
  }
}

const serving =
  'a server uses the source database; stop it first, or later bookings are missing from the copy. ' +
  'To try out the copy, use --while-serving'

/** Begins the read transaction, and takes the write lock. A read-only file needs no write lock. */
function blockWriters(database: Database): void {
  database.run(`PRAGMA busy_timeout = ${busyTimeoutMillis}`)
  try {
    database.run('BEGIN IMMEDIATE')
  } catch (error) {
    const isReadOnly = error instanceof SQLiteError && (error.code ?? '').startsWith('SQLITE_READONLY')
    if (!isReadOnly) throw toRefusal(error)
    database.run('BEGIN')
  }
}

/** Returns false if the source cannot be marked, for example on a full disk. The copy is still complete. */
function markCopied(database: Database, note: CopyNote): boolean {
  try {
    settingsOf(database).markCopied(note)
    countTransaction(database)
    database.run('COMMIT')
    return true
  } catch (error) {
    if (error instanceof SQLiteError) return false
    throw error
  }
}

function running(database: Database): Run {
  return (text, params) => {
    try {
      return database.query(text).values(...(params as string[]))
    } catch (error) {
      if (isDamage(error)) throw unusable('the database file is damaged', 'restore a backup')
      throw toRefusal(error)
    }
  }
}

/** SQL for the highest id of a table. A table without AUTOINCREMENT has no row in sqlite_sequence. */
function lastIdOf(table: string): string {
  const generated = `(SELECT seq FROM sqlite_sequence WHERE name = '${table}')`
  return `max(coalesce(${generated}, 0), coalesce((SELECT max(id) FROM ${table}), 0))`
}

/** @throws Refusal database_unusable if the file exists or no sound copy could be made; errors of `fill` */
export async function makeTarget<T>(path: string, making: MakingTarget<T>): Promise<T> {
  requireNothingAt(path)
  try {
    removeAbandoned(path)
    using file = beginFile(path)
    const done = await fillFile(file.path, making)
    stamp(file.path)
    await checkCopy(file.path, making.progress)
    file.publish()
    return done
  } catch (error) {
    throw toUnusable(error, path)
  }
}

async function fillFile<T>(
  path: string,
  { purpose, masterKey, whileServing, fill }: MakingTarget<T>,
): Promise<T> {
  using database = openCopy(path)
  // Writes are not synced one by one: the whole file is synced before it is published.
  database.run('PRAGMA synchronous = OFF')
  createSchema({ database, purpose, masterKey })
  database.run('PRAGMA foreign_keys = ON')
  database.run('BEGIN')
  const target = await targetOver({
    run: running(database),
    add: (table, lines) => add(database, table, lines),
    // Does nothing without AUTOINCREMENT, because rows of such tables are never deleted.
    keepIds: (table) => `INSERT INTO sqlite_sequence (name, seq)
      SELECT name, $1 FROM sqlite_schema WHERE name = '${table}' AND sql LIKE '%AUTOINCREMENT%'`,
    openLog: () => auditQueries(queryEngine(database), settingsOf(database).openVault(purpose, masterKey)),
  })
  const done = await fill(target)
  if (whileServing) settingsOf(database).write(generationName, newGeneration())
  database.run('COMMIT')
  return done
}

function add(database: Database, table: CopiedTable, lines: readonly string[]): void {
  const columns = quoted(table.columns.map((column) => column.name))
  const marks = table.columns.map(() => '?').join(', ')
  const insert = database.query(`INSERT INTO ${table.name} (${columns}) VALUES (${marks})`)
  for (const line of lines) {
    try {
      insert.run(...(fromLine(table, line) as string[]))
    } catch (error) {
      const isConstraint = error instanceof SQLiteError && error.code?.startsWith('SQLITE_CONSTRAINT')
      throw isConstraint ? constraintBroken(table, line, null) : error
    }
  }
}
