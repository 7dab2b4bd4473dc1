import type { Database } from 'bun:sqlite'
import { drizzle } from 'drizzle-orm/bun-sqlite'

/** Drizzle over an open database, on which queries are prepared once and run often. */
export function drizzleOn(database: Database) {
  return drizzle({ client: database })
}

export type Drizzle = ReturnType<typeof drizzleOn>
