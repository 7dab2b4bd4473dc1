import { requireActive } from '../../src/domain/copy-note'
import type { Purpose } from '../../src/domain/database'
import { Refusal } from '../../src/domain/errors'
import type { MasterKey } from '../../src/domain/vault'
import { unusable } from '../findings/unusable'
import { dataKeyName } from '../sealed/data-key'
import { type Connection, inTransaction } from './client/connection'
import { DatabaseFailure, openingRefusal } from './client/failure'
import type { OnConnection } from './client/pool'
import { openVault } from './data-key'
import { taking } from './locks'
import {
  createSchema,
  type Migration,
  olderSchema,
  ourMigrations,
  proveMigrations,
  schemaOf,
  upgradeSchema,
} from './migration'
import { type Recognized, recognize } from './recognize'
import { readCopyNote, readSetting } from './setting'

/** How a database is to be opened. */
export interface Opening {
  /** Its address, as it may be shown. */
  readonly name: string
  readonly purpose: Purpose
  /** Gives the master key, once the database is known to be none of a stranger's. */
  readonly takeKey: () => Promise<MasterKey>
  /** Whether to make the tables if there are none. */
  readonly create: boolean
  /** Whether to bring an older schema up to date. */
  readonly upgrade: boolean
  /** Whether a server opens it. */
  readonly alone: boolean
}

/** What was found when a database was opened. */
export interface OpenedDatabase {
  readonly masterKey: MasterKey
  /** Newer than the program's own where nodes of two releases work side by side. */
  readonly schema: number
  /** Whether an older schema was brought up to date. */
  readonly isUpgraded: boolean
}

/** How long opening waits for another process that makes or upgrades the database. */
const lockMillis = 5_000
const openingMillis = 15_000
/** An upgrade of a large database takes its time. */
const upgradeMillis = 6 * 60 * 60 * 1_000
/**
 * How long an upgrade waits for tables that others work with, since all who come to those after it wait behind it; and for how
 * long it tries that again, with a pause in which they have their turn.
 */
const [tableMillis, tryingMillis, pauseMillis] = [200, 10_000, 500]

/**
 * Opens the database that connections lead to: makes its tables, or holds it to what was noted when they were made, before
 * anything of it is changed.
 *
 * @param migrations the program's own, unless given
 * @throws Refusal database_unusable for a server that does not do, what is no database of ours, one that was left for its
 *   copy, a newer schema, an older one that is not to be upgraded, other migrations, another purpose, or another master key
 *   than it was sealed under; storage_busy if another process holds it for too long; whatever `takeKey` throws
 */
export async function openDatabase(
  on: OnConnection,
  opening: Opening,
  migrations: readonly Migration[] = ourMigrations,
): Promise<OpenedDatabase> {
  try {
    const found = await on(look, openingMillis)
    if (!found && !opening.create) throw none(opening)
    if (found) requirePurpose(found, opening)
    if (found && opening.alone) await on(requireNotCopied, openingMillis)
    const masterKey = await opening.takeKey()
    if (!found) await on((connection) => make(connection, opening, masterKey, migrations), openingMillis)
    const deadlineMillis = opening.upgrade ? upgradeMillis : openingMillis
    return await untilFree(() =>
      on((connection) => setUp(connection, opening, masterKey, migrations), deadlineMillis),
    )
  } catch (error) {
    throw openingRefusal(error, opening.name)
  }
}

/** What a database notes of itself; null for one without tables. @throws Refusal database_unusable */
export function look(connection: Connection): Promise<Recognized | null> {
  return inTransaction(connection, ['SET LOCAL statement_timeout = 10000'], () => recognize(connection))
}

/** Waits for a copy that is being made: it holds the lock until the database is marked. @throws Refusal database_unusable */
function requireNotCopied(connection: Connection): Promise<void> {
  const first = [`SET LOCAL lock_timeout = ${lockMillis}`, taking('audit')]
  return inTransaction(connection, first, async () => requireActive(await readCopyNote(connection)))
}

/** Two first starts at once: one makes the tables, the other finds them. */
function make(
  connection: Connection,
  { purpose }: Opening,
  masterKey: MasterKey,
  migrations: readonly Migration[],
): Promise<void> {
  return inTransaction(connection, alone(openingMillis), async () => {
    if (await recognize(connection)) return
    await createSchema(connection, purpose, masterKey, migrations)
  })
}

/** The first message of whoever makes or changes tables, one at a time. @param idleMillis how long it may wait for itself */
export function alone(statementMillis: number, idleMillis = openingMillis): string[] {
  return [
    `SET LOCAL lock_timeout = ${lockMillis}`,
    `SET LOCAL statement_timeout = ${statementMillis}`,
    // Whatever the role was set to: between two steps the process may have other things to do.
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
  const schema = await inTransaction(connection, [], () =>
    proveAll(connection, opening, masterKey, migrations),
  )
  if (schema >= migrations.length) return { masterKey, schema, isUpgraded: false }
  if (!opening.upgrade) throw olderSchema(schema, migrations)
  const isUpgraded = await inTransaction(connection, alone(upgradeMillis), async () => {
    const from = await proveAll(connection, opening, masterKey, migrations)
    await connection.send(`SET LOCAL lock_timeout = ${tableMillis}`)
    if (from < migrations.length) await upgradeSchema(connection, from, migrations)
    return from < migrations.length
  })
  return { masterKey, schema: migrations.length, isUpgraded }
}

/** @throws Refusal storage_busy that says what is waited for, where it does not become free in time */
async function untilFree<T>(work: () => Promise<T>): Promise<T> {
  const beganAt = performance.now()
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof DatabaseFailure && error.code === '55P03')) throw error
      if (performance.now() - beganAt > tryingMillis)
        throw new Refusal('storage_busy', inUse, { cause: error })
    }
    await new Promise((resolve) => setTimeout(resolve, pauseMillis))
  }
}

const inUse =
  'others hold what the upgrade needs: another upgrade, or a transaction that reads its tables, as a dump does; nothing was changed, ' +
  'try again once they have ended'

/** Tells the schema of a database whose purpose is as it should be. @throws Refusal database_unusable */
export async function requireFound(
  connection: Connection,
  opening: Pick<Opening, 'name' | 'purpose'>,
): Promise<number> {
  const found = await look(connection)
  if (!found) throw none(opening)
  requirePurpose(found, opening)
  return schemaOf(found.schema)
}

/** Tells the schema of a database that is held to what it notes, in the transaction that is open. */
export async function proveAll(
  connection: Connection,
  opening: Pick<Opening, 'name' | 'purpose'>,
  masterKey: MasterKey,
  migrations: readonly Migration[],
): Promise<number> {
  const found = await recognize(connection)
  if (!found) throw none(opening)
  requirePurpose(found, opening)
  openVault(await readSetting(connection, dataKeyName), opening.purpose, masterKey)
  proveMigrations(found.schema, migrations)
  return schemaOf(found.schema)
}

function requirePurpose(found: Recognized, { purpose }: Pick<Opening, 'purpose'>): void {
  if (found.purpose !== purpose) throw unusable(`the database is not a ${purpose} database`)
}

function none({ name }: Pick<Opening, 'name'>): Refusal {
  return unusable(`there is no database at ${name}; anteroom init makes one`)
}
