import type { Database } from 'bun:sqlite'
import type { StoreHealth } from '../../src/domain/store'

const settings = ['journal_mode', 'synchronous', 'foreign_keys', 'secure_delete', 'application_id'] as const

/** What a database tells of itself, read back and not remembered. */
export function healthOf(database: Database): StoreHealth {
  const read = (pragma: string) =>
    database.query<Record<string, string | number>, []>(`PRAGMA ${pragma}`).all()
  const value = (pragma: string) => Object.values(read(pragma)[0] ?? {})[0] ?? ''
  return {
    schemaVersion: Number(value('user_version')),
    settings: Object.fromEntries(settings.map((name) => [name, value(name)])),
    faults: read('integrity_check')
      .map((row) => String(Object.values(row)[0]))
      .filter((line) => line !== 'ok'),
    orphans: read('foreign_key_check').length,
  }
}
