import { SQLiteError } from 'bun:sqlite'
import { Refusal } from '../../src/domain/errors'

/** Runs a statement; a unique index that stops it becomes the refusal, told by SQLite's code and not its prose. */
export function refuseDuplicate<T>(statement: () => T, refusal: () => Refusal): T {
  try {
    return statement()
  } catch (error) {
    if (error instanceof SQLiteError && error.code === 'SQLITE_CONSTRAINT_UNIQUE') throw refusal()
    throw error
  }
}

/** Whether a statement failed because another connection holds the lock that it needs. */
export function isBusy(error: unknown): boolean {
  return error instanceof SQLiteError && /^SQLITE_(BUSY|PROTOCOL)/.test(error.code ?? '')
}

/** A full disk, one that fails, a file that may not be written or was damaged: what may be mended from outside. */
const storageFaults = /^SQLITE_(FULL|IOERR|READONLY|CANTOPEN|CORRUPT|NOTADB|PROTOCOL|NOMEM)/

/** What a failure of SQLite's means to whoever asked; any other error is what it was. */
export function toRefusal(error: unknown): unknown {
  if (isBusy(error)) return new Refusal('storage_busy', 'the service is busy; try again')
  if (!(error instanceof SQLiteError) || !storageFaults.test(error.code ?? '')) return error
  const message = 'the service cannot store anything at the moment; try again'
  return new Refusal('storage_failed', message, { cause: error })
}
