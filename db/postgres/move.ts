import { formatState } from '../../src/domain/audit'
import type {
  AuditSpans,
  CopySource,
  CopyTarget,
  MakingTarget,
  ReadingSource,
} from '../../src/domain/database-copy'
import { Refusal } from '../../src/domain/errors'
import type { Vault } from '../../src/domain/vault'
import { auditHashes } from '../audit/hashes'
import { auditStateName } from '../audit/verification'
import { unusable } from '../findings/unusable'
import { copyNoteName, formatCopyNote } from '../move/copy-note'
import { constraintBroken, linesOf, quoted, readTables, verifyLog } from '../move/rows'
import { type CopiedTable, copiedTables, isCopiedSetting, tableNamed } from '../move/tables'
import { auditQueries } from '../queries/audit'
import { dataKeyName } from '../sealed/data-key'
import { type Connection, committing } from './client/connection'
import { DatabaseFailure, isBroken, type Meaning, unwrapped } from './client/failure'
import type { OnConnection } from './client/pool'
import { openVault } from './data-key'
import { taking } from './locks'
import { createSchema, olderSchema, ourMigrations } from './migration'
import { alone, proveAll, requireFound } from './open'
import { recognize } from './recognize'
import { hasLiveNodes } from './server/nodes'
import { queryEngine } from './session'
import { readCopyNote, readSetting, writeSetting } from './setting'
import { isLost, rollBack } from './transaction'

/** For a whole copy, for one statement, and for the other side between two statements. */
const [copyMillis, statementMillis, idleMillis] = [12 * 60 * 60_000, 30 * 60_000, 15 * 60_000]

/** How long to wait for an upgrade, or for a command that writes. */
const lockMillis = 5_000

const names = copiedTables.map(({ name }) => name).join(', ')

/** The tables are locked before the snapshot is taken: an upgrade that holds them belongs to it. */
const readingOneMoment = [
  'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY',
  `SET LOCAL lock_timeout = ${lockMillis}`,
  `SET LOCAL statement_timeout = ${statementMillis}`,
  `SET LOCAL idle_in_transaction_session_timeout = ${idleMillis}`,
  `LOCK TABLE ${names} IN ACCESS SHARE MODE`,
].join(';')

/** On a second connection, from before the snapshot until the source is marked. */
const blockingWriters = [
  `SET LOCAL lock_timeout = ${lockMillis}`,
  `SET LOCAL idle_in_transaction_session_timeout = ${copyMillis}`,
  taking('audit'),
  taking('directory'),
].join(';')

/** How a source ends: the part that writes. */
type Ending = Pick<CopySource, 'requireStopped' | 'markCopied'>

/**
 * Reads a database as of one moment.
 *
 * @param place the name of the database
 * @throws Refusal as openDatabase does; storage_busy while a server runs, unless that is allowed
 */
export async function readSource<T>(
  on: OnConnection,
  place: string,
  reading: ReadingSource,
  use: (source: CopySource) => Promise<T>,
): Promise<T> {
  requireOurSchema(await on((connection) => requireFound(connection, { name: place, ...reading })))
  const read = (ending: Ending) =>
    on(
      (connection) => readSnapshot(connection, place, reading, (source) => use({ ...source, ...ending })),
      copyMillis,
    )
  if (reading.whileServing) return read({ requireStopped: async () => {}, markCopied: async () => false })
  return on(async (connection) => {
    await requireStopped(connection)
    await connection.send(connection.begin + blockingWriters)
    const done = await read({
      requireStopped: () => at(place, () => requireStopped(connection)),
      markCopied: (note) => markCopied(connection, formatCopyNote(note)),
    })
    await rollBack(connection)
    return done
  }, copyMillis)
}

async function readSnapshot<T>(
  connection: Connection,
  place: string,
  { purpose, takeKey }: ReadingSource,
  use: (source: Omit<CopySource, keyof Ending>) => Promise<T>,
): Promise<T> {
  const masterKey = await takeKey()
  await connection.send(connection.begin + readingOneMoment)
  requireOurSchema(await proveAll(connection, { name: place, purpose }, masterKey, ourMigrations))
  const log = auditOn(connection, openVault(await readSetting(connection, dataKeyName), purpose, masterKey))
  const tables = await readTables(
    (text, params) => at(place, () => connection.run(text, params)),
    log,
    lastIdOf,
  )
  const done = await use({
    ...tables,
    verifyLog: () => at(place, tables.verifyLog),
    copiedBefore: await readCopyNote(connection),
  })
  // Everything was read: how the transaction ends does not matter.
  await rollBack(connection).catch(() => {})
  return done
}

/** An older program does not know all tables of a newer schema. */
function requireOurSchema(schema: number): void {
  if (schema < ourMigrations.length) throw olderSchema(schema, ourMigrations)
  if (schema > ourMigrations.length)
    throw unusable('the database has the schema of a newer version of this program: copy it with that one')
}

async function requireStopped(connection: Connection): Promise<void> {
  if (await hasLiveNodes(connection)) throw new Refusal('storage_busy', serving)
}

const serving =
  'a server works with the database that is copied, or did a moment ago: stop all of them first, so that nothing is booked ' +
  'there which the copy has not; or try the copy out with --while-serving'

/** The copy is complete even if the source cannot be marked: the role may have no right to write. */
async function markCopied(connection: Connection, note: string): Promise<boolean> {
  try {
    await writeSetting(connection, copyNoteName, note)
    await connection.send(committing)
    return true
  } catch (error) {
    if (error instanceof DatabaseFailure) return false
    throw error
  }
}

/** A sequence belongs to no snapshot: it may be ahead of the rows. */
function lastIdOf(table: string): string {
  const generated = `pg_sequence_last_value(pg_get_serial_sequence('${table}', 'id')::regclass)`
  return `greatest(${generated}, (SELECT max(id) FROM ${table}), 0)`
}

function auditOn(connection: Connection, vault: Vault) {
  return auditQueries(
    queryEngine((text, params) => connection.run(text, params)),
    vault,
  )
}

/**
 * Makes a database in one transaction: a process that is killed, or a connection that breaks, leaves nothing.
 *
 * @param place the name of the database
 * @throws Refusal database_unusable if there are tables; storage_busy if the server cannot be reached; whatever `fill` throws
 */
export async function makeTarget<T>(
  on: OnConnection,
  place: string,
  { purpose, masterKey, fill }: MakingTarget<T>,
): Promise<T> {
  return on(async (connection) => {
    await connection.send(connection.begin + alone(statementMillis, idleMillis).join(';'))
    if (await recognize(connection))
      throw unusable(`there is a database at ${place} already: name an empty one`)
    await createSchema(connection, purpose, masterKey, ourMigrations)
    await connection.send(`DELETE FROM settings WHERE ${isCopiedSetting}`)
    const target: CopyTarget = {
      add: (table, lines) => add(connection, tableNamed(table), lines),
      keepIds: (table, lastId) => keepIds(connection, table, lastId),
      linesOf: (table) => linesOf((text, params) => connection.run(text, params), table),
      async continueLog(spans) {
        const sealed = await readSetting(connection, dataKeyName)
        await continueLog(connection, openVault(sealed, purpose, masterKey), spans)
      },
    }
    const done = await at(place, () => fill(target))
    await connection.send(committing).catch((error) => {
      throw isLost(error) ? unknownEnd(place) : error
    })
    return done
  }, copyMillis)
}

function unknownEnd(place: string): Refusal {
  return unusable(
    `the connection to ${place} broke as the copy was finished: run the command again; it is refused if the copy is there, ` +
      'and complete then',
  )
}

/** Adds rows, within a savepoint: if a constraint stops them, they are added one by one to find the row that breaks it. */
async function add(connection: Connection, table: CopiedTable, lines: readonly string[]): Promise<void> {
  await connection.send('SAVEPOINT batch')
  try {
    const columns = quoted(table.columns.map(({ name }) => name))
    // As text first: the driver would quote a text that is a json parameter.
    const insert = `INSERT INTO ${table.name} (${columns})
      SELECT ${columns} FROM json_populate_recordset(NULL::${table.name}, $1::text::json)`
    await connection.run(insert, [`[${lines.join()}]`])
  } catch (error) {
    // Data exceptions and constraints (PostgreSQL, appendix A).
    if (!(error instanceof DatabaseFailure && /^2[23]/.test(error.code ?? ''))) throw error
    if (lines.length === 1) throw constraintBroken(table, lines[0] as string, error.constraint)
    await connection.send('ROLLBACK TO SAVEPOINT batch')
    for (const line of lines) await add(connection, table, [line])
  }
  await connection.send('RELEASE SAVEPOINT batch')
}

async function keepIds(connection: Connection, table: string, lastId: number): Promise<void> {
  if (lastId === 0) return
  await connection.run(`SELECT setval(pg_get_serial_sequence('${table}', 'id'), $1)`, [lastId])
}

async function continueLog(connection: Connection, vault: Vault, spans: AuditSpans): Promise<void> {
  // The planner would scan tables that it believes to be empty.
  await connection.send(`ANALYZE ${names}`)
  await writeSetting(connection, auditStateName, formatState(auditHashes(vault), spans))
  const log = auditOn(connection, vault)
  await verifyLog(log, 'the copy')
}

/** Failures that pass: the command can be run again. */
const passing = new Set<Meaning>(['lost', 'retry', 'busy', 'unreachable', 'readOnly'])

/** Adds to a failure at which of two databases it happened. @throws Refusal storage_busy or database_unusable */
async function at<T>(place: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const failure = unwrapped(error)
    if (!(failure instanceof DatabaseFailure)) throw failure
    const kind = passing.has(failure.meaning) ? 'storage_busy' : 'database_unusable'
    const what = isBroken(failure) ? 'the connection to the server broke' : failure.message
    throw new Refusal(kind, `${place}: ${what}; nothing was made`, { cause: failure })
  }
}
