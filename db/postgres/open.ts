import { Refusal } from '../../src/domain/errors'
import { type Purpose, requireActive } from '../../src/domain/ports/database-copy'
import { pause } from '../../src/domain/ports/time'
import type { MasterKey, Vault } from '../../src/domain/ports/vault'
import { unusable } from '../findings/findings'
import { generationName, newGeneration } from '../queries/requests/partner-requests'
import { requirePurpose, settingsOver } from '../settings'
import { type Connection, inTransaction } from './client/connection'
import { DatabaseFailure, openingRefusal } from './client/failure'
import type { OnConnection } from './client/pool'
import { taking } from './locks'
import {
  createSchema,
  type Migration,
  olderDatabase,
  ourMigrations,
  requireMigrations,
  upgradeSchema,
} from './migration'
import { type Recognized, recognize } from './server/recognize'

interface Named {
  /** The address without its password. */
  readonly name: string
  readonly purpose: Purpose
}

export interface Opening extends Named {
  /** Called only for an empty database or a database of this program. */
  readonly takeKey: () => Promise<MasterKey>
  /** Creates the tables of an empty database. */
  readonly create: boolean
  readonly upgrade: boolean
  /** True for a node, false for a command. */
  readonly alone: boolean
}

export interface OpenedDatabase {
  readonly masterKey: MasterKey
  readonly vault: Vault
  /** During a rolling upgrade, the database may have a newer schema than this program. */
  readonly schema: number
  readonly isUpgraded: boolean
}

/** Maximum wait in ms for another process that creates or upgrades the database. */
const lockMillis = 5_000
const openingMillis = 15_000
const upgradeMillis = 6 * 60 * 60 * 1_000
/** Lock timeout of an upgrade step, in ms. Short, because all other statements wait behind the step. */
const tableMillis = 200
/** In ms: the maximum time for all attempts to upgrade, and the pause between two attempts. */
const [tryingMillis, pauseMillis] = [10_000, 500]

/**
 * Creates the tables, or checks the existing database before any change.
 * @throws Refusal database_unusable in each of these cases:
 *   - The server is not supported.
 *   - The database belongs to another program, or was copied to another place.
 *   - The schema is newer, or the schema is older and `upgrade` is false.
 *   - The database was created or upgraded with other migrations.
 *   - The database is for a sandbox instead of production, or the reverse.
 *   - The database belongs to another master key.
 * @throws Refusal storage_busy if another process blocks the database for too long
 * @throws errors of `takeKey`
 */
export async function openDatabase(
  on: OnConnection,
  opening: Opening,
  migrations: readonly Migration[] = ourMigrations,
): Promise<OpenedDatabase> {
  const { name, purpose, create, upgrade, alone } = opening
  try {
    const found = await on(recognize, openingMillis)
    if (!found && !create) throw none(name)
    if (found) requirePurpose(found.purpose, purpose)
    if (found && alone) await on(requireNotCopied, openingMillis)
    const masterKey = await opening.takeKey()
    const make = (connection: Connection) =>
      inTransaction(connection, migratingAlone(openingMillis), async () => {
        if (!(await recognize(connection))) await createSchema(connection, purpose, masterKey, migrations)
      })
    if (!found) await on(make, openingMillis)
    const deadlineMillis = upgrade ? upgradeMillis : openingMillis
    const opened = await untilFree(() =>
      on((connection) => setUp(connection, opening, masterKey, migrations), deadlineMillis),
    )
    if (alone) await on(forgetCursorsIfRestored, openingMillis)
    return opened
  } catch (error) {
    throw openingRefusal(error, name)
  }
}

const placeName = 'generation_place'

/** The cluster, the database and the timeline. A restore with the tools of PostgreSQL changes at least one of them. */
const readingPlace = (cluster: string) => `SELECT concat_ws('/', ${cluster},
  (SELECT oid FROM pg_database WHERE datname = current_database()), left(pg_walfile_name(pg_current_wal_lsn()), 8))`
const systemIdentifier = '(SELECT system_identifier FROM pg_control_system())'

/** Cursors of lost changes must not be valid in a restored database. */
async function forgetCursorsIfRestored(connection: Connection): Promise<void> {
  const settings = settingsOver(connection)
  const read = (cluster: string) => connection.run(readingPlace(cluster)).catch(() => null)
  // A managed server may forbid these functions, the first one more often.
  const [[place] = []] = (await read(systemIdentifier)) ?? (await read('NULL')) ?? []
  const known = await settings.readText(placeName)
  if (typeof place !== 'string' || place === known) return
  if (known !== null) await settings.write(generationName, newGeneration())
  await settings.write(placeName, place)
}

/** Waits for a running copy to end. @throws Refusal database_unusable if the database was copied */
function requireNotCopied(connection: Connection): Promise<void> {
  const first = [`SET LOCAL lock_timeout = ${lockMillis}`, taking('audit')]
  return inTransaction(connection, first, async () =>
    requireActive(await settingsOver(connection).readCopyNote()),
  )
}

/** First statements of a transaction that creates or changes tables. */
export function migratingAlone(statementMillis: number, idleMillis = openingMillis): string[] {
  return [
    `SET LOCAL lock_timeout = ${lockMillis}`,
    `SET LOCAL statement_timeout = ${statementMillis}`,
    `SET LOCAL idle_in_transaction_session_timeout = ${idleMillis}`,
    taking('migration'),
  ]
}

async function setUp(
  connection: Connection,
  opening: Opening,
  masterKey: MasterKey,
  migrations: readonly Migration[],
): Promise<OpenedDatabase> {
  const prove = () => proveDatabase(connection, opening, masterKey, migrations)
  const { schema, vault } = await prove()
  if (schema >= migrations.length) return { masterKey, vault, schema, isUpgraded: false }
  if (!opening.upgrade) throw olderDatabase(schema, migrations)
  const isUpgraded = await inTransaction(connection, migratingAlone(upgradeMillis), async () => {
    const { schema: from } = await prove()
    await connection.send(`SET LOCAL lock_timeout = ${tableMillis}`)
    if (from < migrations.length) await upgradeSchema(connection, from, migrations)
    return from < migrations.length
  })
  return { masterKey, vault, schema: migrations.length, isUpgraded }
}

/** Retries while other transactions hold locks. @throws Refusal storage_busy after the maximum time */
async function untilFree<T>(work: () => Promise<T>): Promise<T> {
  const endsAt = performance.now() + tryingMillis
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof DatabaseFailure && error.code === '55P03')) throw error
      if (performance.now() > endsAt) throw new Refusal('storage_busy', inUse, { cause: error })
    }
    await pause(pauseMillis)
  }
}

const inUse =
  'another program blocks the upgrade, for example another upgrade or a dump, so nothing was changed; ' +
  'try again when that program has ended'

/** @throws Refusal database_unusable if there is no database, or its purpose differs */
export async function requireDatabase(connection: Connection, { name, purpose }: Named): Promise<Recognized> {
  const found = await recognize(connection)
  if (!found) throw none(name)
  requirePurpose(found.purpose, purpose)
  return found
}

/** @throws Refusal database_unusable if the purpose, the master key or a migration differs */
export async function proveDatabase(
  connection: Connection,
  named: Named,
  masterKey: MasterKey,
  migrations: readonly Migration[],
): Promise<{ schema: number; vault: Vault }> {
  const found = await requireDatabase(connection, named)
  const vault = await settingsOver(connection).openVault(named.purpose, masterKey)
  requireMigrations(found, migrations)
  return { schema: found.schema, vault }
}

function none(name: string): Refusal {
  return unusable(`there is no database at ${name}`, 'check --database, or run anteroom init')
}
