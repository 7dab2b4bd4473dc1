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

// Names in a temporary folder next to the target. The key is published first. After an interruption, another process
// can then publish the database.
const [madeName, wholeName, keyName] = ['made', 'whole', 'key']

/**
 * Creates a database. If several processes call this at once, all use the database that is published first. If a
 * process is killed, finishDatabase can complete its work.
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
    // Publishes a copy, because SQLite may not have closed the original yet.
    copyFileSync(made, join(aside, wholeName))
    // The database must be complete before the key is published, so both are synced first.
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

/** Publishes the database after an interruption of makeDatabase. Returns false if there is nothing to do. */
export function finishDatabase(database: string, key: string | null): boolean {
  if (key === null || !existsSync(key)) return false
  const named = readFileSync(key)
  for (const aside of listUnfinished(database)) {
    const made = join(aside, keyName)
    if (!existsSync(made) || !readFileSync(made).equals(named)) continue
    // A second link means that the database was published. It may have been moved since then.
    const isUnnamed = statSync(join(aside, wholeName), { throwIfNoEntry: false })?.nlink === 1
    if (isUnnamed) nameUnlessThere(join(aside, wholeName), database)
    rmSync(aside, { recursive: true, force: true })
    if (isUnnamed) return true
  }
  return false
}

/** Returns false if a file with the name exists, for example because another process was first. */
function nameUnlessThere(made: string, path: string): boolean {
  try {
    nameOnAnyDisk(made, path)
    return true
  } catch (error) {
    if (!isThere(path)) throw error
    return false
  }
}

/** Links the file, or copies it if the path is on another disk. Only the key can be on another disk. */
function nameOnAnyDisk(made: string, path: string): void {
  try {
    nameFile(made, path)
  } catch (error) {
    if ((error as { code?: string }).code !== 'EXDEV') throw error
    writeDurably(path, readFileSync(made, 'utf8'))
  }
}
