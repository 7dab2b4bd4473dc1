import { Database } from 'bun:sqlite'
import { chmodSync, closeSync, existsSync, openSync, statSync } from 'node:fs'
import { Refusal } from '../../src/domain/errors'
import type { Vault } from '../../src/domain/vault'
import start from './migrations/0001-start.sql' with { type: 'text' }

/** In order; a database's user_version is the number of those that it has had. Landed ones never change. */
const migrations: readonly string[] = [start]

/** Marks a SQLite file as ours: "Ante" in ASCII. */
const applicationId = 0x416e7465

/** What a database is for: the data of one is never served as the other. */
export type Purpose = 'sandbox' | 'production'

/** How long opening waits for another process; afterwards the writer waits, without holding up the reads. */
const openingPatienceMillis = 5_000

/**
 * Opens the database of a path, made if it is not there and `create` says so, and brings its schema up to
 * date. The file and those that SQLite puts beside it can be read by their owner alone.
 *
 * @throws Refusal database_unusable for a missing file, another application's, a newer schema, one with
 *   another purpose, or one that was sealed under another master key
 */
export function openDatabase(path: string, purpose: Purpose, vault: Vault, create: boolean): Database {
  // An empty file is what a start that was cut short leaves, or all that is left of a database.
  if (!existsSync(path) || statSync(path).size === 0) {
    if (!create) throw unusable('there is no database at that path')
    // SQLite would make it readable for all, and gives the files beside it the mode of this one.
    closeSync(openSync(path, 'a', 0o600))
    chmodSync(path, 0o600)
  }
  const database = new Database(path, { readwrite: true, create: false })
  try {
    database.run(`PRAGMA busy_timeout = ${openingPatienceMillis}`)
    recognize(database)
    for (const pragma of [
      'journal_mode = WAL',
      'synchronous = FULL',
      'secure_delete = ON',
      'trusted_schema = OFF',
    ]) {
      database.run(`PRAGMA ${pragma}`)
    }
    migrate(database)
    database.run('PRAGMA foreign_keys = ON')
    settle(database, purpose, vault)
    database.run('PRAGMA busy_timeout = 0')
    return database
  } catch (error) {
    database.close()
    throw error
  }
}

/**
 * Holds the file at a path to be a database of ours, or none yet, without changing anything.
 *
 * @throws Refusal database_unusable for another application's file or a newer schema
 */
export function recognizeDatabase(path: string): void {
  if (!existsSync(path) || statSync(path).size === 0) return
  const database = new Database(path, { readonly: true })
  try {
    recognize(database)
  } finally {
    database.close()
  }
}

function recognize(database: Database): void {
  try {
    const id = readPragma(database, 'application_id')
    const isEmpty = readPragma(database, 'schema_version') === 0
    if (id !== applicationId && !(id === 0 && isEmpty))
      throw unusable('the file belongs to another application')
  } catch (error) {
    throw error instanceof Refusal ? error : unusable('the file is not a database that can be read')
  }
  if (readPragma(database, 'user_version') > migrations.length) {
    throw unusable('the database was written by a newer version of this program')
  }
}

/** Foreign keys are off while this runs: a table is rebuilt by dropping it, which must not take others along. */
function migrate(database: Database): void {
  const pending = database.transaction(() => {
    for (let version = readPragma(database, 'user_version'); version < migrations.length; version++) {
      database.run(migrations[version] as string)
      database.run(`PRAGMA user_version = ${version + 1}`)
    }
    database.run(`PRAGMA application_id = ${applicationId}`)
    if (database.query('PRAGMA foreign_key_check').all().length > 0) {
      throw unusable('the database holds records that point at nothing')
    }
  })
  if (readPragma(database, 'user_version') < migrations.length) pending.immediate()
}

/** Notes at the first opening what the database is for and which key it has, and holds every other to that. */
function settle(database: Database, purpose: Purpose, vault: Vault): void {
  const note = (name: string, value: Uint8Array) =>
    database.query('INSERT INTO settings (name, value) VALUES (?, ?) ON CONFLICT DO NOTHING').run(name, value)
  const read = (name: string) =>
    database.query<{ value: Uint8Array }, [string]>('SELECT value FROM settings WHERE name = ?').get(name)
      ?.value
  if (!read('purpose')) {
    database
      .transaction(() => {
        note('purpose', Buffer.from(purpose))
        note('key_proof', vault.seal(Buffer.from(purpose), 'key_proof'))
      })
      .immediate()
  }
  if (Buffer.from(read('purpose') ?? []).toString() !== purpose) {
    throw unusable(`the database is not a ${purpose} database`)
  }
  try {
    vault.open(read('key_proof') ?? new Uint8Array(), 'key_proof')
  } catch {
    throw unusable('the master key is not the one that this database was sealed under')
  }
}

function readPragma(database: Database, name: string): number {
  const row = database.query<Record<string, number>, []>(`PRAGMA ${name}`).get()
  return Object.values(row ?? {})[0] ?? 0
}

function unusable(message: string): Refusal {
  return new Refusal('database_unusable', message)
}
