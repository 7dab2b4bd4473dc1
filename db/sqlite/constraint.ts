import { SQLiteError } from 'bun:sqlite'
import { Refusal } from '../../src/domain/errors'

/** Runs a statement. If it violates a unique index, throws the refusal instead. */
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

/** Whether a statement failed because the file is damaged. */
export function isDamage(error: unknown): boolean {
  return damage.test((error as { code?: string }).code ?? '')
}

const damage = /^SQLITE_(CORRUPT|NOTADB)/

/** What an operator can repair, by the beginning of SQLite's code. */
const storageFaults: readonly (readonly [code: RegExp, fault: string])[] = [
  [/^SQLITE_(FULL|IOERR_SHMSIZE)/, 'there is no room on the disk'],
  [/^SQLITE_READONLY/, 'the database may not be written'],
  [damage, 'the database is damaged: stop the service and restore a backup'],
  [/^SQLITE_(IOERR|CANTOPEN|PROTOCOL|NOMEM)/, 'the disk or the machine fails to read or write the database'],
]

/** The refusal that a failure of SQLite's becomes; any other error is returned as it is. */
export function toRefusal(error: unknown): unknown {
  if (isBusy(error)) return new Refusal('storage_busy', 'the service is busy; try again')
  if (!(error instanceof SQLiteError)) return error
  const [, fault] = storageFaults.find(([code]) => code.test(error.code ?? '')) ?? []
  return fault === undefined ? error : new Refusal('storage_failed', fault, { cause: error })
}
