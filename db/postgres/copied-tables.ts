import { getTableColumns, getTableName, is } from 'drizzle-orm'
import { PgTable } from 'drizzle-orm/pg-core'
import type { CopiedTable } from '../../src/domain/moment'
import {
  copiedNames,
  type EngineTable,
  engineTable,
  portionStatement,
  portionsOf,
} from '../records/copied-tables'
import type { Connection } from './connection'
import { atPlace } from './copy-failure'
import * as schema from './schema'

const declared = Object.values(schema).flatMap((value) => (is(value, PgTable) ? [value] : []))

/** What goes from this engine to another, and back. */
export const copiedTables = copiedNames.map((name) => {
  const table = declared.find((each) => getTableName(each) === name)
  return engineTable(name, Object.values(getTableColumns(table as PgTable)))
})

/** The table of this engine that has a name. */
export function engineTableOf({ name }: CopiedTable): EngineTable {
  const table = copiedTables.find((each) => each.name === name)
  if (!table) throw new Error(`no table goes by the name ${name}`)
  return table
}

/**
 * The records of a table, in the transaction that is open.
 *
 * @param place the database's name, for whoever is told of a failure
 */
export function rowsOf(connection: Connection, place: string, named: CopiedTable) {
  const table = engineTableOf(named)
  return portionsOf(table, (isFirst, values) => {
    const statement = portionStatement(table, isFirst, (n) => `$${n}`)
    return atPlace(place, connection.run(statement, values))
  })
}
