import { unusable } from '../findings/unusable'
import type { Connection } from './client/connection'
import { noted, type Schema } from './migration'

/** What a database of ours notes of itself. */
export interface Recognized {
  readonly purpose: string
  readonly schema: Schema
}

const oldestMajor = 15

/** Those that speak PostgreSQL's protocol and lack what keeps a slot from being sold twice. */
const others: readonly (readonly [name: RegExp, called: string])[] = [
  [/CockroachDB/, 'CockroachDB'],
  [/-YB-|Yugabyte/i, 'YugabyteDB'],
]

/** @param version as version() tells it @throws Refusal database_unusable for another server than PostgreSQL 15 or newer */
export function requirePostgres(version: string, encoding: string): void {
  const [, called] = others.find(([name]) => name.test(version)) ?? []
  const needed = 'PostgreSQL 15 or newer is needed'
  if (called)
    throw unusable(`the server is ${called}, which has no exclusion constraints over time: ${needed}`)
  const [, major] = /^PostgreSQL (\d+)/.exec(version) ?? []
  if (major === undefined || Number(major) < oldestMajor)
    throw unusable(`the server runs ${major ? `PostgreSQL ${major}` : 'another program'}: ${needed}`)
  if (encoding !== 'UTF8')
    throw unusable(`the database has the encoding ${encoding}: make one with the encoding UTF8`)
}

/**
 * What a database notes of itself, in the transaction that is open; null for one without tables.
 *
 * @throws Refusal database_unusable for a server that does not do, and tables of others
 */
export async function recognize(connection: Connection): Promise<Recognized | null> {
  const [about] = await connection.run('SELECT version(), getdatabaseencoding()', [])
  const [version, encoding] = about as [string, string]
  requirePostgres(version, encoding)
  const schemas = (await connection.run(schemasWithTables, [])).map(([name]) => name as string)
  if (schemas.length === 0) return null
  const [shape] = await connection.run(shapeOfSettings, [])
  const found = shape?.[0] === '2' ? await readNotes(connection) : null
  if (found) return found
  const where = schemas.map((name) => JSON.stringify(name)).join(', ')
  throw unusable(
    `the database belongs to another application, which has tables in the schema ${where}: make one of its own`,
  )
}

/** Those of extensions are nobody's. */
const schemasWithTables = `SELECT DISTINCT namespace.nspname FROM pg_class AS relation
  JOIN pg_namespace AS namespace ON namespace.oid = relation.relnamespace
  WHERE relation.relkind IN ('r', 'p', 'v', 'm', 'f', 'S')
    AND namespace.nspname !~ '^pg_' AND namespace.nspname <> 'information_schema'
    AND NOT EXISTS (SELECT 1 FROM pg_depend WHERE classid = 'pg_class'::regclass AND objid = relation.oid AND deptype = 'e')
  ORDER BY 1`

const shapeOfSettings = `SELECT count(*) FROM pg_attribute WHERE attrelid = to_regclass('public.settings')
  AND (attname, format_type(atttypid, NULL)) IN (('name', 'text'), ('value', 'bytea'))`

async function readNotes(connection: Connection): Promise<Recognized | null> {
  const names = `'${Object.values(noted).join("', '")}'`
  const rows = await connection.run(`SELECT name, value FROM public.settings WHERE name IN (${names})`, [])
  const notes = new Map(rows.map(([name, value]) => [name, Buffer.from(value as Uint8Array)]))
  const [purpose, hashes] = [notes.get(noted.purpose), notes.get(noted.migrations)]
  if (!purpose || !hashes) return null
  const oldestBeside = Number(notes.get(noted.oldestBeside)?.toString())
  return { purpose: purpose.toString(), schema: { hashes, oldestBeside } }
}
