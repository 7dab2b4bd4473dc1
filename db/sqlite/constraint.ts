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

/** Whether a statement failed because the file is not as it was written. */
export function isDamage(error: unknown): boolean {
  return error instanceof SQLiteError && damage.test(error.code ?? '')
}

const damage = /^SQLITE_(CORRUPT|NOTADB)/

/** What may be mended from outside, in the operator's words, by the beginning of SQLite's code. */
const storageFaults: readonly (readonly [code: RegExp, fault: string])[] = [
  [/^SQLITE_(FULL|IOERR_SHMSIZE)/, 'there is no room on the disk'],
  [/^SQLITE_READONLY/, 'the database may not be written'],
  [damage, 'the database is damaged: doctor says more, and a backup can be restored'],
  [/^SQLITE_(IOERR|CANTOPEN|PROTOCOL|NOMEM)/, 'the disk or the machine fails to read or write the database'],
]

/** What a failure of SQLite's means to whoever asked; any other error is what it was. */
export function toRefusal(error: unknown): unknown {
  if (isBusy(error)) return new Refusal('storage_busy', 'the service is busy; try again')
  if (!(error instanceof SQLiteError)) return error
  const [, fault] = storageFaults.find(([code]) => code.test(error.code ?? '')) ?? []
  return fault === undefined ? error : new Refusal('storage_failed', fault, { cause: error })
}
