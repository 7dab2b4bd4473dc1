import { getTableColumns, getTableName, is } from 'drizzle-orm'
import { PgTable } from 'drizzle-orm/pg-core'
import type { CopiedTable } from '../../src/domain/moment'
import { copiedNames, engineTable, portionStatement, portionsOf, tableNamed } from '../move/tables'
import type { Connection } from './client/connection'
import { atPlace } from './copy-failure'
import * as schema from './schema'

const declared = Object.values(schema).flatMap((value) => (is(value, PgTable) ? [value] : []))

/** What goes from this engine to another, and back. */
export const copiedTables = copiedNames.map((name) => {
  const table = declared.find((each) => getTableName(each) === name)
  return engineTable(name, Object.values(getTableColumns(table as PgTable)))
})

/**
 * The records of a table, in the transaction that is open.
 *
 * @param place the database's name, for whoever is told of a failure
 */
export function rowsOf(connection: Connection, place: string, { name }: CopiedTable) {
  const table = tableNamed(copiedTables, name)
  return portionsOf(table, (isFirst, values) => {
    const statement = portionStatement(table, isFirst, (n) => `$${n}`)
    return atPlace(place, connection.run(statement, values))
  })
}
