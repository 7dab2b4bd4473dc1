import { realpathSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { Refusal } from '../../src/domain/errors'
import type { DatabaseLocation, Found, Making, Opened, Opening } from '../../src/domain/ports/database'
import { isFolderWritable, whyNoAccess } from '../../src/files/access'
import { isThere, removeAbandoned } from '../../src/files/durable'
import { unusable } from '../findings/findings'
import { readOffers } from '../queries/offers'
import { openEngine } from './engine'
import { openUntouched } from './file/copy'
import { recognizeFile } from './file/guard'
import { takeServeLock } from './file/lock'
import { finishDatabase, makeDatabase } from './file/new'
import { requireNothingAt, restoreDatabase } from './file/restore'
import { copyPathOf, isOutdated, type Migration } from './migration'
import { makeTarget, readSource } from './move'
import { isSealedUnder } from './open'

export function fileDatabase(path: string, migrations?: readonly Migration[]): DatabaseLocation {
  return {
    name: path,
    fullName: resolve(path),
    find: async () => found(path),
    isSealedUnder: async (purpose, masterKey) => isSealedUnder(path, purpose, masterKey),
    open: (opening) => open(path, opening, migrations),
    make: (making) => make(path, making),
    async restore({ takeKey, ...restoring }, progress) {
      const manifest = await restoreDatabase({ ...restoring, path, masterKey: takeKey(), progress })
      const isOlder = isOutdated(path, migrations)
      return { manifest, isOlder }
    },
    readSource: (reading, use) => readSource(path, reading, use),
    makeTarget: (making) => makeTarget(path, making),
    async listOffers(offered, begin) {
      recognizeFile(path, false)
      using database = openUntouched(path)
      return await readOffers((text, values) => database.query(text).values(...values), offered, begin)
    },
    explain: (error) => explain(error, path),
  }
}

function found(path: string): Found | null {
  try {
    const owner = statSync(path, { throwIfNoEntry: false })?.uid
    return owner === undefined ? null : { owner }
  } catch {
    // Ignored here, because opening the file will report the same error.
    return null
  }
}

async function open(path: string, opening: Opening, migrations?: readonly Migration[]): Promise<Opened> {
  const { purpose, takeKey, create, upgrade, alone } = opening
  recognizeFile(path, create)
  // Takes the lock before an upgrade, so that no upgrade begins while a server runs.
  const lock = alone ? takeServeLock(path) : null
  const unlock = () => lock?.[Symbol.dispose]()
  try {
    const masterKey = await takeKey()
    const copy = upgrade && isOutdated(path, migrations) ? copyPathOf(path, migrations) : null
    const engine = openEngine({ path, purpose, masterKey, create, upgrade, alone, migrations })
    if (alone) removeAbandoned(realpathSync(path))
    return {
      ...engine,
      upgraded: copy === null ? null : { copy },
      close: () => engine.close().finally(unlock),
    }
  } catch (error) {
    unlock()
    throw error
  }
}

async function make(path: string, { keyFile, mustBeNew, fill }: Making): Promise<void> {
  if (mustBeNew) requireNothingAt(path, 'a file already exists at the database path; choose another path')
  // If an earlier attempt was killed, the key at the path may belong to this database.
  if (finishDatabase(path, keyFile)) return
  if (mustBeNew && keyFile !== null && isThere(keyFile)) {
    throw unusable('a file already exists at the master key path', 'choose another path')
  }
  await makeDatabase(path, keyFile, fill)
}

/** Returns an error with the reason if a readable database cannot be written. */
function explain(error: unknown, path: string): unknown {
  const { code = '' } = ((error as Error | null)?.cause ?? {}) as { code?: string }
  // To open a database, SQLite must be able to create a log next to the file.
  const isUnwritable =
    code.startsWith('SQLITE_READONLY') || (code.startsWith('SQLITE_CANTOPEN') && !isFolderWritable(path))
  if (!(error instanceof Refusal && isUnwritable)) return error
  const why = `the database ${path} cannot be written: ${whyNoAccess(path)}`
  return new Refusal(error.kind, why, { cause: error })
}
