import type { Database } from 'bun:sqlite'
import type { CopyNote } from '../../src/domain/copy-note'
import { copyNoteName, parseCopyNote } from '../move/copy-note'

/** Under which name the settings have what the server listens on. */
export const serverName = 'server'

/** What the database notes of itself under a name. */
export function readSetting(database: Database, name: string): Uint8Array | undefined {
  const select = database.query<{ value: Uint8Array }, [string]>('SELECT value FROM settings WHERE name = ?')
  return select.get(name)?.value
}

/** Notes a text under a name, in place of what was there. */
export function writeSetting(database: Database, name: string, value: string | Uint8Array): void {
  const put = 'INSERT INTO settings (name, value) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET value = ?2'
  database.query(put).run(name, Buffer.from(value))
}

/** Takes a note away. */
export function removeSetting(database: Database, name: string): void {
  database.query('DELETE FROM settings WHERE name = ?').run(name)
}

/** Where the database notes that it was copied to; null for nowhere. */
export function readCopyNote(database: Database): CopyNote | null {
  return parseCopyNote(readSetting(database, copyNoteName))
}
