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

// A database and its master key are made in a folder next to it, under these names, and the key is published
// first. A key without a database means that only the last step is missing. Any process can take it.
const [madeName, wholeName, keyName] = ['made', 'whole', 'key']

/**
 * A killed process leaves neither, or a state that finishDatabase completes. If two run at once, both callers
 * get the first result.
 * @param key null if the master key is in no file
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
    // A copy, because SQLite may not have closed the file that it made.
    copyFileSync(made, join(aside, wholeName))
    // Before the key is published, which means that both are complete.
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

/** For a process that was killed after it had published the key. False if there is none. */
export function finishDatabase(database: string, key: string | null): boolean {
  if (key === null || !existsSync(key)) return false
  const named = readFileSync(key)
  for (const aside of listUnfinished(database)) {
    const made = join(aside, keyName)
    if (!existsSync(made) || !readFileSync(made).equals(named)) continue
    // A second link means that it was published, and may have been moved away.
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

/** Writes a copy if the key's path is on another disk. */
function nameOnAnyDisk(made: string, path: string): void {
  try {
    nameFile(made, path)
  } catch (error) {
    if ((error as { code?: string }).code !== 'EXDEV') throw error
    writeDurably(path, readFileSync(made, 'utf8'))
  }
}
