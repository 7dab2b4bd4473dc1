import { getTableColumns, getTableName, is } from 'drizzle-orm'
import { SQLiteTable } from 'drizzle-orm/sqlite-core'
import { copiedNames, engineTable } from '../move/tables'
import * as schema from './schema'

const declared = Object.values(schema).flatMap((value) => (is(value, SQLiteTable) ? [value] : []))

/** What goes from this engine to another, and back. */
export const copiedTables = copiedNames.map((name) => {
  const table = declared.find((each) => getTableName(each) === name)
  return engineTable(name, Object.values(getTableColumns(table as SQLiteTable)))
})
