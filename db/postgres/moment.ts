import type { CopyNote } from '../../src/domain/copy-note'
import { Refusal } from '../../src/domain/errors'
import type { Moment, ReadingMoment, TableAtMoment } from '../../src/domain/moment'
import type { MasterKey, Vault } from '../../src/domain/vault'
import { unusable } from '../findings/unusable'
import { copyNoteName, formatCopyNote } from '../move/copy-note'
import { brokenLog, type EngineTable, hasGivenIds, isCopiedSetting } from '../move/tables'
import { auditQueries } from '../queries/audit'
import { dataKeyName } from '../sealed/data-key'
import { type Connection, committing } from './client/connection'
import { DatabaseFailure } from './client/failure'
import { inTransaction, type OnConnection } from './client/on-connection'
import { copiedTables, rowsOf } from './copied-tables'
import { atPlace, failureAt, isSilent } from './copy-failure'
import { openVault } from './data-key'
import { taking } from './locks'
import { olderSchema, ourMigrations } from './migration'
import { proveAll, requireFound } from './open'
import { queryEngine } from './query-engine'
import { hasLiveNodes } from './server/nodes'
import { readCopyNote, readSetting, writeSetting } from './setting'
import { rollBack } from './transaction'

/** How long one of the steps of a copy may take, and how long the one side may wait for the other. */
export const copyMillis = { all: 12 * 60 * 60_000, statement: 30 * 60_000, idle: 15 * 60_000 }

/** For how long a copy waits for somebody who makes or upgrades the database, or writes to it. */
const lockMillis = 5_000

/**
 * The first message of a transaction that sees one moment to its end (snapshot isolation), and changes nothing. Its moment
 * begins once the tables are locked against whoever would change them, as an upgrade does.
 */
const oneMoment = [
  'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY',
  `SET LOCAL lock_timeout = ${lockMillis}`,
  `SET LOCAL statement_timeout = ${copyMillis.statement}`,
  `SET LOCAL idle_in_transaction_session_timeout = ${copyMillis.idle}`,
  `LOCK TABLE ${copiedTables.map(({ name }) => name).join(', ')} IN ACCESS SHARE MODE`,
]

/**
 * The first message of a transaction that holds up everybody who writes, from before the moment until its copy is noted. It
 * does nothing while the moment is read, on another connection, which sees nothing that is later than itself.
 */
const holdingUp = [
  `SET LOCAL lock_timeout = ${lockMillis}`,
  `SET LOCAL idle_in_transaction_session_timeout = ${copyMillis.all}`,
  taking('audit'),
  taking('directory'),
]

/** How a moment ends. */
type Ending = Pick<Moment, 'requireAlone' | 'noteCopy'>

/**
 * Reads a database as of one moment. Unless a server may be at work, nobody writes meanwhile.
 *
 * @throws Refusal database_unusable as openDatabase does; storage_busy while a server is at work that is not to be
 */
export async function readMoment<T>(
  on: OnConnection,
  place: string,
  { purpose, takeKey, whileServing }: ReadingMoment,
  use: (moment: Moment) => Promise<T>,
): Promise<T> {
  const opening = { name: place, purpose }
  requireOurSchema(await on((connection) => requireFound(connection, opening)))
  if (!whileServing) await atPlace(place, on(requireNoServer))
  const masterKey = await takeKey()
  const read = (ending: Ending) => readOnce(on, { place, purpose, masterKey, ending }, use)
  return whileServing ? read(besideServers) : holdUp(on, place, read)
}

/** Whatever is stored meanwhile is not of the moment, and is not to be held up. */
const besideServers: Ending = { requireAlone: async () => {}, noteCopy: async () => false }

/** Does a work while nobody writes, and no server is at work. @throws Refusal storage_busy while one does, or is */
function holdUp<T>(on: OnConnection, place: string, work: (ending: Ending) => Promise<T>): Promise<T> {
  return on(async (connection) => {
    const requireAlone = () => atPlace(place, requireNoServer(connection))
    await connection.send(connection.begin + holdingUp.join(';'))
    await requireAlone()
    const done = await work({ requireAlone, noteCopy: (note) => noteCopy(connection, note) })
    await rollBack(connection)
    return done
  }, copyMillis.all)
}

async function noteCopy(connection: Connection, note: CopyNote): Promise<boolean> {
  try {
    await writeSetting(connection, copyNoteName, formatCopyNote(note))
    await connection.send(committing)
    return true
  } catch (error) {
    // The role may read alone, say: the copy is whole all the same.
    if (error instanceof DatabaseFailure) return false
    throw error
  }
}

/** What is read, under which key, and how that ends. */
interface Reading {
  readonly place: string
  readonly purpose: ReadingMoment['purpose']
  readonly masterKey: MasterKey
  readonly ending: Ending
}

async function readOnce<T>(
  on: OnConnection,
  { place, purpose, masterKey, ending }: Reading,
  use: (moment: Moment) => Promise<T>,
): Promise<T> {
  const opening = { name: place, purpose }
  let done: { readonly told: T } | undefined
  const read = (connection: Connection) =>
    inTransaction(connection, oneMoment, async () => {
      requireOurSchema(await proveAll(connection, opening, masterKey, ourMigrations))
      const vault = openVault(await readSetting(connection, dataKeyName), purpose, masterKey)
      done = { told: await use({ ...(await momentOf(connection, place, vault)), ...ending }) }
      return done
    })
  try {
    return (await on(read, copyMillis.all)).told
  } catch (error) {
    // How a transaction ends that has only read is nothing to whoever has read all.
    if (done) return done.told
    throw isSilent(error) ? failureAt(place, error) : error
  }
}

/** What an older program knows of a newer schema is not all of it. */
function requireOurSchema(schema: number): void {
  if (schema < ourMigrations.length) throw olderSchema(schema, ourMigrations)
  if (schema > ourMigrations.length)
    throw unusable('the database has the schema of a newer version of this program: copy it with that one')
}

async function requireNoServer(connection: Connection): Promise<void> {
  if (await hasLiveNodes(connection)) throw new Refusal('storage_busy', serving)
}

const serving =
  'a server works with the database that is copied, or did a moment ago: stop all of them first, so that nothing is booked ' +
  'there which the copy has not; or try the copy out with --while-serving'

async function momentOf(
  connection: Connection,
  place: string,
  vault: Vault,
): Promise<Omit<Moment, keyof Ending>> {
  const tables: TableAtMoment[] = []
  for (const table of copiedTables) tables.push(await atPlace(place, tableAtMoment(connection, table)))
  const { walked, verify } = auditQueries(
    queryEngine((text, params) => connection.run(text, params)),
    vault,
  )
  return {
    tables,
    copyNote: await atPlace(place, readCopyNote(connection)),
    rowsOf: (table) => rowsOf(connection, place, table),
    async proveLog() {
      const verdict = await atPlace(place, verify(null))
      if (!verdict.intact) throw brokenLog('the database', verdict)
      const { state } = await atPlace(place, Promise.resolve(walked.stand()))
      if (!state) throw brokenLog('the database', { id: 0, fault: 'its seal is missing' })
      return { acts: state.acts, refusals: state.refusals }
    },
  }
}

async function tableAtMoment(connection: Connection, table: EngineTable): Promise<TableAtMoment> {
  const { name, columns } = table
  const where = name === 'settings' ? `WHERE ${isCopiedSetting}` : ''
  const [row] = await connection.run(`SELECT count(*) FROM ${name} ${where}`, [])
  const lastId = hasGivenIds(table) ? await lastIdOf(connection, name) : null
  return { name, columns, rows: Number(row?.[0]), lastId }
}

/** A sequence is of no moment: it may have given more than the moment has records of. */
async function lastIdOf(connection: Connection, table: string): Promise<number> {
  const given = `pg_sequence_last_value(pg_get_serial_sequence('${table}', 'id')::regclass)`
  const [row] = await connection.run(`SELECT greatest(${given}, (SELECT max(id) FROM ${table}), 0)`, [])
  return Number(row?.[0])
}
