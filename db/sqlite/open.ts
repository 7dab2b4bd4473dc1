import { Database, SQLiteError } from 'bun:sqlite'
import { chmodSync, closeSync, openSync } from 'node:fs'
import { Refusal } from '../../src/domain/errors'
import type { Vault } from '../../src/domain/vault'
import { isBusy, toRefusal } from './constraint'
import { isVacant, readPragma, recognizeFile, requireOurs, schemaOf, unusable } from './file-head'
import { createSchema, currentSchema, upgradeSchema } from './migrate'
import { keyProofPlace } from './sealed'
import { readSetting } from './setting'

/** What a database is for: the data of one is never served as the other. */
export type Purpose = 'sandbox' | 'production'

/** How a database is to be opened. */
export interface Opening {
  readonly path: string
  readonly purpose: Purpose
  readonly vault: Vault
  /** Whether to make the database if there is none. */
  readonly create: boolean
  /** Whether to bring an older schema up to date. */
  readonly upgrade: boolean
}

/** How long opening waits for another process; afterwards the writer waits, without holding up the reads. */
const openingBusyTimeoutMillis = 5_000
const retryMillis = 10

/**
 * Opens the database of a path. The file and those that SQLite puts beside it can be read by their owner alone.
 *
 * @throws Refusal database_unusable for a missing file, what is no database of ours, one beside another's log, a newer
 *   schema, an older one that is not to be upgraded, another purpose, or another master key than it was sealed under;
 *   storage_busy if another process holds it for too long
 */
export function openDatabase(opening: Opening): Database {
  const { path, create } = opening
  recognizeFile(path, create)
  // An empty file is what a start that was cut short leaves, or all that is left of a database.
  if (isVacant(path)) {
    // SQLite would make it readable for all, and gives the files beside it the mode of this one.
    closeSync(openSync(path, 'a', 0o600))
    chmodSync(path, 0o600)
  }
  const database = new Database(path, { readwrite: true, create: false })
  try {
    database.run(`PRAGMA busy_timeout = ${openingBusyTimeoutMillis}`)
    patiently(() => setUp(database, opening))
    database.run('PRAGMA busy_timeout = 0')
    return database
  } catch (error) {
    database.close()
    const refusal = toRefusal(error)
    throw refusal instanceof Refusal && refusal !== error ? unusable(refusal.message) : error
  }
}

/** Each step leaves a database that the same steps can be taken with again. */
function setUp(database: Database, { path, purpose, vault, upgrade }: Opening): void {
  // First of all: an upgrade too leaves nothing of what it replaces.
  database.run('PRAGMA secure_delete = ON')
  const schema = recognize(database)
  // Before there is a log, so that the file itself has the number that its first transaction goes on from.
  if (schema === 0) createSchema(database, vault)
  else prove(database, purpose, vault, schema)
  if (schema > 0 && schema < currentSchema) {
    const way = 'stop its server, then run `anteroom migrate`'
    if (!upgrade) throw unusable(`the database has an older schema: ${way}`)
    upgradeSchema(database, path, vault)
  }
  database.run('PRAGMA journal_mode = WAL')
  database.run('PRAGMA synchronous = FULL')
  database.run('PRAGMA trusted_schema = OFF')
  database.run('PRAGMA foreign_keys = ON')
  settle(database, purpose, vault)
}

/** Tells the schema of a database, 0 for one without tables. @throws Refusal database_unusable if it is not ours */
export function recognize(database: Database): number {
  requireOurs(readPragma(database, 'application_id'), readPragma(database, 'schema_version') === 0)
  const schema = schemaOf(readPragma(database, 'user_version'))
  if (schema > currentSchema) throw unusable('the database was written by a newer version of this program')
  return schema
}

/**
 * Opening is the one moment at which SQLite's own wait does not do: whoever turns a fresh copy to its write-ahead log,
 * or is the last to leave one, turns others away at once.
 */
function patiently<T>(work: () => T): T {
  const deadline = performance.now() + openingBusyTimeoutMillis
  for (;;) {
    try {
      return work()
    } catch (error) {
      if (!(error instanceof SQLiteError)) throw error
      if (error.code === 'SQLITE_NOTADB' || error.code === 'SQLITE_CORRUPT') {
        throw unusable('the file is not a database that can be read')
      }
      if (!isBusy(error)) throw error
      if (performance.now() > deadline) throw new Refusal('storage_busy', 'the database is busy; try again')
      Bun.sleepSync(retryMillis * (1 + Math.random()))
    }
  }
}

/** Notes at the first opening what the database is for and which key it has. */
function settle(database: Database, purpose: Purpose, vault: Vault): void {
  if (readSetting(database, 'purpose')) {
    prove(database, purpose, vault, currentSchema)
    return
  }
  const insert = database.query('INSERT INTO settings (name, value) VALUES (?, ?) ON CONFLICT DO NOTHING')
  const note = database.transaction(() => {
    insert.run('purpose', Buffer.from(purpose))
    insert.run('key_proof', vault.seal(Buffer.from(purpose), keyProofPlace))
  })
  note.immediate()
}

/** Holds a database to what was noted, before anything of it is changed. @throws Refusal database_unusable */
export function prove(database: Database, purpose: Purpose, vault: Vault, schema: number): void {
  const noted = readSetting(database, 'purpose')
  if (!noted) return
  if (Buffer.from(noted).toString() !== purpose) throw unusable(`the database is not a ${purpose} database`)
  const proof = readSetting(database, 'key_proof') ?? new Uint8Array()
  try {
    if (schema === 1) vault.openFirst(proof, keyProofPlace.recordKey)
    else vault.open(proof, keyProofPlace)
  } catch {
    throw unusable('the master key is not the one that this database was sealed under')
  }
}
