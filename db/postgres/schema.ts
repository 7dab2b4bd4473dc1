import { bigint, boolean, customType, pgTable, text } from 'drizzle-orm/pg-core'
import { type ColumnTypes, tablesOf } from '../queries/tables'

const whole = (name: string) => bigint(name, { mode: 'number' })

/** PostgreSQL's column types, under the types of SQLite's. */
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
