import { sql } from 'drizzle-orm'
import { bigint, boolean, customType, pgTable, text } from 'drizzle-orm/pg-core'
import type { QueryEngine, Values } from '../queries/engine'
import { type ColumnTypes, tablesOf } from '../queries/tables'
import { drizzleOn, type Run } from './drizzle'

const whole = (name: string) => bigint(name, { mode: 'number' })

/** PostgreSQL's column types, under the types of SQLite's. */
const columns = {
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

export const tables = tablesOf(columns)

/** A query as PostgreSQL's builder has it. */
interface Preparing {
  prepare(name: string): { execute(values?: Values): Promise<object[]> }
}

/** What queries need of PostgreSQL. @param run runs one statement, inside whatever transaction is open */
export function queryEngine(run: Run): QueryEngine {
  const prepare = (query: unknown) => {
    const statement = (query as Preparing).prepare('')
    return (values?: Values) => statement.execute(values)
  }
  return {
    db: drizzleOn(run) as unknown as QueryEngine['db'],
    tables,
    prepare: prepare as QueryEngine['prepare'],
    prepareArrays(query) {
      const statement = prepare(query)
      return async (values) => (await statement(values)).map(Object.values)
    },
    prepareWrite(query) {
      const statement = prepare(query)
      // Ids are taken from their sequence before rows are inserted.
      return async (values) => {
        await statement(values)
        return 0
      }
    },
    isAmong: (column, list) => sql`${column} = any(${list})`,
    list: (values) => `{${values.map(toElement).join()}}`,
    greatest: (one, other) => sql`greatest(${one}, ${other})`,
  }
}

/** A value of an array literal. A number that no column can hold equals none. */
function toElement(value: number | string | Uint8Array): string {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? String(value) : 'NULL'
  if (typeof value === 'string') return JSON.stringify(value)
  return `"\\\\x${Buffer.from(value).toString('hex')}"`
}
