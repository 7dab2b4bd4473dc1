import { Database } from 'bun:sqlite'

/** What an integrity check and a check of references say against a database that nobody has open. */
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

/** The one number that a query asks of a database, or null while it cannot be asked. */
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
