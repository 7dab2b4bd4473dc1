import type { Purpose } from '../../src/domain/ports/database-copy'
import type { MasterKey } from '../../src/domain/ports/vault'
import { unusable } from '../findings/findings'
import {
  hashBytes,
  hashesOf,
  migrationsName,
  newerSchema,
  olderSchema,
  requireSteps,
  settingsOver,
} from '../settings'
import type { Connection } from './client/connection'
import first from './migrations/0001-schema.sql' with { type: 'text' }
import second from './migrations/0002-safe.sql' with { type: 'text' }
import third from './migrations/0003-follow-up.sql' with { type: 'text' }
import { hasLiveNodes } from './server/nodes'
import { oldestCompatibleName, type Recognized } from './server/recognize'

export interface Migration {
  readonly sql: string
  /** Oldest compatible schema. Nodes of this schema may keep running after the step (expand and contract). */
  readonly oldestCompatible: number
}

/** Steps in order. The schema number of a database is the number of applied steps. A released step never changes. */
export const ourMigrations: readonly Migration[] = [
  { sql: first, oldestCompatible: 1 },
  { sql: second, oldestCompatible: 1 },
  { sql: third, oldestCompatible: 3 },
]

export const currentSchema = ourMigrations.length

/** @throws Refusal database_unusable if other steps were applied, or newer steps are not compatible */
export function requireMigrations(found: Recognized, migrations: readonly Migration[]): void {
  if (found.schema > migrations.length && found.oldestCompatible > migrations.length) throw newerSchema()
  const known = found.hashes.subarray(0, migrations.length * hashBytes)
  requireSteps(known, textsOf(migrations.slice(0, found.schema)))
}

/** Requires an open transaction on an empty database. */
export async function createSchema(
  connection: Connection,
  purpose: Purpose,
  masterKey: MasterKey,
  migrations: readonly Migration[],
): Promise<void> {
  await runSteps(connection, 0, migrations)
  await settingsOver(connection).writeFirst(purpose, masterKey)
}

/** Requires an open transaction. @throws Refusal database_unusable if running nodes are not compatible */
export async function upgradeSchema(connection: Connection, from: number, migrations: readonly Migration[]) {
  if (!mayNodesGoOn(from, migrations) && (await hasLiveNodes(connection)))
    throw unusable('the database has an older schema, but servers are running', 'stop all of them first')
  await runSteps(connection, from, migrations)
}

async function runSteps(connection: Connection, from: number, migrations: readonly Migration[]) {
  for (const { sql } of migrations.slice(from)) await connection.send(sql)
  const settings = settingsOver(connection)
  await settings.write(migrationsName, hashesOf(textsOf(migrations)))
  await settings.write(oldestCompatibleName, `${migrations.at(-1)?.oldestCompatible}`)
}

export function olderDatabase(from: number, migrations: readonly Migration[]) {
  const stop = mayNodesGoOn(from, migrations) ? '' : 'stop its servers, then '
  return olderSchema(`${stop}run \`anteroom migrate\``)
}

function mayNodesGoOn(from: number, migrations: readonly Migration[]): boolean {
  return migrations.slice(from).every(({ oldestCompatible }) => oldestCompatible <= from)
}

function textsOf(migrations: readonly Migration[]): string[] {
  return migrations.map(({ sql }) => sql)
}
