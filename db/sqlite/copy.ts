import { Database, SQLiteError } from 'bun:sqlite'
import { beginFile, removeAbandoned } from '../../src/files/durable'
import { newUserVersion, readPragma, schemaOf, unusable } from './file-head'

/**
 * Writes a sound copy of a database, checked and synced before it has its name, which its owner alone can read. Others
 * may go on writing meanwhile.
 *
 * @param replace whether an earlier copy may stand there
 * @throws Refusal database_unusable if there is something already, or no sound copy could be made
 */
export function copyDatabase(database: Database, path: string, replace = false): void {
  removeAbandoned(path)
  try {
    using file = beginFile(path, { replace })
    const lines = countLines(database)
    // SQLite would make the copy readable for all; into an empty file it writes without touching its mode.
    database.query('VACUUM INTO ?').run(file.path)
    finishCopy(file.path, lines)
    file.publish()
  } catch (error) {
    const { code } = error as { code?: string }
    if (code === 'EEXIST') throw unusable('there is a file at that path already')
    if (code === 'SQLITE_CORRUPT') throw unusable('the database file is damaged; anteroom doctor tells more')
    if (error instanceof SQLiteError || code === 'ENOSPC' || code === 'ENOTDIR') {
      throw unusable('no sound copy could be made there; is there room for it?')
    }
    throw error
  }
}

/** Makes a copy a file of its own, to which no log of the original's belongs, and sees whether it is whole. */
function finishCopy(path: string, lines: number): void {
  const copy = new Database(path, { readwrite: true, create: false })
  try {
    const schema = schemaOf(readPragma(copy, 'user_version'))
    copy.run(`PRAGMA user_version = ${newUserVersion(schema)}`)
    if (faultsIn(copy).length > 0 || countLines(copy) < lines) throw unusable('the copy is not sound')
  } finally {
    copy.close()
  }
}

/** What an integrity check says against a database; nothing if it is sound. */
export function faultsIn(database: Database): string[] {
  return database
    .query<{ integrity_check: string }, []>('PRAGMA integrity_check')
    .all()
    .map(({ integrity_check }) => integrity_check)
    .filter((line) => line !== 'ok')
}

/** The audit lines, which nothing ever removes. */
function countLines(database: Database): number {
  return database.query<{ count: number }, []>('SELECT count(*) AS count FROM audit').get()?.count ?? 0
}
