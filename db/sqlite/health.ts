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
    lastBackupAt: lastBackup(database),
  }
}

const lastBackupName = 'last_backup_at'

/** Notes that a backup was made, in ms. */
export function noteBackup(database: Database, at: number): void {
  database
    .query('INSERT INTO settings (name, value) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET value = ?2')
    .run(lastBackupName, Buffer.from(String(at)))
}

function lastBackup(database: Database): number | null {
  const row = database
    .query<{ value: Uint8Array }, [string]>('SELECT value FROM settings WHERE name = ?')
    .get(lastBackupName)
  return row ? Number(Buffer.from(row.value).toString()) : null
}
