import type { Database } from 'bun:sqlite'

/** Under which name the settings have what the server listens on. */
export const serverName = 'server'

/** What the database notes of itself under a name. */
export function readSetting(database: Database, name: string): Uint8Array | undefined {
  const select = database.query<{ value: Uint8Array }, [string]>('SELECT value FROM settings WHERE name = ?')
  return select.get(name)?.value
}
