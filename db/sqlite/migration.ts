import type { Database } from 'bun:sqlite'
import { rmSync } from 'node:fs'
import { listUnfinished } from '../../src/files/durable'
import { unusable } from '../findings/unusable'
import { isBusy } from './constraint'
import { copyDatabase } from './file/copy'
import {
  applicationId,
  countTransaction,
  newUserVersion,
  readPragma,
  readUserVersion,
  schemaOf,
} from './file/head'
import start from './migrations/0001-start.sql' with { type: 'text' }
import roomToGrow from './migrations/0002-room-to-grow.sql' with { type: 'text' }
import sealedMembers from './migrations/0003-sealed-members.sql' with { type: 'text' }
import holdings from './migrations/0004-holdings.sql' with { type: 'text' }
import rates from './migrations/0005-rates.sql' with { type: 'text' }
import audit from './migrations/0006-audit.sql' with { type: 'text' }
import replays from './migrations/0007-replays.sql' with { type: 'text' }
import secondDay from './migrations/0008-second-day.sql' with { type: 'text' }
import { rehashAudit } from './rehash-audit'
import { bindToPlaces, sealMembers, type Upgrading } from './reseal'
import { readSetting } from './setting'

interface Migration {
  readonly sql: string
  /** What SQL cannot do, after it. */
  readonly work?: (upgrading: Upgrading) => void
}

/** In order; a database's schema is the number of those that it has had. Landed ones never change. */
const migrations: readonly Migration[] = [
  { sql: start },
  { sql: roomToGrow, work: bindToPlaces },
  { sql: sealedMembers, work: sealMembers },
  { sql: holdings },
  { sql: rates },
  { sql: audit, work: rehashAudit },
  { sql: replays },
  { sql: secondDay },
]

const hashOf = ({ sql }: Migration) => new Bun.CryptoHasher('sha256').update(sql).digest()
/** What is noted where all of the first `count` were applied: the SHA-256 of each, one behind the other. */
const hashesOf = (count: number) => Buffer.concat(migrations.slice(0, count).map(hashOf))
const hashesName = 'migrations'

/** The schema that this program works with. */
export const currentSchema = migrations.length

/**
 * Holds the migrations that a database has had to be this program's. One that was made, and last upgraded, before they
 * were noted says nothing of them.
 *
 * @throws Refusal database_unusable if they are others
 */
export function proveMigrations(database: Database, schema: number): void {
  const noted = readSetting(database, hashesName)
  if (!noted || hashesOf(schema).equals(noted)) return
  throw unusable('the database was made or upgraded by a build of this program with other migrations')
}

function noteMigrations(database: Database): void {
  database
    .query('INSERT INTO settings (name, value) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET value = ?2')
    .run(hashesName, hashesOf(currentSchema))
}

/** Whether the database of a file has an older schema; one that is yet to be made has none. */
export function isOutdated(path: string): boolean {
  const schema = schemaOf(readUserVersion(path))
  return schema > 0 && schema < currentSchema
}

/** Where a database is kept as it was before it had this schema. */
export function copyPathOf(path: string): string {
  return `${path}.before-schema-${currentSchema}`
}

/** Makes the tables of a database that has none. Foreign keys must be off, as they are when a database is opened. */
export function createSchema(upgrading: Upgrading): void {
  const { database } = upgrading
  const create = database.transaction(() => {
    if (readPragma(database, 'user_version') !== 0) return
    migrate(upgrading, 0)
    noteMigrations(database)
    database.run(`PRAGMA user_version = ${newUserVersion(currentSchema)}`)
    database.run(`PRAGMA application_id = ${applicationId}`)
  })
  create.immediate()
}

/**
 * Brings an older database up to date, in one transaction and after a copy that is left beside it, while nobody else
 * has it open.
 *
 * @throws Refusal database_unusable if somebody has, or no copy could be made
 */
export function upgradeSchema(upgrading: Upgrading, path: string): void {
  const { database } = upgrading
  const schema = schemaOf(readPragma(database, 'user_version'))
  lockAlone(database)
  // Under this lock nobody else makes one.
  for (const left of listUnfinished(copyPathOf(path))) rmSync(left, { force: true })
  using copy = copyDatabase(database, copyPathOf(path))
  copy.publish()
  const upgrade = database.transaction(() => {
    migrate(upgrading, schema)
    noteMigrations(database)
    countTransaction(database, currentSchema)
  })
  // What lay readable shall not lie in a temporary file either.
  database.run('PRAGMA temp_store = MEMORY')
  upgrade.immediate()
  database.run('PRAGMA temp_store = DEFAULT')
  // So that nothing is left of what lay readable before. Where nothing was carried over, the rest is as it was: to write it
  // anew takes minutes of a large database, and room for it two times more.
  if (migrations.slice(schema).some(({ work }) => work)) database.run('VACUUM')
  // The lock goes only without a log.
  database.run('PRAGMA journal_mode = DELETE')
  database.run('PRAGMA locking_mode = NORMAL')
}

/**
 * Locks everybody out, older programs too, for as long as it takes: nobody can give up a log that somebody else uses,
 * and who has given it up under this lock has the next one alone.
 */
function lockAlone(database: Database): void {
  try {
    database.run('PRAGMA locking_mode = EXCLUSIVE')
    database.run('PRAGMA journal_mode = DELETE')
    database.run('PRAGMA journal_mode = WAL')
  } catch (error) {
    if (!isBusy(error)) throw error
    throw unusable('the database has an older schema, and another program has it open: stop that first')
  }
}

function migrate(upgrading: Upgrading, from: number): void {
  const { database } = upgrading
  const countOrphans = () => database.query('PRAGMA foreign_key_check').all().length
  // Those that were there before are doctor's to tell of.
  const before = from === 0 ? 0 : countOrphans()
  for (const { sql, work } of migrations.slice(from)) {
    database.run(sql)
    work?.(upgrading)
  }
  if (countOrphans() > before) {
    throw unusable('the database holds records that point at nothing')
  }
}
