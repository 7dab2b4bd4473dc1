import { getTableColumns, getTableName } from 'drizzle-orm'
import type { SQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core'
import { generationName } from '../queries/requests/partner-requests'
import { sqliteColumns, type Tables, tablesOf } from '../queries/tables'
import { dataKeyName } from '../sealed/data-key'

export interface CopiedColumn {
  readonly name: string
  readonly kind: 'flag' | 'number' | 'text' | 'bytes'
}

export interface CopiedTable {
  readonly name: string
  readonly columns: readonly CopiedColumn[]
  /** The primary key column, or all columns if no single column is the primary key. */
  readonly key: readonly string[]
  readonly generatesIds: boolean
}

/** Leaves out the change feed. It is not needed, because a node loads the whole directory when it starts. */
const { changes: _, ...copied }: Tables = tablesOf(sqliteColumns)

/** In foreign key order: a row references only rows of earlier tables. */
export const copiedTables: readonly CopiedTable[] = Object.values(copied).map(describe)

export function tableNamed(name: string): CopiedTable {
  const table = copiedTables.find((each) => each.name === name)
  if (!table) throw new Error(`there is no table ${name}`)
  return table
}

function describe(table: SQLiteTable): CopiedTable {
  const columns: SQLiteColumn[] = Object.values(getTableColumns(table))
  const primary = columns.filter((column) => column.primary)
  return {
    name: getTableName(table),
    columns: columns.map((column) => ({ name: column.name, kind: kindOf(column) })),
    key: (primary.length > 0 ? primary : columns).map((column) => column.name),
    generatesIds: primary.some((column) => 'autoIncrement' in column && column.autoIncrement === true),
  }
}

function kindOf(column: SQLiteColumn): CopiedColumn['kind'] {
  if (column.dataType === 'boolean') return 'flag'
  const type = column.getSQLType()
  if (type === 'text') return 'text'
  return type === 'blob' ? 'bytes' : 'number'
}

/** A copy includes only these settings. All other settings belong to the original database. */
const copiedSettings = [dataKeyName, 'purpose', 'zone_data', generationName]

export const isCopiedSetting = `name IN ('${copiedSettings.join("', '")}')`
