import type { Database } from 'bun:sqlite'
import { getTableColumns, sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/bun-sqlite'
import type { SQLiteTable } from 'drizzle-orm/sqlite-core'

/** Drizzle over an open database, on which queries are prepared once and run often. */
export function drizzleOn(database: Database) {
  return drizzle({ client: database })
}

export type Drizzle = ReturnType<typeof drizzleOn>

/**
 * The values of a statement that is prepared once: every column of a table but those left out, each to be
 * given by its name when the statement runs.
 */
export function columnPlaceholders<Table extends SQLiteTable>(
  table: Table,
  leftOut: readonly (keyof Table['$inferInsert'])[],
): Table['$inferInsert'] {
  const names = Object.keys(getTableColumns(table)).filter((name) => !leftOut.includes(name))
  return Object.fromEntries(names.map((name) => [name, sql.placeholder(name)])) as Table['$inferInsert']
}
