import { type Database, SQLiteError } from 'bun:sqlite'
import type { CopyNote } from '../../src/domain/copy-note'
import { Refusal } from '../../src/domain/errors'
import type { CopiedTable, Moment, ReadingMoment, TableAtMoment } from '../../src/domain/moment'
import type { Vault } from '../../src/domain/vault'
import { unusable } from '../findings/unusable'
import { copyNoteName, formatCopyNote } from '../move/copy-note'
import {
  brokenLog,
  type EngineTable,
  hasGivenIds,
  isCopiedSetting,
  portionStatement,
  portionsOf,
  tableNamed,
} from '../move/tables'
import { auditQueries } from '../queries/audit'
import { isDamage, toRefusal } from './constraint'
import { copiedTables } from './copied-tables'
import { openVault } from './data-key'
import { recognizeFile } from './file/guard'
import { countTransaction } from './file/head'
import { takeServeLock } from './file/lock'
import { openDatabase } from './open'
import { queryEngine } from './query-engine'
import { readCopyNote, writeSetting } from './setting'

/**
 * Reads the database of a path as of one moment, on a connection of its own. Unless a server may be at work, none starts
 * meanwhile, and nobody writes.
 *
 * @throws Refusal as openDatabase does; storage_busy while a server is at work that is not to be
 */
export async function readMoment<T>(
  path: string,
  { purpose, takeKey, whileServing }: ReadingMoment,
  use: (moment: Moment) => Promise<T>,
): Promise<T> {
  recognizeFile(path, false)
  using _lock = whileServing ? null : lockOutServers(path)
  const masterKey = await takeKey()
  const database = openDatabase({ path, purpose, masterKey, create: false, upgrade: false })
  try {
    const vault = openVault(database, purpose, masterKey)
    if (whileServing) database.run('BEGIN')
    else beginAlone(database)
    return await use(momentOf(database, vault))
  } finally {
    if (database.inTransaction) database.run('ROLLBACK')
    database.close()
  }
}

function lockOutServers(path: string): Disposable {
  try {
    return takeServeLock(path)
  } catch (error) {
    if (!(error instanceof Refusal && error.kind === 'storage_busy')) throw error
    throw new Refusal('storage_busy', serving, { cause: error })
  }
}

const serving =
  'a server works with the database that is copied: stop it first, so that nothing is booked there which the copy has not; ' +
  'or try the copy out with --while-serving'

/** How long a command that writes is waited for. */
const busyTimeoutMillis = 5_000

/** Begins the transaction of the moment as the one that may write, so that its end is the end of the same moment. */
function beginAlone(database: Database): void {
  database.run(`PRAGMA busy_timeout = ${busyTimeoutMillis}`)
  try {
    database.run('BEGIN IMMEDIATE')
  } catch (error) {
    if (!isReadOnly(error)) throw toRefusal(error)
    database.run('BEGIN')
  }
}

/** Whether the file is one that may be read and not written. */
function isReadOnly(error: unknown): boolean {
  return error instanceof SQLiteError && (error.code ?? '').startsWith('SQLITE_READONLY')
}

function noteCopy(database: Database, note: CopyNote): boolean {
  try {
    writeSetting(database, copyNoteName, formatCopyNote(note))
    countTransaction(database)
    database.run('COMMIT')
    return true
  } catch (error) {
    // It may be read alone, or its disk is full: the copy is whole all the same.
    if (error instanceof SQLiteError) return false
    throw error
  }
}

function momentOf(database: Database, vault: Vault): Moment {
  return {
    tables: copiedTables.map((table) => tableAtMoment(database, table)),
    rowsOf: (table) => rowsOf(database, table),
    // None can start.
    requireAlone: async () => {},
    copyNote: readCopyNote(database),
    noteCopy: async (note) => noteCopy(database, note),
    async proveLog() {
      const { walked, verify } = auditQueries(queryEngine(database), vault)
      const verdict = await verify(null)
      if (!verdict.intact) throw brokenLog('the database', verdict)
      const { state } = await walked.stand()
      if (!state) throw brokenLog('the database', { id: 0, fault: 'its seal is missing' })
      return { acts: state.acts, refusals: state.refusals }
    },
  }
}

function tableAtMoment(database: Database, table: EngineTable): TableAtMoment {
  const { name, columns } = table
  return readable(table, () => {
    const where = name === 'settings' ? `WHERE ${isCopiedSetting}` : ''
    const [rows] = database.query(`SELECT count(*) FROM ${name} ${where}`).values()[0] as [number]
    const lastId = hasGivenIds(table) ? lastIdOf(database, name) : null
    return { name, columns, rows, lastId }
  })
}

/** What SQLite remembers for tables with AUTOINCREMENT, and otherwise gives the next after. */
function lastIdOf(database: Database, table: string): number {
  const select = `SELECT max(coalesce((SELECT seq FROM sqlite_sequence WHERE name = '${table}'), 0),
    coalesce((SELECT max(id) FROM ${table}), 0))`
  return (database.query(select).values()[0] as [number])[0]
}

/** The records of a table, in the transaction that is open. */
export function rowsOf(database: Database, { name }: CopiedTable) {
  const table = tableNamed(copiedTables, name)
  return portionsOf(table, async (isFirst, values) => {
    const statement = portionStatement(table, isFirst, (n) => `?${n}`)
    return readable(table, () => database.query(statement).values(...values))
  })
}

function readable<T>({ name }: EngineTable, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (isDamage(error))
      throw unusable(`${name} cannot be read: the database file is damaged; restore a backup`)
    throw toRefusal(error)
  }
}
