import type { Changes, Database } from 'bun:sqlite'
import { type Column, inArray, type Placeholder, sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/bun-sqlite'

/** Drizzle over an open database, on which queries are prepared once and run often. */
export function drizzleOn(database: Database) {
  return drizzle({ client: database })
}

export type Drizzle = ReturnType<typeof drizzleOn>

/**
 * The id that an insert gave, which the driver tells with it: to have SQLite return the row takes half as long again.
 *
 * @param inserted what running the insert gave, of which Drizzle's types know nothing
 */
export function addedId(inserted: unknown): number {
  return (inserted as Changes).lastInsertRowid as number
}

/** What a statement that is prepared once leaves open: each value is given by its name when the statement runs. */
export function placeholders<Name extends string>(...names: readonly Name[]) {
  return Object.fromEntries(names.map((name) => [name, sql.placeholder(name)])) as {
    readonly [N in Name]: Placeholder<N>
  }
}

/** Whether a column is among values that are left open: a list goes into a prepared statement as one text of JSON. */
export function isAmong(column: Column, values: Placeholder) {
  return inArray(column, sql`(select value from json_each(${values}))`)
}
