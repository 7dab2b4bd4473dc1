import { Database } from 'bun:sqlite'
import { chownSync, closeSync, lstatSync, openSync, realpathSync, statSync } from 'node:fs'
import { Refusal, splitAction } from '../../../src/domain/errors'
import { listUnfinished } from '../../../src/files/durable'
import { unusable } from '../../findings/findings'
import { isBusy } from '../query-engine'

/** In ms. A starting server waits this long, because other processes take the lock briefly to check it. */
const waitMillis = 200

/**
 * Takes the lock: a transaction in an empty file next to the database. The system ends the lock with the process.
 * @throws Refusal storage_busy if another server has the lock; database_unusable if the file is unusable
 */
export function takeServeLock(
  path: string,
  busy = 'another server already uses this database; stop it first',
): Disposable {
  // Uses the real path, because all links to a database must lead to the same lock.
  const real = realpathSync(path)
  const place = `${real}.serving`
  makeEmptyFile(place, real)
  try {
    const lock = lockFile(place, waitMillis)
    return { [Symbol.dispose]: lock.close.bind(lock) }
  } catch (error) {
    if (isBusy(error)) throw new Refusal('storage_busy', ...splitAction(busy))
    throw unusable(`${place} cannot be locked`, 'change its owner to the user that runs serve')
  }
}

/** True if a server has the lock. @throws Refusal database_unusable if the lock cannot be checked */
export function isServeLockHeld(path: string): boolean {
  const place = `${realpathSync(path)}.serving`
  if (!lstatSync(place, { throwIfNoEntry: false })?.isFile()) return false
  try {
    lockFile(place, 0).close()
    return false
  } catch (error) {
    if (isBusy(error)) return true
    throw unusable(`${place} cannot be used, so a running server cannot be detected`, 'check its permissions')
  }
}

function lockFile(place: string, millis: number): Database {
  const lock = new Database(place, { readwrite: true, create: false })
  try {
    lock.run('PRAGMA journal_mode = MEMORY')
    lock.run(`PRAGMA busy_timeout = ${millis}`)
    // With IMMEDIATE, exactly one of several concurrent attempts succeeds. With EXCLUSIVE, all may fail.
    lock.run('BEGIN IMMEDIATE')
    return lock
  } catch (error) {
    lock.close()
    throw error
  }
}

/** Rejects a file with two names, because each name would get a separate log. @throws Refusal database_unusable */
export function requireOneName(path: string): void {
  const hasSecond = () => statSync(path).nlink > 1
  // A second name is allowed if a killed process left it.
  if (hasSecond() && listUnfinished(realpathSync(path)).length === 0 && hasSecond())
    throw unusable('the database file has two names (a hard link)', 'remove the unused name')
}

function makeEmptyFile(place: string, database: string): void {
  const found = lstatSync(place, { throwIfNoEntry: false })
  if (found && !(found.isFile() && found.size === 0)) {
    throw unusable(`${place} is in the way of the lock file`, 'move it away first')
  }
  if (found) return
  try {
    closeSync(openSync(place, 'a', 0o600))
  } catch {
    throw unusable(
      `${place} cannot be created`,
      'give the user that runs serve write access to the folder of the database',
    )
  }
  const { uid, gid } = statSync(database)
  // The lock file gets the owner of the database. Otherwise root could create a lock file that the service cannot open.
  if (statSync(place).uid !== uid) chownSync(place, uid, gid)
}
