import type { Finding } from '../../../src/domain/upkeep'
import { finding, named } from '../../findings/findings'
import type { Connection } from '../client/connection'
import { DatabaseFailure } from '../client/failure'
import { unseen } from '../where-readable'

const objects = `SELECT pg_class.oid::text, relname, relkind = 'i' FROM pg_class
  LEFT JOIN pg_am ON pg_am.oid = relam
  WHERE relnamespace = 'public'::regnamespace AND (relkind = 'r' OR relkind = 'i' AND amname = 'btree')
  ORDER BY relname`

/** Whether all pages, tables and indexes can be read, as far as the server has what looks through them. */
export async function integrityFinding(connection: Connection): Promise<Finding> {
  const check = 'integrity'
  const [failures] = await connection.run(
    'SELECT coalesce(sum(checksum_failures), 0)::float8 FROM pg_stat_database WHERE datname = current_database()',
    [],
  )
  const failed = Number(failures?.[0])
  if (failed > 0)
    return finding(check, `${failed} pages were read that are not as they were written; restore a backup`, '')
  const [found] = await connection.run(amcheckFacts, [])
  const [role, amcheck, mayCheck] = found as [role: string, schema: string | null, mayCheck: boolean]
  const grant = `GRANT EXECUTE ON FUNCTION bt_index_check(regclass), verify_heapam TO ${role}`
  if (amcheck === null) {
    const detail = 'no checksum has failed; tables and indexes were not looked through'
    const remedy = `have an administrator run, in this database: CREATE EXTENSION amcheck; ${grant}`
    return { check, state: 'note', detail, remedy }
  }
  if (!mayCheck) return unseen(check, `have an administrator run, in this database: ${grant}`)
  return finding(check, named('damaged', await damagedIn(connection, amcheck)), 'no faults')
}

/** Who asks, where the extension is, and whether they may use it: those who did not make it may not, unless they are let. */
const amcheckFacts = `SELECT quote_ident(current_user), quote_ident(nspname),
    coalesce(bool_and(has_function_privilege(pg_proc.oid, 'EXECUTE')), false)
  FROM (SELECT) AS one LEFT JOIN pg_extension ON extname = 'amcheck'
  LEFT JOIN pg_namespace ON pg_namespace.oid = extnamespace
  LEFT JOIN pg_proc ON pronamespace = pg_namespace.oid AND proname IN ('bt_index_check', 'verify_heapam')
    AND proargtypes[0] = 'regclass'::regtype AND (proname = 'verify_heapam' OR pronargs = 1)
  GROUP BY nspname`

/** The tables and indexes that are not as they should be. */
async function damagedIn(connection: Connection, amcheck: string): Promise<string[]> {
  const damaged: string[] = []
  for (const [oid, name, isIndex] of await connection.run(objects, [])) {
    const look = isIndex
      ? `SELECT ${amcheck}.bt_index_check(${oid}::regclass)`
      : `SELECT 1 FROM ${amcheck}.verify_heapam(${oid}::regclass) LIMIT 1`
    if (await hasFault(connection, look, isIndex === true)) damaged.push(name as string)
  }
  return damaged
}

async function hasFault(connection: Connection, look: string, isIndex: boolean): Promise<boolean> {
  try {
    const rows = await connection.run(look, [])
    return !isIndex && rows.length > 0
  } catch (error) {
    if (error instanceof DatabaseFailure && error.meaning === 'damaged') return true
    throw error
  }
}

/** Each foreign key as the statement that counts what breaks it: rows that were written while the keys were not in force. */
const counts = `SELECT format('SELECT count(*) FROM %s AS child WHERE child.%I IS NOT NULL AND NOT EXISTS
    (SELECT 1 FROM %s AS parent WHERE parent.%I = child.%I)',
    conrelid::regclass, own.attname, confrelid::regclass, other.attname, own.attname)
  FROM pg_constraint
  JOIN pg_attribute AS own ON own.attrelid = conrelid AND own.attnum = conkey[1]
  JOIN pg_attribute AS other ON other.attrelid = confrelid AND other.attnum = confkey[1]
  WHERE contype = 'f' AND connamespace = 'public'::regnamespace`

export async function orphansFinding(connection: Connection): Promise<Finding> {
  let orphans = 0
  for (const [count] of await connection.run(counts, [])) {
    const [row] = await connection.run(count as string, [])
    orphans += Number(row?.[0])
  }
  return finding('orphans', orphans > 0 && `${orphans} records point at nothing`, 'none')
}
