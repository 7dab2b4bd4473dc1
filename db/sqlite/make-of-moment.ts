import { type Database, SQLiteError } from 'bun:sqlite'
import { formatState } from '../../src/domain/audit'
import type { CopiedRow, MakingOfMoment, Unfinished } from '../../src/domain/moment'
import { beginFile, removeAbandoned } from '../../src/files/durable'
import { auditHashes } from '../audit/hashes'
import { auditStateName } from '../audit/verification'
import { brokenLog, type EngineTable, isCopiedSetting, quoted, ruleBroken, tableNamed } from '../move/tables'
import { auditQueries } from '../queries/audit'
import { copiedTables } from './copied-tables'
import { openVault } from './data-key'
import { checkCopy, openCopy, stamp, toUnusable } from './file/copy'
import { removeOthers, requireNothingAt } from './file/restore'
import { createSchema } from './migration'
import { rowsOf } from './moment'
import { queryEngine } from './query-engine'

/**
 * Makes the database of a path of what it is filled with: aside, checked and synced before it gets its name, and for its owner
 * alone. Who is killed leaves nothing under the name.
 *
 * @throws Refusal database_unusable where something is, or no sound one could be made; whatever `fill` throws
 */
export async function makeOfMoment<T>(path: string, making: MakingOfMoment<T>): Promise<T> {
  requireNothingAt(path)
  try {
    removeAbandoned(path)
    using file = beginFile(path)
    const done = await fillFile(file.path, making)
    stamp(file.path)
    await checkCopy(file.path, making.tell)
    file.publish()
    removeOthers(path)
    return done
  } catch (error) {
    throw toUnusable(error, path)
  }
}

async function fillFile<T>(path: string, { purpose, masterKey, fill }: MakingOfMoment<T>): Promise<T> {
  using database = openCopy(path)
  // Nobody sees it before it is synced as a whole.
  database.run('PRAGMA synchronous = OFF')
  createSchema({ database, purpose, masterKey })
  database.run('PRAGMA foreign_keys = ON')
  database.run('BEGIN')
  database.run(`DELETE FROM settings WHERE ${isCopiedSetting}`)
  const done = await fill({
    add: async ({ name }, rows) => add(database, tableNamed(copiedTables, name), rows),
    keepIds: async ({ name }, lastId) => keepIds(database, name, lastId),
    rowsOf: (table) => rowsOf(database, table),
    keepLog: (spans) => keepLog(database, openVault(database, purpose, masterKey), spans),
  })
  database.run('COMMIT')
  return done
}

function add(database: Database, table: EngineTable, rows: readonly CopiedRow[]): void {
  const values = table.columns.map((_, at) => `?${at + 1}`).join(', ')
  const insert = database.query(`INSERT INTO ${table.name} (${quoted(table.columns)}) VALUES (${values})`)
  for (const row of rows) {
    try {
      insert.run(...row)
    } catch (error) {
      const isRule = error instanceof SQLiteError && error.code?.startsWith('SQLITE_CONSTRAINT')
      throw isRule ? ruleBroken(table, row, null) : error
    }
  }
}

/** Tables without AUTOINCREMENT give the id after the highest that is there: of those, no record ever goes whose id is told. */
function keepIds(database: Database, table: string, lastId: number): void {
  const made = database.query("SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ?").values(table)
  if (!/\bAUTOINCREMENT\b/.test(String(made[0]?.[0]))) return
  database.query('DELETE FROM sqlite_sequence WHERE name = ?').run(table)
  database.query('INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)').run(table, lastId)
}

async function keepLog(
  database: Database,
  vault: ReturnType<typeof openVault>,
  spans: Parameters<Unfinished['keepLog']>[0],
): Promise<void> {
  const state = formatState(auditHashes(vault), spans)
  database.query('UPDATE settings SET value = ? WHERE name = ?').run(Buffer.from(state), auditStateName)
  const verdict = await auditQueries(queryEngine(database), vault).verify(null)
  if (!verdict.intact) throw brokenLog('the copy', verdict)
}
