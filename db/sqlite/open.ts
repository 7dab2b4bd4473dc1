import { Database } from 'bun:sqlite'
import { chmodSync, closeSync, openSync } from 'node:fs'
import { Refusal } from '../../src/domain/errors'
import { type Purpose, requireActive } from '../../src/domain/ports/database-copy'
import type { MasterKey } from '../../src/domain/ports/vault'
import { unusable } from '../findings/findings'
import { newerSchema, olderSchema, requirePurpose } from '../settings'
import { recognizeFile } from './file/guard'
import { isVacant, readPragma, requireOurs, schemaOf } from './file/head'
import {
  createSchema,
  type KeyedDatabase,
  type Migration,
  ourMigrations,
  proveMigrations,
  upgradeSchema,
} from './migration'
import { isBusy, isDamage, settingsOf, toRefusal } from './query-engine'

export interface Opening {
  readonly path: string
  readonly purpose: Purpose
  readonly masterKey: MasterKey
  readonly create: boolean
  readonly upgrade: boolean
  /** True for a server. */
  readonly alone?: boolean
  readonly migrations?: readonly Migration[] | undefined
}

/** Busy timeout while opening, in ms. Later only the writer waits, so that reads are not blocked. */
const openingBusyTimeoutMillis = 5_000
const retryMillis = 10
/** Page cache. SQLite's default of 2 MiB is too small, because a booking touches about ten pages of several indexes. */
const cacheKibibytes = 16 * 1024
/** Maximum size of the log after a checkpoint. The log grows larger during a long read, for example a backup. */
const logBytes = 64 * 2 ** 20
/** Pages in the log before it is written back. More than by default, because a page that changed often is written once. */
const logPages = 4_000

/**
 * @throws Refusal database_unusable in each of these cases:
 *   - The file is missing, or belongs to another program.
 *   - The log next to the file belongs to another database.
 *   - The schema is newer, or the schema is older and `upgrade` is false.
 *   - The database was created or upgraded with other migrations.
 *   - The database is for a sandbox instead of production, or the reverse.
 *   - The database belongs to another master key.
 * @throws Refusal storage_busy if another process locks the file for too long
 */
export function openDatabase(opening: Opening): Database {
  const { path, create } = opening
  recognizeFile(path, create)
  // If an earlier start was killed, the file may exist and be empty.
  if (isVacant(path)) {
    // Creates the file with a private mode, because SQLite would make the file readable for all users.
    closeSync(openSync(path, 'a', 0o600))
    chmodSync(path, 0o600)
  }
  let opened: Database | undefined
  try {
    const database = new Database(path, { readwrite: true, create: false })
    opened = database
    database.run(`PRAGMA busy_timeout = ${openingBusyTimeoutMillis}`)
    patiently(() => setUp(database, opening))
    database.run('PRAGMA busy_timeout = 0')
    return database
  } catch (error) {
    opened?.close()
    const refusal = toRefusal(error)
    if (!(refusal instanceof Refusal) || refusal === error) throw error
    throw new Refusal('database_unusable', refusal.fault, { action: refusal.action, cause: error })
  }
}

/** Returns false if the data key is sealed under another master key, or cannot be read. */
export function isSealedUnder(path: string, purpose: Purpose, masterKey: MasterKey): boolean {
  const database = new Database(path, { readwrite: true, create: false })
  try {
    database.run(`PRAGMA busy_timeout = ${openingBusyTimeoutMillis}`)
    return settingsOf(database).isSealedUnder(purpose, masterKey)
  } catch {
    return false
  } finally {
    database.close()
  }
}

/** Prepares the database. Each step can be repeated after an interruption. */
function setUp(database: Database, opening: Opening): void {
  const { path, purpose, masterKey, upgrade, alone = false, migrations = ourMigrations } = opening
  const keyed = { database, purpose, masterKey }
  // Set first, so that an upgrade overwrites deleted content.
  database.run('PRAGMA secure_delete = ON')
  const schema = recognize(database, migrations)
  // Creates the tables before WAL mode, so that the file itself contains the first transaction counter.
  if (schema === 0) createSchema(keyed, migrations)
  // Always checks the key: another process may meanwhile have created the tables with another key.
  prove(keyed, migrations)
  if (alone) requireActive(settingsOf(database).readCopyNote())
  if (schema > 0 && schema < migrations.length) {
    if (!upgrade) throw olderSchema('stop its server, then run `anteroom migrate`')
    upgradeSchema(database, path, migrations)
  }
  database.run('PRAGMA journal_mode = WAL')
  database.run('PRAGMA synchronous = FULL')
  database.run('PRAGMA trusted_schema = OFF')
  database.run('PRAGMA foreign_keys = ON')
  // Otherwise SQLite writes savepoint journals over 64 KiB to a file.
  database.run('PRAGMA temp_store = MEMORY')
  database.run(`PRAGMA cache_size = -${cacheKibibytes}`)
  database.run(`PRAGMA journal_size_limit = ${logBytes}`)
  database.run(`PRAGMA wal_autocheckpoint = ${logPages}`)
}

/** Returns the schema number; 0 without tables. @throws Refusal database_unusable if the schema is newer or unknown */
export function recognize(database: Database, migrations = ourMigrations): number {
  // Must be read first, because another process may create the tables meanwhile.
  const isEmpty = readPragma(database, 'schema_version') === 0
  requireOurs(readPragma(database, 'application_id'), isEmpty)
  const schema = schemaOf(readPragma(database, 'user_version'))
  if (schema === 0 && !isEmpty) throw unusable('the database has no schema number', 'restore a backup')
  if (schema > migrations.length) throw newerSchema()
  return schema
}

/** Retries while another process enters WAL mode or closes the file, because SQLite itself does not wait then. */
function patiently<T>(work: () => T): T {
  const deadline = performance.now() + openingBusyTimeoutMillis
  for (;;) {
    try {
      return work()
    } catch (error) {
      if (isDamage(error))
        throw unusable('the file is not a readable database', 'check its path, or restore a backup')
      if (!isBusy(error)) throw error
      if (performance.now() > deadline)
        throw new Refusal('storage_busy', 'the database is busy', { action: 'try again' })
      Bun.sleepSync(retryMillis * (1 + Math.random()))
    }
  }
}

/** @throws Refusal database_unusable if the purpose, the master key or a migration differs */
export function prove({ database, purpose, masterKey }: KeyedDatabase, migrations = ourMigrations): void {
  const settings = settingsOf(database)
  requirePurpose(settings.readPurpose(), purpose)
  settings.openVault(purpose, masterKey)
  proveMigrations(database, migrations)
}
