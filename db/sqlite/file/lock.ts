import { Database } from 'bun:sqlite'
import { chownSync, closeSync, lstatSync, openSync, realpathSync, statSync } from 'node:fs'
import { Refusal } from '../../../src/domain/errors'
import { listUnfinished } from '../../../src/files/durable'
import { unusable } from '../../findings/findings'
import { isBusy } from '../query-engine'

/** Wait of a starting server. A process that only checks the lock holds it for a moment. */
const waitMillis = 200

/**
 * A transaction without writes in an empty file next to the database. The system releases the lock when the
 * process ends. The file stays and means nothing.
 * @throws Refusal storage_busy if another server has it; database_unusable if it cannot be taken
 */
export function takeServeLock(
  path: string,
  busy = 'another serve works with this database already: stop that one first',
): Disposable {
  // One lock per database, even if a link names it.
  const real = realpathSync(path)
  const place = `${real}.serving`
  makeEmptyFile(place, real)
  try {
    const lock = lockFile(place, waitMillis)
    return { [Symbol.dispose]: lock.close.bind(lock) }
  } catch (error) {
    if (isBusy(error)) throw new Refusal('storage_busy', busy)
    throw unusable(`${place} cannot be locked: it has to belong to whoever runs serve`)
  }
}

/** True if a server has the lock. @throws Refusal database_unusable if that cannot be determined */
export function isServeLockHeld(path: string): boolean {
  const place = `${realpathSync(path)}.serving`
  if (!lstatSync(place, { throwIfNoEntry: false })?.isFile()) return false
  try {
    lockFile(place, 0).close()
    return false
  } catch (error) {
    if (isBusy(error)) return true
    throw unusable(`${place} may not be used: whether there is a server cannot be told`)
  }
}

function lockFile(place: string, millis: number): Database {
  const lock = new Database(place, { readwrite: true, create: false })
  try {
    // Avoids a journal file next to it.
    lock.run('PRAGMA journal_mode = MEMORY')
    lock.run(`PRAGMA busy_timeout = ${millis}`)
    // Exactly one of several concurrent attempts succeeds. With exclusive locks, all might fail.
    lock.run('BEGIN IMMEDIATE')
    return lock
  } catch (error) {
    lock.close()
    throw error
  }
}

/** A write through a second name, with a second log, destroys data. @throws Refusal database_unusable */
export function requireOneName(path: string): void {
  const hasSecond = () => statSync(path).nlink > 1
  // A process killed while publishing a file leaves a second name, which is removed later.
  if (hasSecond() && listUnfinished(realpathSync(path)).length === 0 && hasSecond())
    throw unusable('the database file has a second name (a hard link): remove the one that is not used')
}

function makeEmptyFile(place: string, database: string): void {
  const found = lstatSync(place, { throwIfNoEntry: false })
  if (found && !(found.isFile() && found.size === 0)) {
    throw unusable(`${place} is not the empty file that serve keeps there: move it away first`)
  }
  if (found) return
  try {
    closeSync(openSync(place, 'a', 0o600))
  } catch {
    throw unusable(`${place} cannot be made: serve has to write to the folder of its database`)
  }
  const { uid, gid } = statSync(database)
  // If root starts the service once, its own user can still start it the next time.
  if (statSync(place).uid !== uid) chownSync(place, uid, gid)
}
