import { getTableColumns, getTableName } from 'drizzle-orm'
import type { SQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core'
import { sqliteColumns, type Tables, tablesOf } from '../queries/tables'
import { dataKeyName } from '../sealed/data-key'

export interface CopiedColumn {
  readonly name: string
  readonly kind: 'flag' | 'number' | 'text' | 'bytes'
}

export interface CopiedTable {
  readonly name: string
  readonly columns: readonly CopiedColumn[]
  /** The columns of its primary key. */
  readonly key: readonly string[]
  /** Whether the engine generates its ids. */
  readonly generatesIds: boolean
}

/** A copy starts with an empty change feed: each server loads the directory when it starts. */
const { changes: _, ...copied }: Tables = tablesOf(sqliteColumns)

/** The tables that are copied. A row refers to rows of earlier tables only. */
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

/** The settings that are copied. The others belong to one engine, server or place, for example its migrations. */
const copiedSettings = [dataKeyName, 'purpose', 'zone_data']

/** The condition of the rows that are copied. */
export const isCopiedSetting = `name IN ('${copiedSettings.join("', '")}')`
