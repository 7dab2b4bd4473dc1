import { unusable } from '../../findings/findings'
import { hashBytes, migrationsName, settingsOver } from '../../settings'
import type { Connection } from '../client/connection'

export interface Recognized {
  readonly purpose: string
  /** SHA-256 of each migration step, concatenated. */
  readonly hashes: Uint8Array
  readonly schema: number
  /** Oldest schema whose nodes may use the database. */
  readonly oldestCompatible: number
}

export const oldestCompatibleName = 'oldest_beside'

const oldestMajor = 15

/** Unsupported servers with PostgreSQL's protocol. They lack exclusion constraints, which prevent double booking. */
const others: readonly (readonly [version: RegExp, name: string])[] = [
  [/CockroachDB/, 'CockroachDB'],
  [/-YB-|Yugabyte/i, 'YugabyteDB'],
]

/** @throws Refusal database_unusable if the server is not PostgreSQL 15 or newer, or the encoding is not UTF8 */
export function requirePostgres(version: string, encoding: string): void {
  const needed = 'use PostgreSQL 15 or newer'
  const [, name] = others.find(([pattern]) => pattern.test(version)) ?? []
  if (name) throw unusable(`the server is ${name}, which has no exclusion constraints`, needed)
  const [, major] = /^PostgreSQL (\d+)/.exec(version) ?? []
  if (major === undefined || Number(major) < oldestMajor)
    throw unusable(`the server runs ${major ? `PostgreSQL ${major}` : 'another program'}`, needed)
  if (encoding !== 'UTF8')
    throw unusable(`the database has the encoding ${encoding}`, 'create one with the encoding UTF8')
}

/**
 * Returns null if there are no tables.
 * @throws Refusal database_unusable for an unsupported server, or for tables of another program
 */
export async function recognize(connection: Connection): Promise<Recognized | null> {
  const [about] = await connection.run('SELECT version(), getdatabaseencoding()')
  requirePostgres(...(about as [string, string]))
  const schemas = await connection.run(schemasWithTables)
  if (schemas.length === 0) return null
  const [shape] = await connection.run(shapeOfSettings)
  const found = shape?.[0] === '2' ? await readOwn(connection) : null
  if (found) return found
  const where = schemas.map(([name]) => JSON.stringify(name)).join(', ')
  throw unusable(
    `the database has tables of another application in the schema ${where}`,
    'create a separate database',
  )
}

/** SQL for the schemas that have tables. Ignores system schemas and tables of extensions. */
const schemasWithTables = `SELECT DISTINCT namespace.nspname FROM pg_class AS relation
  JOIN pg_namespace AS namespace ON namespace.oid = relation.relnamespace
  WHERE relation.relkind IN ('r', 'p', 'v', 'm', 'f', 'S')
    AND namespace.nspname !~ '^pg_' AND namespace.nspname <> 'information_schema'
    AND NOT EXISTS (SELECT 1 FROM pg_depend WHERE classid = 'pg_class'::regclass AND objid = relation.oid AND deptype = 'e')
  ORDER BY 1`

const shapeOfSettings = `SELECT count(*) FROM pg_attribute WHERE attrelid = to_regclass('public.settings')
  AND (attname, format_type(atttypid, NULL)) IN (('name', 'text'), ('value', 'bytea'))`

async function readOwn(connection: Connection): Promise<Recognized | null> {
  const settings = settingsOver(connection)
  const [purpose, hashes] = [await settings.readPurpose(), await settings.read(migrationsName)]
  if (purpose === null || !hashes) return null
  const oldestCompatible = Number(await settings.readText(oldestCompatibleName))
  return { purpose, hashes, schema: hashes.length / hashBytes, oldestCompatible }
}
