import { Database } from 'bun:sqlite'
import { chownSync, closeSync, lstatSync, openSync, realpathSync, statSync } from 'node:fs'
import { Refusal } from '../../../src/domain/errors'
import { listUnfinished } from '../../../src/files/durable'
import { unusable } from '../../findings/unusable'
import { isBusy } from '../constraint'

/** For how long a server that starts waits for the lock. */
const momentMillis = 200

/**
 * The lock of the one server of a database: an empty file beside the database, opened as one, in which a transaction is
 * begun and nothing written. The system gives it up with the process, however that ends, so the file itself says
 * nothing and stays. Commands beside the server do not ask for it.
 *
 * @param path of a database that is there
 * @throws Refusal storage_busy where another server holds it; database_unusable where it cannot be had
 */
export function takeServeLock(path: string): Disposable {
  // By whichever link it was named: of one database there is one lock.
  const real = realpathSync(path)
  requireOneName(real)
  const place = `${real}.serving`
  makeEmptyFile(place, real)
  let lock: Database | undefined
  try {
    lock = new Database(place, { readwrite: true, create: false })
    // Otherwise a journal would lie beside it.
    lock.run('PRAGMA journal_mode = MEMORY')
    // Whoever asks only whether there is a server has it for a moment.
    lock.run(`PRAGMA busy_timeout = ${momentMillis}`)
    // Of several who ask for it at the same moment exactly one is let in; an exclusive one might refuse all of them.
    lock.run('BEGIN IMMEDIATE')
  } catch (error) {
    lock?.close()
    if (isBusy(error)) {
      throw new Refusal('storage_busy', 'another serve works with this database already: stop that one first')
    }
    throw unusable(`${place} cannot be locked: it has to belong to whoever runs serve`)
  }
  const { close } = lock
  return { [Symbol.dispose]: close.bind(lock) }
}

/**
 * Whether a server holds the lock of a database. It is asked for as a server does, and given up at once.
 *
 * @throws Refusal database_unusable where that cannot be told
 */
export function isServeLockHeld(path: string): boolean {
  const place = `${realpathSync(path)}.serving`
  if (!lstatSync(place, { throwIfNoEntry: false })?.isFile()) return false
  let lock: Database | undefined
  try {
    lock = new Database(place, { readwrite: true, create: false })
    lock.run('PRAGMA journal_mode = MEMORY')
    lock.run('BEGIN IMMEDIATE')
    return false
  } catch (error) {
    if (isBusy(error)) return true
    throw unusable(`${place} may not be used: whether there is a server cannot be told`)
  } finally {
    lock?.close()
  }
}

/** By a second name it would have a second log, and whoever writes by that name destroys it. */
function requireOneName(path: string): void {
  // What was killed while it gave a file its name has left a second one, which goes by itself.
  if (statSync(path).nlink > 1 && listUnfinished(path).length === 0)
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
  // Where root starts the service once, its own user shall be able to start it the next time.
  if (statSync(place).uid !== uid) chownSync(place, uid, gid)
}
