import type { CopyNote } from '../../src/domain/copy-note'
import { copyNoteName, parseCopyNote } from '../move/copy-note'
import type { Connection, Rows } from './client/connection'

/** What the database notes of itself under a name. */
export async function readSetting(connection: Connection, name: string): Promise<Uint8Array | undefined> {
  const [row] = await connection.run('SELECT value FROM settings WHERE name = $1', [name])
  return row?.[0] as Uint8Array | undefined
}

/** Notes a value under a name, in place of what was there. */
export async function writeSetting(
  connection: Connection,
  name: string,
  value: Uint8Array | string,
): Promise<void> {
  const put = 'INSERT INTO settings (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = $2'
  await connection.run(put, [name, Buffer.from(value as Uint8Array)])
}

/** Takes a note away. */
export async function removeSetting(connection: Connection, name: string): Promise<void> {
  await connection.run('DELETE FROM settings WHERE name = $1', [name])
}

/** Where the database notes that it was copied to; null for nowhere. */
export async function readCopyNote(connection: Connection): Promise<CopyNote | null> {
  return parseCopyNote(await readSetting(connection, copyNoteName))
}

/** The statement that reads the same with others in one message. */
export const selectCopyNote = `SELECT convert_from(value, 'UTF8') FROM settings WHERE name = '${copyNoteName}'`

/** What that statement told. */
export function copyNoteIn(rows: Rows | undefined): CopyNote | null {
  return parseCopyNote(rows?.[0]?.[0] as string | undefined)
}
