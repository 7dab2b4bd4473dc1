import type { Connection } from './connection'

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
