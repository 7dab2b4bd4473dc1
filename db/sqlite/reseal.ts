import type { Database } from 'bun:sqlite'
import type { Purpose } from '../../src/domain/database'
import { type MasterKey, newRecordKey, type SealedPlace, type Vault } from '../../src/domain/vault'
import { answersPlace, memberPlace, type SealedRequest, secretPlace } from '../sealed/binding'
import { emailHash, externalUserIdHash } from '../sealed/members'
import { addDataKey } from './data-key'
import { readSetting } from './setting'

/** A database that is being brought up to date. */
export interface Upgrading {
  readonly database: Database
  readonly purpose: Purpose
  readonly masterKey: MasterKey
}

/** What showed, in the first two schemas, that a master key is the database's own. */
export const proofPlace: SealedPlace = { table: 'settings', column: 'value', recordKey: 'key_proof' }

function formerAnswersPlace({ recordKey }: SealedRequest): SealedPlace {
  return { table: 'booking_requests', column: 'sealed_screening_answers', recordKey }
}

/**
 * What the first release sealed was bound to its record key alone; in the second schema to the place where it stands.
 * What is not what stands there stays as it is, and so opens nowhere.
 */
export function bindToPlaces({ database, masterKey: { vault } }: Upgrading): void {
  const bind = (sealed: Uint8Array, place: SealedPlace, isRight: (plain: Uint8Array) => boolean) =>
    unlessUnreadable(sealed, () => {
      const plain = vault.openFirst(sealed, place.recordKey)
      return isRight(plain) ? vault.seal(plain, place) : sealed
    })
  resealSecrets(database, (key) => bind(key.sealed, secretPlace(key), isSecret))
  resealAnswers(database, (request) => bind(request.sealed, formerAnswersPlace(request), isAnswers))
  const proof = readSetting(database, proofPlace.recordKey)
  const setProof = database.query("UPDATE settings SET value = ? WHERE name = 'key_proof'")
  if (proof) setProof.run(bind(proof, proofPlace, () => true))
}

/**
 * Everything that is sealed, under a data key instead of the master key itself; and all that is known of members, which
 * lay readable.
 */
export function sealMembers({ database, purpose, masterKey }: Upgrading): void {
  database
    .query('INSERT INTO settings VALUES (?, ?) ON CONFLICT DO NOTHING')
    .run('purpose', Buffer.from(purpose))
  database.run("DELETE FROM settings WHERE name = 'key_proof'")
  const vault = addDataKey(database, purpose, masterKey)
  const reseal = (sealed: Uint8Array, from: SealedPlace, to: SealedPlace) =>
    unlessUnreadable(sealed, () => vault.seal(masterKey.vault.open(sealed, from), to))
  resealSecrets(database, (key) => reseal(key.sealed, secretPlace(key), secretPlace(key)))
  resealAnswers(database, (request) =>
    reseal(request.sealed, formerAnswersPlace(request), answersPlace(request)),
  )
  const insert = database.query(
    `INSERT INTO new_members VALUES ($id, $recordKey, $partnerId, $externalUserIdHash, $emailHash, $active,
     $sealedExternalUserId, $sealedProfile, $createdAt, $updatedAt)`,
  )
  for (const member of rowsOf<FormerMember>(database, 'SELECT * FROM members WHERE id > ?')) {
    insert.run(prefixed(toSealedRow(vault, member)))
  }
  database.run("DELETE FROM sqlite_sequence WHERE name = 'new_members'")
  database.run(
    "INSERT INTO sqlite_sequence SELECT 'new_members', seq FROM sqlite_sequence WHERE name = 'members'",
  )
  database.run('DROP TABLE members')
  database.run('ALTER TABLE new_members RENAME TO members')
}

/** A member as they lay in the second schema: a profile in columns. */
interface FormerMember {
  readonly id: number
  readonly partner_id: number
  readonly external_user_id: string
  readonly active: number
  readonly email: string
  readonly folded_email: string
  readonly created_at: number
  readonly updated_at: number
}

function toSealedRow(vault: Vault, row: FormerMember) {
  const {
    id,
    partner_id: partnerId,
    external_user_id: externalUserId,
    active,
    folded_email: _,
    ...others
  } = row
  const { created_at: createdAt, updated_at: updatedAt, ...columns } = others
  const profile = Object.fromEntries(Object.entries(columns).map(([name, value]) => [camelCase(name), value]))
  const member = {
    recordKey: newRecordKey(),
    partnerId,
    externalUserIdHash: externalUserIdHash(vault, partnerId, externalUserId),
  }
  const seal = (text: string, column: Parameters<typeof memberPlace>[0]) =>
    vault.seal(Buffer.from(text), memberPlace(column, member))
  return {
    ...{ id, ...member, active, createdAt, updatedAt },
    emailHash: emailHash(vault, row.email),
    sealedExternalUserId: seal(externalUserId, 'sealed_external_user_id'),
    sealedProfile: seal(JSON.stringify(profile), 'sealed_profile'),
  }
}

function camelCase(column: string): string {
  return column.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
}

function prefixed(row: object) {
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [`$${name}`, value]))
}

interface SealedKey {
  readonly id: number
  readonly recordKey: string
  readonly partnerId: number
  readonly kid: string
  readonly sealed: Uint8Array
}

function resealSecrets(database: Database, reseal: (key: SealedKey) => Uint8Array): void {
  const set = database.query('UPDATE partner_keys SET sealed_secret = ? WHERE id = ?')
  const keys = rowsOf<SealedKey>(
    database,
    `SELECT id, record_key AS recordKey, partner_id AS partnerId, kid, sealed_secret AS sealed FROM partner_keys
     WHERE id > ?`,
  )
  for (const key of keys) set.run(reseal(key), key.id)
}

interface SealedAnswers extends SealedRequest {
  readonly id: number
  readonly sealed: Uint8Array
}

function resealAnswers(database: Database, reseal: (request: SealedAnswers) => Uint8Array): void {
  const set = database.query('UPDATE booking_requests SET sealed_screening_answers = ? WHERE id = ?')
  const requests = rowsOf<SealedAnswers>(
    database,
    `SELECT id, record_key AS recordKey, member_id AS memberId, submitted_at AS submittedAt,
     sealed_screening_answers AS sealed FROM booking_requests
     WHERE sealed_screening_answers IS NOT NULL AND id > ?`,
  )
  for (const request of requests) set.run(reseal(request), request.id)
}

/** The rows that a statement selects after an id. Some at a time: all of them may be more than memory holds. */
function* rowsOf<Row extends { readonly id: number }>(database: Database, select: string): Generator<Row> {
  const some = database.query<Row, [after: number]>(`${select} ORDER BY id LIMIT 1000`)
  for (let rows = some.all(0); rows.length > 0; rows = some.all(rows.at(-1)?.id as number)) yield* rows
}

/** What cannot be opened stays as it is: it opens nowhere, and stops nothing else. */
function unlessUnreadable(sealed: Uint8Array, reseal: () => Uint8Array): Uint8Array {
  try {
    return reseal()
  } catch {
    return sealed
  }
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
