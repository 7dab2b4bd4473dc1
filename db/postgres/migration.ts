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
import { hasLiveNodes } from './server/nodes'
import { oldestCompatibleName, type Recognized } from './server/recognize'

export interface Migration {
  readonly sql: string
  /**
   * Expand and contract: the oldest schema whose nodes may keep running after this step, or its own number if
   * none may. A step that only adds things keeps older nodes working. A later release removes what they use.
   */
  readonly oldestCompatible: number
}

/** In order. The schema number of a database is the number of its steps. A released step never changes. */
export const ourMigrations: readonly Migration[] = [{ sql: first, oldestCompatible: 1 }]

export const currentSchema = ourMigrations.length

/** Allows a newer schema that older nodes can run with. @throws Refusal database_unusable for other steps */
export function requireMigrations(found: Recognized, migrations: readonly Migration[]): void {
  if (found.schema > migrations.length && found.oldestCompatible > migrations.length) throw newerSchema()
  const known = found.hashes.subarray(0, migrations.length * hashBytes)
  requireSteps(known, textsOf(migrations.slice(0, found.schema)))
}

/** Creates the tables of an empty database, in the open transaction. */
export async function createSchema(
  connection: Connection,
  purpose: Purpose,
  masterKey: MasterKey,
  migrations: readonly Migration[],
): Promise<void> {
  await runSteps(connection, 0, migrations)
  await settingsOver(connection).writeFirst(purpose, masterKey)
}

/** In the open transaction. @throws Refusal database_unusable if running nodes could not keep working */
export async function upgradeSchema(
  connection: Connection,
  from: number,
  migrations: readonly Migration[],
): Promise<void> {
  if (!mayNodesGoOn(from, migrations) && (await hasLiveNodes(connection)))
    throw unusable('the database has an older schema, and a server works with it: stop all of them first')
  await runSteps(connection, from, migrations)
}

async function runSteps(
  connection: Connection,
  from: number,
  migrations: readonly Migration[],
): Promise<void> {
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
