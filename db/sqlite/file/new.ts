import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import {
  asidePath,
  isThere,
  listUnfinished,
  nameFile,
  removeAbandoned,
  sync,
  writeDurably,
} from '../../../src/files/durable'

// Database and master key are made in a folder next to the target, under these names. The key is published
// first: a key without a database means that only the last step is missing, which any process can do.
const [madeName, wholeName, keyName] = ['made', 'whole', 'key']

/**
 * Leaves nothing if killed, or a state that finishDatabase completes. Concurrent calls get the first result.
 * @param key null if the master key is not in a file
 */
export async function makeDatabase(
  database: string,
  key: string | null,
  make: (database: string, key: string) => Promise<void>,
): Promise<void> {
  removeAbandoned(database)
  const aside = asidePath(database)
  mkdirSync(aside, { mode: 0o700 })
  try {
    const hadKey = key !== null && isThere(key)
    const made = join(aside, madeName)
    await make(made, hadKey ? key : join(aside, keyName))
    // Copied, because SQLite may not have closed the file yet.
    copyFileSync(made, join(aside, wholeName))
    // Synced before the key is published, because a published key means that both are complete.
    sync(join(aside, wholeName))
    sync(aside)
    sync(dirname(aside))
    const isFirst = key === null || hadKey || nameUnlessThere(join(aside, keyName), key)
    if (isFirst) nameUnlessThere(join(aside, wholeName), database)
    else finishDatabase(database, key)
  } finally {
    rmSync(aside, { recursive: true, force: true })
  }
}

/** Finishes the work of a process that was killed after it published the key. False if there is none. */
export function finishDatabase(database: string, key: string | null): boolean {
  if (key === null || !existsSync(key)) return false
  const named = readFileSync(key)
  for (const aside of listUnfinished(database)) {
    const made = join(aside, keyName)
    if (!existsSync(made) || !readFileSync(made).equals(named)) continue
    // A second link means that the database was published; it may have been moved away since.
    const isUnnamed = statSync(join(aside, wholeName), { throwIfNoEntry: false })?.nlink === 1
    if (isUnnamed) nameUnlessThere(join(aside, wholeName), database)
    rmSync(aside, { recursive: true, force: true })
    if (isUnnamed) return true
  }
  return false
}

/** True if the file got the name. Idempotent: another process may do it first. */
function nameUnlessThere(made: string, path: string): boolean {
  try {
    nameOnAnyDisk(made, path)
    return true
  } catch (error) {
    if (!isThere(path)) throw error
    return false
  }
}

/** Copies the key if its path is on another disk. */
function nameOnAnyDisk(made: string, path: string): void {
  try {
    nameFile(made, path)
  } catch (error) {
    if ((error as { code?: string }).code !== 'EXDEV') throw error
    writeDurably(path, readFileSync(made, 'utf8'))
  }
}
