import { emptyAudit, formatState } from '../../src/domain/audit'
import type { Purpose } from '../../src/domain/database'
import type { MasterKey } from '../../src/domain/vault'
import { auditHashes } from '../audit/hashes'
import { auditStateName } from '../audit/verification'
import { unusable } from '../findings/unusable'
import type { Connection } from './client/connection'
import { addDataKey } from './data-key'
import first from './migrations/0001-schema.sql' with { type: 'text' }
import { hasLiveNodes } from './server/nodes'
import { writeSetting } from './setting'

/** One step of the schema. */
export interface Migration {
  readonly sql: string
  /**
   * Expand and contract: the oldest schema whose nodes may go on working once this step is made; its own number where none
   * of an older one may. A step that only adds what older nodes need not know leaves them be; what they read or write goes
   * in a later release.
   */
  readonly oldestBeside: number
}

/** In order; a database's schema is the number of those that it has had. Landed ones never change. */
export const ourMigrations: readonly Migration[] = [{ sql: first, oldestBeside: 1 }]

/** The schema that this program works with. */
export const currentSchema = ourMigrations.length

/** Under which names a database notes what it is. */
export const noted = { purpose: 'purpose', migrations: 'migrations', oldestBeside: 'oldest_beside' } as const

/** What a database notes of its schema. */
export interface Schema {
  /** SHA-256 of each migration that it has had, one behind the other. */
  readonly hashes: Uint8Array
  readonly oldestBeside: number
}

const hashBytes = 32

const hashOf = ({ sql }: Migration) => new Bun.CryptoHasher('sha256').update(sql).digest()
const hashesOf = (migrations: readonly Migration[]) => Buffer.concat(migrations.map(hashOf))

/** The number of migrations that a database has had. */
export function schemaOf({ hashes }: Schema): number {
  return hashes.length / hashBytes
}

/**
 * Holds the migrations that a database has had to be the program's. It may have had more than the program knows, where
 * the last of them lets older nodes go on: so nodes of two releases work side by side while one follows the other.
 *
 * @throws Refusal database_unusable if they are others, or newer ones that leave no room for this program
 */
export function proveMigrations(schema: Schema, migrations: readonly Migration[]): void {
  const ours = hashesOf(migrations)
  const isNewer = schema.hashes.length > ours.length
  if (isNewer && schema.oldestBeside > migrations.length)
    throw unusable('the database was written by a newer version of this program')
  const length = Math.min(ours.length, schema.hashes.length)
  if (ours.subarray(0, length).equals(schema.hashes.subarray(0, length))) return
  throw unusable('the database was made or upgraded by a build of this program with other migrations')
}

/** Makes the tables of a database that has none, in the transaction that is open. */
export async function createSchema(
  connection: Connection,
  purpose: Purpose,
  masterKey: MasterKey,
  migrations: readonly Migration[],
): Promise<void> {
  for (const { sql } of migrations) await connection.send(sql)
  await writeSetting(connection, noted.purpose, purpose)
  const vault = await addDataKey(connection, purpose, masterKey)
  await writeSetting(connection, auditStateName, formatState(auditHashes(vault), emptyAudit))
  await noteMigrations(connection, migrations)
}

/**
 * Brings an older database up to date, in the transaction that is open.
 *
 * @throws Refusal database_unusable while nodes are at work that could not go on beside it
 */
export async function upgradeSchema(
  connection: Connection,
  from: number,
  migrations: readonly Migration[],
): Promise<void> {
  const missing = migrations.slice(from)
  if (!missing.every(({ oldestBeside }) => oldestBeside <= from) && (await hasLiveNodes(connection)))
    throw unusable('the database has an older schema, and a server works with it: stop all of them first')
  for (const { sql } of missing) await connection.send(sql)
  await noteMigrations(connection, migrations)
}

/** What to do about an older schema. */
export function olderSchema(from: number, migrations: readonly Migration[]) {
  const mayGoOn = migrations.slice(from).every(({ oldestBeside }) => oldestBeside <= from)
  const way = mayGoOn ? 'run `anteroom migrate`' : 'stop its servers, then run `anteroom migrate`'
  return unusable(`the database has an older schema: ${way}`)
}

async function noteMigrations(connection: Connection, migrations: readonly Migration[]): Promise<void> {
  await writeSetting(connection, noted.migrations, hashesOf(migrations))
  const oldest = migrations.at(-1)?.oldestBeside ?? 0
  await writeSetting(connection, noted.oldestBeside, `${oldest}`)
}
