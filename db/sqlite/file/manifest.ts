import type { Database } from 'bun:sqlite'
import { version } from '../../../package.json'
import type { ReportProgress } from '../../../src/domain/measures'
import type { Content, Manifest } from '../../../src/domain/ports/maintenance'
import { settingsOf } from '../query-engine'
import { readPragma, schemaOf } from './head'

// Setting that stores the manifest. The manifest's hash covers everything else in the backup.
const manifestName = 'manifest'
/** Setting that stores the addresses on which the server listens. */
export const serverName = 'server'

/** Returns null if the database is not a backup, or was copied by another program. */
export function readManifest(database: Database): Manifest | null {
  const text = settingsOf(database).readText(manifestName)
  return text === null ? null : JSON.parse(text)
}

/** Adds a manifest to a copy. @param madeAt in ms */
export async function addManifest(database: Database, madeAt: number, progress: ReportProgress) {
  const manifest: Manifest = {
    version,
    madeAt,
    schema: schemaOf(readPragma(database, 'user_version')),
    zoneData: settingsOf(database).readZoneData(),
    ...(await contentOf(database, progress)),
  }
  const insert = database.query('INSERT INTO settings (name, value) VALUES (?, ?)')
  insert.run(manifestName, Buffer.from(JSON.stringify(manifest)))
  return manifest
}

/** Removes settings that describe only the original. */
export function dropOthersNotes(database: Database): void {
  database.query('DELETE FROM settings WHERE name IN (?, ?)').run(manifestName, serverName)
}

const rowsAtOnce = 4_096

/** Counts the rows, and hashes the schema and all rows, in order of table and key. Omits the manifest. */
export async function contentOf(database: Database, progress: ReportProgress): Promise<Content> {
  const hash = new Bun.CryptoHasher('sha256')
  const counts: Record<string, number> = {}
  const tables = tablesOf(database)
  const all = tables.reduce((sum, table) => sum + countOf(database, table), 0)
  let done = 0
  for (const { name, sql } of database.query<Named, []>(objects).all()) hash.update(`${name}\n${sql ?? ''}\n`)
  for (const table of tables) {
    hash.update(`${table}\n`)
    let count = 0
    for (const { row } of database.query<{ row: string }, []>(rowsOf(database, table)).iterate()) {
      hash.update(`${row}\n`)
      count++
      if (++done % rowsAtOnce !== 0) continue
      progress('hashing the copy', done / all)
      await new Promise(setImmediate)
    }
    // SQLite's internal tables are hashed but not counted.
    if (!table.startsWith('sqlite_')) counts[table] = count
  }
  return { counts, sha256: hash.digest('hex') }
}

interface Named {
  readonly name: string
  readonly sql: string | null
}

const objects = "SELECT type || ' ' || name AS name, sql FROM sqlite_schema ORDER BY type, name"

function tablesOf(database: Database): string[] {
  const select = "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0 ORDER BY name"
  return database
    .query<{ name: string }, []>(select)
    .all()
    .map(({ name }) => name)
}

function countOf(database: Database, table: string): number {
  const select = database.query<{ count: number }, []>(`SELECT count(*) AS count FROM ${quoted(table)}`)
  return select.get()?.count ?? 0
}

/** Returns SQL that writes each row of a table as a text, ordered by key. Different rows have different texts. */
function rowsOf(database: Database, table: string): string {
  const columns = database
    .query<{ name: string; pk: number }, []>(`PRAGMA table_info(${quoted(table)})`)
    .all()
  // Texts need hex(), because quote() ends a text at its first NUL.
  const values = columns.map(({ name }) => {
    const column = quoted(name)
    return `CASE typeof(${column}) WHEN 'text' THEN 't' || hex(${column}) ELSE quote(${column}) END`
  })
  const key = columns.filter(({ pk }) => pk > 0).sort((a, b) => a.pk - b.pk)
  const order = key.length > 0 ? key.map(({ name }) => quoted(name)).join(', ') : 'rowid'
  const left = table === 'settings' ? `WHERE name <> '${manifestName}'` : ''
  return `SELECT ${values.join(" || ',' || ")} AS row FROM ${quoted(table)} ${left} ORDER BY ${order}`
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
