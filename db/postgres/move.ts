import { Refusal, splitAction } from '../../src/domain/errors'
import type { CopyNote, CopySource, MakingTarget, ReadingSource } from '../../src/domain/ports/database-copy'
import { unusable } from '../findings/findings'
import { constraintBroken, quoted, sourceOver, targetOver } from '../move/rows'
import { type CopiedTable, copiedTables } from '../move/tables'
import { auditQueries } from '../queries/audit'
import { generationName, newGeneration } from '../queries/requests/partner-requests'
import { settingsOver } from '../settings'
import { hasQueued } from './audit-queue'
import { type Connection, committing } from './client/connection'
import { DatabaseFailure, isBroken, type Meaning, unwrapped } from './client/failure'
import type { OnConnection } from './client/pool'
import { taking } from './locks'
import { createSchema, olderDatabase, ourMigrations } from './migration'
import { migratingAlone, proveDatabase, requireDatabase } from './open'
import { hasLiveNodes } from './server/nodes'
import { recognize } from './server/recognize'
import { queryEngine } from './session'
import { isLost, rollBack } from './transaction'

/** Timeouts in ms: of the whole copy, of one statement, and between two statements. */
const [copyMillis, statementMillis, idleMillis] = [12 * 60 * 60_000, 30 * 60_000, 15 * 60_000]

/** Maximum wait in ms for a running upgrade, or for a command that writes. */
const lockMillis = 5_000

const names = copiedTables.map(({ name }) => name).join(', ')

/** Locks the tables before the snapshot is taken. A running upgrade then ends before the snapshot. */
const readingOneMoment = [
  'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY',
  `SET LOCAL lock_timeout = ${lockMillis}`,
  `SET LOCAL statement_timeout = ${statementMillis}`,
  `SET LOCAL idle_in_transaction_session_timeout = ${idleMillis}`,
  `LOCK TABLE ${names} IN ACCESS SHARE MODE`,
].join(';')

/** Statements that block writers. A second connection runs them before the copy. */
const blockingWriters = [
  `SET LOCAL lock_timeout = ${lockMillis}`,
  `SET LOCAL idle_in_transaction_session_timeout = ${copyMillis}`,
  taking('audit'),
  taking('directory'),
].join(';')

/** Reads one snapshot. @throws the refusals of openDatabase; Refusal storage_busy while a node runs */
export async function readSource<T>(
  on: OnConnection,
  place: string,
  reading: ReadingSource,
  use: (source: CopySource) => Promise<T>,
): Promise<T> {
  const found = await on((connection) => requireDatabase(connection, { name: place, ...reading }))
  requireOurSchema(found.schema)
  if (reading.whileServing) return on((reader) => readSnapshot(reader, null, place, reading, use), copyMillis)
  return on(async (blocker) => {
    await requireStopped(blocker)
    await blocker.send(blocker.begin + blockingWriters)
    const done = await on((reader) => readSnapshot(reader, blocker, place, reading, use), copyMillis)
    await rollBack(blocker)
    return done
  }, copyMillis)
}

/** @param blocker the connection that blocks writers; null if nodes keep running */
async function readSnapshot<T>(
  reader: Connection,
  blocker: Connection | null,
  place: string,
  { purpose, takeKey }: ReadingSource,
  use: (source: CopySource) => Promise<T>,
): Promise<T> {
  const masterKey = await takeKey()
  await reader.send(reader.begin + readingOneMoment)
  const { schema, vault } = await proveDatabase(reader, { name: place, purpose }, masterKey, ourMigrations)
  requireOurSchema(schema)
  const run = running(reader, place)
  const done = await use({
    ...(await sourceOver(run, auditQueries(queryEngine(run), vault), lastIdOf)),
    copiedBefore: await settingsOver(reader).readCopyNote(),
    async requireStopped() {
      if (blocker) await at(place, () => requireStopped(blocker))
    },
    markCopied: async (note) => blocker !== null && markCopied(blocker, note),
  })
  // A failed rollback is ignored, because all data was read.
  await rollBack(reader).catch(() => {})
  return done
}

/** Rejects another schema, which may have other tables. */
function requireOurSchema(schema: number): void {
  if (schema < ourMigrations.length) throw olderDatabase(schema, ourMigrations)
  if (schema > ourMigrations.length)
    throw unusable(
      'the database has the schema of a newer version of this program',
      'use that version to copy it',
    )
}

async function requireStopped(connection: Connection): Promise<void> {
  if (await hasLiveNodes(connection)) throw new Refusal('storage_busy', ...splitAction(serving))
  if (await hasQueued(connection)) throw new Refusal('storage_busy', ...splitAction(queued))
}

/** Only a server that was killed leaves such lines. Every command appends them. */
const queued =
  'a server was killed before it added its last audit lines to the log; run anteroom status on the source, then copy again'

const serving =
  'a server uses the source database, or did a moment ago; stop all servers first, or later bookings are missing from ' +
  'the copy. To try out the copy, use --while-serving'

/**
 * Returns false if the source cannot be marked, for example because the role lacks the privilege. The copy is still
 * complete.
 */
async function markCopied(connection: Connection, note: CopyNote): Promise<boolean> {
  try {
    await settingsOver(connection).markCopied(note)
    await connection.send(committing)
    return true
  } catch (error) {
    if (error instanceof DatabaseFailure) return false
    throw error
  }
}

/** Includes the sequence, because the new database must not reuse ids of deleted rows. */
function lastIdOf(table: string): string {
  const generated = `pg_sequence_last_value(pg_get_serial_sequence('${table}', 'id')::regclass)`
  return `greatest(${generated}, (SELECT max(id) FROM ${table}), 0)`
}

function running(connection: Connection, place: string) {
  return (text: string, params: readonly unknown[]) => at(place, () => connection.run(text, params))
}

/**
 * Runs in one transaction, so that an interruption leaves nothing.
 * @throws Refusal database_unusable if there are tables; storage_busy if the database server is unreachable
 */
export async function makeTarget<T>(
  on: OnConnection,
  place: string,
  { purpose, masterKey, whileServing, fill }: MakingTarget<T>,
): Promise<T> {
  return on(async (connection) => {
    await connection.send(connection.begin + migratingAlone(statementMillis, idleMillis).join(';'))
    if (await recognize(connection))
      throw unusable(`a database already exists at ${place}`, 'choose an empty one')
    await createSchema(connection, purpose, masterKey, ourMigrations)
    const run = running(connection, place)
    const target = await targetOver({
      run,
      add: (table, lines) => at(place, () => add(connection, table, lines)),
      keepIds: (table) => `SELECT setval(pg_get_serial_sequence('${table}', 'id'), $1)`,
      async openLog() {
        // Without statistics, the planner assumes that the tables are empty, and scans them.
        await run(`ANALYZE ${names}`, [])
        await run(keepPositions, [])
        return auditQueries(queryEngine(run), await settingsOver({ run }).openVault(purpose, masterKey))
      },
    })
    const done = await fill(target)
    if (whileServing) await settingsOver(connection).write(generationName, newGeneration())
    await connection.send(committing).catch((error) => {
      if (!isLost(error)) throw error
      throw unusable(
        `the connection to ${place} was lost while the copy was finished; run the command again. If the command reports ` +
          'that a database already exists, the copy is complete',
      )
    })
    return done
  }, copyMillis)
}

/** Adds rows in one statement. If a row violates a constraint, adds the rows one by one to find it. */
async function add(connection: Connection, table: CopiedTable, lines: readonly string[]): Promise<void> {
  await connection.send('SAVEPOINT batch')
  try {
    const columns = quoted(table.columns.map(({ name }) => name))
    // Cast from text, because the driver would quote a json parameter.
    const insert = `INSERT INTO ${table.name} (${columns})
      SELECT ${columns} FROM json_populate_recordset(NULL::${table.name}, $1::text::json)`
    await connection.run(insert, [`[${lines.join()}]`])
  } catch (error) {
    // Data exceptions and constraint violations (PostgreSQL, appendix A).
    if (!(error instanceof DatabaseFailure && /^2[23]/.test(error.code ?? ''))) throw error
    if (lines.length === 1) throw constraintBroken(table, lines[0] as string, error.constraint)
    await connection.send('ROLLBACK TO SAVEPOINT batch')
    for (const line of lines) await add(connection, table, [line])
  }
  await connection.send('RELEASE SAVEPOINT batch')
}

const keepPositions = `SELECT setval(pg_get_serial_sequence('request_positions', 'position'), max(position))
  FROM request_positions`

const passing = new Set<Meaning>(['lost', 'retry', 'busy', 'unreachable', 'readOnly'])

/** Adds the name of the database to a failure. @throws Refusal storage_busy or database_unusable */
async function at<T>(place: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const failure = unwrapped(error)
    if (!(failure instanceof DatabaseFailure)) throw failure
    const kind = passing.has(failure.meaning) ? 'storage_busy' : 'database_unusable'
    const what = isBroken(failure) ? 'the connection to the server was lost' : failure.message
    throw new Refusal(kind, `nothing was copied: ${place}: ${what}`, { cause: failure })
  }
}
