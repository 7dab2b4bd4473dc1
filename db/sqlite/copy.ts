import { Database, SQLiteError } from 'bun:sqlite'
import type { Protect } from '../../src/domain/vault'
import { beginFile, removeAbandoned, type UnfinishedFile } from '../../src/files/durable'
import { newUserVersion, readPragma, schemaOf, unusable } from './file-head'

/**
 * A sound copy of a database, checked and yet to be published, which its owner alone can read. Others may go on writing
 * meanwhile.
 *
 * @param replace whether an earlier copy may stand there
 * @throws Refusal database_unusable if there is something already, or no sound copy could be made
 */
export function copyDatabase(database: Database, path: string, replace = false): UnfinishedFile {
  removeAbandoned(path)
  try {
    const file = beginFile(path, { replace })
    try {
      const line = newestLine(database)
      // SQLite would make the copy readable for all; into an empty file it writes without touching its mode.
      database.query('VACUUM INTO ?').run(file.path)
      finishCopy(file.path, line)
      return file
    } catch (error) {
      file[Symbol.dispose]()
      throw error
    }
  } catch (error) {
    throw toUnusable(error)
  }
}

/**
 * The same, encrypted. What is readable on the way lies beside the database and not where the copy goes, for as long as
 * it takes: whoever can read it there could have read the database.
 *
 * @throws as copyDatabase and `protect` do
 */
export async function copyProtected(
  database: Database,
  path: string,
  protect: Protect,
): Promise<UnfinishedFile> {
  removeAbandoned(path)
  const file = begin(path)
  try {
    using plain = copyDatabase(database, `${database.filename}.copy`, true)
    await protect(plain.path, file.path)
    return file
  } catch (error) {
    file[Symbol.dispose]()
    throw toUnusable(error)
  }
}

function begin(path: string): UnfinishedFile {
  try {
    return beginFile(path)
  } catch (error) {
    throw toUnusable(error)
  }
}

/** Gives a copy its name. @throws Refusal database_unusable if something has it by now */
export function publishCopy(copy: UnfinishedFile): void {
  try {
    copy.publish()
  } catch (error) {
    throw toUnusable(error)
  }
}

/** What keeps a file from being written, in the operator's words; any other error is what it was. */
export function toUnusable(error: unknown): unknown {
  const { code } = error as { code?: string }
  if (code === 'EEXIST') return unusable('there is a file at that path already')
  if (code === 'SQLITE_CORRUPT') return unusable('the database file is damaged; anteroom doctor tells more')
  if (error instanceof SQLiteError || /^(ENOSPC|EDQUOT|EFBIG|ENOTDIR)$/.test(code ?? '')) {
    return unusable('no sound copy could be made there; is there room for it?')
  }
  return error
}

/**
 * Makes a copy a file of its own, to which no log of the original's belongs, and sees whether it is whole.
 *
 * @param line the newest audit line that it has at least
 * @throws Refusal database_unusable if it is not
 */
export function finishCopy(path: string, line = 0): void {
  const copy = new Database(path, { readwrite: true, create: false })
  try {
    const schema = schemaOf(readPragma(copy, 'user_version'))
    copy.run(`PRAGMA user_version = ${newUserVersion(schema)}`)
    // What a record holds against a rule it holds in the original too: a copy of it is what it takes to mend it.
    const faults = faultsIn(copy).filter((fault) => !/^(CHECK constraint failed|NULL value) in /.test(fault))
    if (faults.length > 0 || newestLine(copy) < line) throw unusable('the copy is not sound')
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

/** The newest audit line. What is pruned has a newer one that tells of it. */
function newestLine(database: Database): number {
  return database.query<{ id: number }, []>('SELECT coalesce(max(id), 0) AS id FROM audit').get()?.id ?? 0
}
