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

// A database and its master key are made in a folder aside under these names. The key gets its own name first, when
// both are whole: a key without a database tells that the last step is still to be taken, and any process can take it.
const [madeName, wholeName, keyName] = ['made', 'whole', 'key']

/**
 * Makes a database and its master key, whole: an end in between leaves neither, or what finishDatabase finishes. Of two
 * that are made at once, both callers get the first.
 *
 * @param key where the master key will be, or is; null if it is in no file
 * @param make makes both where it is told, and closes them
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
    // A copy, since SQLite may not have let go of the file that it made.
    copyFileSync(made, join(aside, wholeName))
    // Before the key has its name, which says that both are whole and there.
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

/** Takes the last step of a making that ended after the key had its name. False if there is none to take. */
export function finishDatabase(database: string, key: string | null): boolean {
  if (key === null || !existsSync(key)) return false
  const named = readFileSync(key)
  for (const aside of listUnfinished(database)) {
    const made = join(aside, keyName)
    if (!existsSync(made) || !readFileSync(made).equals(named)) continue
    // One that had its name already, and was moved away since, is not to come back.
    const isUnnamed = statSync(join(aside, wholeName), { throwIfNoEntry: false })?.nlink === 1
    if (isUnnamed) nameUnlessThere(join(aside, wholeName), database)
    rmSync(aside, { recursive: true, force: true })
    if (isUnnamed) return true
  }
  return false
}

/** Whether it got the name; somebody else's taking the last step meanwhile is as good. */
function nameUnlessThere(made: string, path: string): boolean {
  try {
    nameOnAnyDisk(made, path)
    return true
  } catch (error) {
    if (!isThere(path)) throw error
    return false
  }
}

/** A key that is kept apart may well be on another disk. */
function nameOnAnyDisk(made: string, path: string): void {
  try {
    nameFile(made, path)
  } catch (error) {
    if ((error as { code?: string }).code !== 'EXDEV') throw error
    writeDurably(path, readFileSync(made, 'utf8'))
  }
}
