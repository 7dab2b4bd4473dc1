import type { Database } from 'bun:sqlite'
import type { Purpose } from '../../src/domain/ports/database-copy'
import type { MasterKey } from '../../src/domain/ports/vault'
import { unusable } from '../findings/findings'
import { hashesOf, migrationsName, requireSteps } from '../settings'
import { copyDatabase } from './file/copy'
import {
  applicationId,
  countTransaction,
  newUserVersion,
  readPragma,
  readUserVersion,
  schemaOf,
} from './file/head'
import first from './migrations/0001-schema.sql' with { type: 'text' }
import second from './migrations/0002-safe.sql' with { type: 'text' }
import third from './migrations/0003-follow-up.sql' with { type: 'text' }
import { isBusy, settingsOf } from './query-engine'

export type Migration = string

/** Steps in order. The schema number of a database is the number of applied steps. A released step never changes. */
export const ourMigrations: readonly Migration[] = [first, second, third]

export const currentSchema = ourMigrations.length

export interface KeyedDatabase {
  readonly database: Database
  readonly purpose: Purpose
  readonly masterKey: MasterKey
}

/** @throws Refusal database_unusable if the applied steps differ from the steps of this program */
export function proveMigrations(database: Database, migrations: readonly Migration[]): void {
  const schema = schemaOf(readPragma(database, 'user_version'))
  requireSteps(settingsOf(database).read(migrationsName), migrations.slice(0, schema))
}

export function isOutdated(path: string, migrations = ourMigrations): boolean {
  const schema = schemaOf(readUserVersion(path))
  return schema > 0 && schema < migrations.length
}

export function copyPathOf(path: string, migrations = ourMigrations): string {
  return `${path}.before-schema-${migrations.length}`
}

/** Creates the tables. Foreign key checks must still be off, as after opening. */
export function createSchema(keyed: KeyedDatabase, migrations = ourMigrations): void {
  const { database, purpose, masterKey } = keyed
  const create = database.transaction(() => {
    if (readPragma(database, 'user_version') !== 0) return
    migrate(database, 0, migrations)
    settingsOf(database).writeFirst(purpose, masterKey)
    database.run(`PRAGMA user_version = ${newUserVersion(migrations.length)}`)
    database.run(`PRAGMA application_id = ${applicationId}`)
  })
  create.immediate()
}

/** Copies the database, then upgrades it. @throws Refusal database_unusable if another program has it open */
export function upgradeSchema(database: Database, path: string, migrations: readonly Migration[]): void {
  lockAlone(database)
  using copy = copyDatabase(database, copyPathOf(path, migrations))
  copy.publish()
  const upgrade = database.transaction(() => {
    migrate(database, schemaOf(readPragma(database, 'user_version')), migrations)
    countTransaction(database, migrations.length)
  })
  upgrade.immediate()
  // Leaves WAL mode, because the exclusive lock cannot be released in WAL mode.
  database.run('PRAGMA journal_mode = DELETE')
  database.run('PRAGMA locking_mode = NORMAL')
}

/** Locks the database. If another program has it open, SQLite cannot leave WAL mode, so this fails. */
function lockAlone(database: Database): void {
  try {
    database.run('PRAGMA locking_mode = EXCLUSIVE')
    database.run('PRAGMA journal_mode = DELETE')
    database.run('PRAGMA journal_mode = WAL')
  } catch (error) {
    if (!isBusy(error)) throw error
    throw unusable(
      'the database has an older schema, but another program has it open',
      'stop that program first',
    )
  }
}

function migrate(database: Database, from: number, migrations: readonly Migration[]): void {
  const countOrphans = () => database.query('PRAGMA foreign_key_check').all().length
  // Existing references to missing records do not prevent an upgrade. Doctor reports these records.
  const before = from === 0 ? 0 : countOrphans()
  for (const sql of migrations.slice(from)) database.run(sql)
  if (countOrphans() > before)
    throw unusable('the upgrade would leave records that refer to missing records', 'report it')
  settingsOf(database).write(migrationsName, hashesOf(migrations))
}
