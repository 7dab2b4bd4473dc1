import { Database } from 'bun:sqlite'
import { chmodSync, copyFileSync, statSync } from 'node:fs'
import type { MasterKey } from '../../src/domain/vault'
import { beginFile, isThere, removeAbandoned } from '../../src/files/durable'
import { finishCopy, toUnusable } from './copy'
import type { Purpose } from './data-key'
import { isDatabase, unusable } from './file-head'
import { prove, recognize } from './open'

/** A backup, and where it shall stand as a database. */
export interface Restoring {
  readonly backup: string
  readonly path: string
  readonly purpose: Purpose
  readonly masterKey: MasterKey
  /** Writes what an encrypted backup holds to another file. */
  readonly decrypt: (backup: string, path: string) => Promise<void>
}

/**
 * Makes a database of a backup, encrypted or not: held to be sound, ours, and sealed under the master key, before it gets
 * its name, and for its owner alone.
 *
 * @throws Refusal database_unusable if it is not, or a log stands beside it, or there is a file at the path already, or a
 *   log; whatever `decrypt` throws
 */
export async function restoreDatabase(restoring: Restoring): Promise<void> {
  const { backup, path, decrypt } = restoring
  const left = [path, `${path}-wal`, `${path}-shm`, `${path}-journal`].find(isThere)
  if (left === path) throw unusable('there is a file at that path already')
  if (left) throw unusable(`${left} was left by another database: move it away first`)
  // A pipe would be waited for without end, and gives what it holds only once.
  if (!statSync(backup).isFile()) throw unusable('what is at the backup path is not a file')
  const log = isDatabase(backup) ? [`${backup}-wal`, `${backup}-journal`].find(holdsAnything) : undefined
  if (log)
    throw unusable(`${log} holds what the file alone does not: make a backup of the two by anteroom backup`)
  removeAbandoned(path)
  try {
    using file = beginFile(path)
    if (isDatabase(backup)) copyPrivately(backup, file.path)
    else await decrypt(backup, file.path)
    adopt(file.path, restoring)
    file.publish()
  } catch (error) {
    throw toUnusable(error)
  }
}

function holdsAnything(path: string): boolean {
  return (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0
}

/** A copy takes the mode of what it is made of, too. */
function copyPrivately(from: string, to: string): void {
  copyFileSync(from, to)
  chmodSync(to, 0o600)
}

/** Holds what was brought to be what it should be, and gives it a count that no log of another copy goes on from. */
function adopt(path: string, { purpose, masterKey }: Restoring): void {
  if (!isDatabase(path)) throw unusable('what the backup holds is no database')
  const database = new Database(path, { readwrite: true, create: false })
  try {
    const schema = recognize(database)
    if (schema === 0) throw unusable('what the backup holds is an empty database')
    prove({ database, purpose, masterKey }, schema)
  } finally {
    database.close()
  }
  finishCopy(path)
}
