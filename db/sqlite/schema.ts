import { sqliteColumns, tablesOf } from '../queries/tables'

export const tables = tablesOf(sqliteColumns)
