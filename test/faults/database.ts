import { Database } from 'bun:sqlite'

/** Returns the faults that integrity_check and foreign_key_check find. No other process may have the database open. */
export function faultsIn(path: string): string[] {
  const database = new Database(path)
  const pages = database.query<{ integrity_check: string }, []>('PRAGMA integrity_check').all()
  const orphans = database.query('PRAGMA foreign_key_check').all()
  database.close()
  return [
    ...pages.map(({ integrity_check: line }) => line).filter((line) => line !== 'ok'),
    ...orphans.map((row) => JSON.stringify(row)),
  ]
}

/** The number that a query returns, or null if the database cannot be read. */
export function ask(path: string, query: string): number | null {
  try {
    const database = new Database(path, { readonly: true })
    try {
      return Object.values(database.query<Record<string, number>, []>(query).get() ?? {})[0] ?? null
    } finally {
      database.close()
    }
  } catch {
    return null
  }
}
