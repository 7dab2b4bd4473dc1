import { formatState } from '../../src/domain/audit'
import type { AuditSpans, CopiedRow, CopiedValue, MakingOfMoment } from '../../src/domain/moment'
import type { Vault } from '../../src/domain/vault'
import { auditHashes } from '../audit/hashes'
import { auditStateName } from '../audit/verification'
import { unusable } from '../findings/unusable'
import {
  brokenLog,
  copiedNames,
  type EngineTable,
  isCopiedSetting,
  quoted,
  ruleBroken,
  tableNamed,
} from '../move/tables'
import { auditQueries } from '../queries/audit'
import { dataKeyName } from '../sealed/data-key'
import { type Connection, committing } from './client/connection'
import { DatabaseFailure } from './client/failure'
import type { OnConnection } from './client/on-connection'
import { copiedTables, rowsOf } from './copied-tables'
import { atPlace, failureAt, isSilent } from './copy-failure'
import { openVault } from './data-key'
import { createSchema, ourMigrations } from './migration'
import { copyMillis } from './moment'
import { alone } from './open'
import { queryEngine } from './query-engine'
import { isLost } from './read'
import { recognize } from './recognize'
import { requireRights } from './server/rights'
import { readSetting, writeSetting } from './setting'

/**
 * Makes a database of what it is filled with, all in one transaction: a process that is killed, and a connection that breaks,
 * leave nothing.
 *
 * @param place the database's name
 * @throws Refusal database_unusable where there are tables; storage_busy where the server cannot be had; whatever `fill` throws
 */
export async function makeOfMoment<T>(
  on: OnConnection,
  place: string,
  making: MakingOfMoment<T>,
): Promise<T> {
  const { purpose, masterKey, fill } = making
  let isEnding = false
  const make = async (connection: Connection) => {
    await connection.send(connection.begin + alone(copyMillis.statement, copyMillis.idle).join(';'))
    if (await recognize(connection))
      throw unusable(`there is a database at ${place} already: name an empty one`)
    await requireRights(connection)
    await createSchema(connection, purpose, masterKey, ourMigrations)
    await connection.send(`DELETE FROM settings WHERE ${isCopiedSetting}`)
    const done = await fill({
      add: ({ name }, rows) => atPlace(place, add(connection, tableNamed(copiedTables, name), rows)),
      keepIds: ({ name }, lastId) => atPlace(place, keepIds(connection, name, lastId)),
      rowsOf: (table) => rowsOf(connection, place, table),
      async keepLog(spans) {
        const sealed = await atPlace(place, readSetting(connection, dataKeyName))
        await atPlace(place, keepLog(connection, openVault(sealed, purpose, masterKey), spans))
      },
    })
    isEnding = true
    await connection.send(committing)
    return done
  }
  try {
    return await on(make, copyMillis.all)
  } catch (error) {
    if (isEnding && isLost(error)) throw unknownEnd(place)
    throw isSilent(error) ? failureAt(place, error) : error
  }
}

function unknownEnd(place: string) {
  return unusable(
    `the connection to ${place} broke as the copy was finished, and nobody knows whether it is there: ` +
      'give the command again; it is refused if the copy is there, which is whole then',
  )
}

/** Within a savepoint, so that the record can be found at which it fails. */
async function add(connection: Connection, table: EngineTable, rows: readonly CopiedRow[]): Promise<void> {
  await connection.send('SAVEPOINT portion')
  try {
    await insert(connection, table, rows)
  } catch (error) {
    if (!isOfRecord(error)) throw error
    await connection.send('ROLLBACK TO SAVEPOINT portion')
    throw await findFault(connection, table, rows)
  }
  await connection.send('RELEASE SAVEPOINT portion')
}

/** Whether a record is what the server does not take. */
function isOfRecord(error: unknown): error is DatabaseFailure {
  return error instanceof DatabaseFailure && /^2[23]/.test(error.code ?? '')
}

async function findFault(
  connection: Connection,
  table: EngineTable,
  rows: readonly CopiedRow[],
): Promise<unknown> {
  for (const row of rows) {
    try {
      await insert(connection, table, [row])
    } catch (error) {
      return isOfRecord(error) ? ruleBroken(table, row, error.constraint) : error
    }
  }
  return unusable(`the server did not take ${table.name}; nothing was made`)
}

async function insert(
  connection: Connection,
  { name, columns }: EngineTable,
  rows: readonly CopiedRow[],
): Promise<void> {
  const records = rows.map((row) =>
    Object.fromEntries(columns.map((column, at) => [column, inJson(row[at] ?? null)])),
  )
  const names = quoted(columns)
  // As a text first: the client would put a json parameter that is a text into quotes.
  const statement = `INSERT INTO ${name} (${names})
    SELECT ${names} FROM json_populate_recordset(NULL::${name}, $1::text::json)`
  await connection.run(statement, [JSON.stringify(records)])
}

/** Bytes as the server reads them (PostgreSQL §8.4.1). */
function inJson(value: CopiedValue): string | number | boolean | null {
  return value instanceof Uint8Array ? `\\x${value.toHex()}` : value
}

async function keepIds(connection: Connection, table: string, lastId: number): Promise<void> {
  if (lastId === 0) return
  await connection.run(`SELECT setval(pg_get_serial_sequence('${table}', 'id'), $1)`, [lastId])
}

async function keepLog(connection: Connection, vault: Vault, spans: AuditSpans): Promise<void> {
  // What the planner takes to be empty it would read from end to end.
  await connection.send(`ANALYZE ${copiedNames.join(', ')}`)
  await writeSetting(connection, auditStateName, formatState(auditHashes(vault), spans))
  const log = auditQueries(
    queryEngine((text, params) => connection.run(text, params)),
    vault,
  )
  const verdict = await log.verify(null)
  if (!verdict.intact) throw brokenLog('the copy', verdict)
}
