import { SQLiteError } from 'bun:sqlite'
import type { Refusal } from '../../src/domain/errors'

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
