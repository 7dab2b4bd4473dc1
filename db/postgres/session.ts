import { fillPlaceholders, getTableName, sql } from 'drizzle-orm'
import { bigint, boolean, customType, pgTable, text } from 'drizzle-orm/pg-core'
import { drizzle } from 'drizzle-orm/pg-proxy'
import type { Vault } from '../../src/domain/ports/vault'
import { type QueryEngine, type Values, whenNeeded } from '../queries/engine'
import { prepareQueries } from '../queries/queries'
import { type ColumnTypes, tablesOf } from '../queries/tables'
import type { Connection } from './client/connection'
import { submissionQueries } from './submission-facts'

const whole = (name: string) => bigint(name, { mode: 'number' })

/** PostgreSQL's columns, cast to SQLite's types. Both engines thus share one set of queries. */
const columnTypes = {
  table: pgTable,
  generatedId: (name = 'id') => whole(name).primaryKey().generatedByDefaultAsIdentity(),
  ownId: (name = 'id') => whole(name).primaryKey(),
  whole,
  flag: (name: string) => boolean(name),
  bytes: customType<{ data: Buffer }>({ dataType: () => 'bytea' }),
  text: (name: string) => text(name),
  rate: customType<{ data: number | 'off'; driverData: number | string }>({
    dataType: () => 'bigint',
    toDriver: (rate) => (rate === 'off' ? 0 : rate),
    fromDriver: (stored) => (Number(stored) === 0 ? 'off' : Number(stored)),
  }),
} as unknown as ColumnTypes

export const tables = tablesOf(columnTypes)

export function openSession(connection: Connection, vaultOf: () => Vault) {
  const engine = queryEngine((text, params) => connection.run(text, params))
  return {
    connection,
    ...prepareQueries(engine, vaultOf),
    submissions: whenNeeded(() => submissionQueries(connection, vaultOf())),
  }
}

export type Session = ReturnType<typeof openSession>

type Run = (text: string, params: readonly unknown[]) => Promise<unknown[][]>

interface Preparing {
  prepare(name: string): { execute(values?: Values): Promise<object[]> }
}

export function queryEngine(run: Run): QueryEngine {
  const prepare = (query: unknown) => {
    const statement = (query as Preparing).prepare('')
    return (values?: Values) => statement.execute(values)
  }
  return {
    db: drizzle(async (text, params) => ({ rows: await run(text, params) })) as unknown as QueryEngine['db'],
    tables,
    prepare: prepare as QueryEngine['prepare'],
    prepareArrays(query) {
      const statement = prepare(query)
      return async (values) => (await statement(values)).map(Object.values)
    },
    prepareWrite(query) {
      const { sql: statement, params } = query.toSQL()
      // Not async: `run` must be called at once, so that statements are sent in order.
      return (values = {}) => run(statement, fillPlaceholders(params, values)).then(() => 0)
    },
    takeIds(table, count) {
      if (count === 0) return []
      const sequence = `${getTableName(tables[table])}_id_seq`
      const taken = run('select nextval($1) from generate_series(1, $2::int4)', [sequence, count])
      return taken.then((rows) => rows.map(([id]) => Number(id)))
    },
    isAmong: (column, list) => sql`${column} = any(${list})`,
    list: (values) => `{${values.map(toElement).join()}}`,
    greatest: (one, other) => sql`greatest(${one}, ${other})`,
    overlaps: ({ startsAt, endsAt }, from, until) =>
      sql`int8range(${startsAt}, ${endsAt}) && int8range(${from}, ${until})`,
    jsonRows: (columns, order) =>
      sql`coalesce(json_agg(json_build_array(${columns}) order by ${order}), '[]')::text`,
  }
}

/** Returns an array element. A number that is not a safe integer becomes NULL, which matches no row. */
function toElement(value: number | string | Uint8Array): string {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? String(value) : 'NULL'
  if (typeof value === 'string') return JSON.stringify(value)
  return `"\\\\x${Buffer.from(value).toString('hex')}"`
}
