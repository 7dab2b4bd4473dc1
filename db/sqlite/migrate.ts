import type { Database } from 'bun:sqlite'
import type { SealedPlace, Vault } from '../../src/domain/vault'
import { isBusy } from './constraint'
import { copyDatabase } from './copy'
import {
  applicationId,
  countTransaction,
  newUserVersion,
  readPragma,
  readUserVersion,
  schemaOf,
  unusable,
} from './file-head'
import start from './migrations/0001-start.sql' with { type: 'text' }
import roomToGrow from './migrations/0002-room-to-grow.sql' with { type: 'text' }
import audit from './migrations/0003-audit.sql' with { type: 'text' }
import { rehashAudit } from './rehash-audit'
import { answersPlace, keyProofPlace, secretPlace } from './sealed'
import { readSetting } from './setting'

interface Migration {
  readonly sql: string
  /** What SQL cannot do, after it. */
  readonly work?: (database: Database, vault: Vault) => void
}

/** In order; a database's schema is the number of those that it has had. Landed ones never change. */
const migrations: readonly Migration[] = [
  { sql: start },
  { sql: roomToGrow, work: sealAnew },
  { sql: audit, work: rehashAudit },
]

/** The schema that this program works with. */
export const currentSchema = migrations.length

/** Whether the database of a file has an older schema. */
export function isOutdated(path: string): boolean {
  return schemaOf(readUserVersion(path)) < currentSchema
}

/** Where a database is kept as it was before it had this schema. */
export function copyPathOf(path: string): string {
  return `${path}.before-schema-${currentSchema}`
}

/** Makes the tables of a database that has none. Foreign keys must be off, as they are when a database is opened. */
export function createSchema(database: Database, vault: Vault): void {
  const create = database.transaction(() => {
    if (readPragma(database, 'user_version') !== 0) return
    migrate(database, vault, 0)
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
export function upgradeSchema(database: Database, path: string, vault: Vault): void {
  const schema = schemaOf(readPragma(database, 'user_version'))
  lockAlone(database)
  using copy = copyDatabase(database, copyPathOf(path), true)
  copy.publish()
  const upgrade = database.transaction(() => {
    migrate(database, vault, schema)
    countTransaction(database, currentSchema)
  })
  upgrade.immediate()
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

function migrate(database: Database, vault: Vault, from: number): void {
  const countOrphans = () => database.query('PRAGMA foreign_key_check').all().length
  // Those that were there before are doctor's to tell of.
  const before = from === 0 ? 0 : countOrphans()
  for (const { sql, work } of migrations.slice(from)) {
    database.run(sql)
    work?.(database, vault)
  }
  if (countOrphans() > before) {
    throw unusable('the database holds records that point at nothing')
  }
}

/**
 * What the first release sealed was bound to its record key alone; from here on to the place where it stands. What is
 * not what stands there stays as it is, and so opens nowhere.
 */
function sealAnew(database: Database, vault: Vault): void {
  const seal = (sealed: Uint8Array, place: SealedPlace, isRight: (plain: Uint8Array) => boolean) => {
    try {
      const plain = vault.openFirst(sealed, place.recordKey)
      return isRight(plain) ? vault.seal(plain, place) : sealed
    } catch {
      return sealed
    }
  }
  const keys = database.query<Sealed & { partnerId: number; kid: string }, []>(
    'SELECT id, record_key AS recordKey, partner_id AS partnerId, kid, sealed_secret AS sealed FROM partner_keys',
  )
  const setSecret = database.query('UPDATE partner_keys SET sealed_secret = ? WHERE id = ?')
  for (const key of keys.all()) setSecret.run(seal(key.sealed, secretPlace(key), isSecret), key.id)

  // Some at a time: all of them may be more than memory holds.
  const requests = database.query<Sealed, [after: number]>(
    `SELECT id, record_key AS recordKey, sealed_screening_answers AS sealed FROM booking_requests
     WHERE id > ? AND sealed_screening_answers IS NOT NULL ORDER BY id LIMIT 1000`,
  )
  const setAnswers = database.query('UPDATE booking_requests SET sealed_screening_answers = ? WHERE id = ?')
  for (let some = requests.all(0); some.length > 0; some = requests.all(some.at(-1)?.id as number)) {
    for (const { id, recordKey, sealed } of some) {
      setAnswers.run(seal(sealed, answersPlace(recordKey), isAnswers), id)
    }
  }

  const proof = readSetting(database, keyProofPlace.recordKey)
  const setProof = database.query("UPDATE settings SET value = ? WHERE name = 'key_proof'")
  if (proof) setProof.run(seal(proof, keyProofPlace, () => true))
}

interface Sealed {
  readonly id: number
  readonly recordKey: string
  readonly sealed: Uint8Array
}

const secretBytes = 32

/** A secret is random: answers that are as long as one are none. */
function isSecret(plain: Uint8Array): boolean {
  return plain.length === secretBytes && !isAnswers(plain)
}

function isAnswers(plain: Uint8Array): boolean {
  try {
    return Array.isArray(JSON.parse(Buffer.from(plain).toString()))
  } catch {
    return false
  }
}
