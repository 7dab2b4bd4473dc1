import type { Connection } from '../client/connection'
import type { Migration } from '../migration'

// What a schema is made of, as the server itself writes it: texts of two schemas on one server can be compared.

/** Left out of what an extension brings. */
const isOwn = (catalog: string, oid: string) =>
  `NOT EXISTS (SELECT 1 FROM pg_depend WHERE classid = '${catalog}'::regclass AND objid = ${oid} AND deptype = 'e')`

/** A relation and whether its rules and foreign keys are in force: with its inner triggers off they are not. */
const relations = `SELECT format('%s %s', CASE relation.relkind WHEN 'r' THEN 'table' WHEN 'S' THEN 'sequence'
    WHEN 'i' THEN 'index' ELSE 'view' END, relname),
  concat_ws(' ', relkind, relpersistence, relrowsecurity, relforcerowsecurity, relhasrules,
    (SELECT bool_and(tgenabled = 'O') FROM pg_trigger WHERE tgrelid = relation.oid AND tgisinternal),
    (SELECT pg_get_indexdef(indexrelid) || indisvalid::text FROM pg_index WHERE indexrelid = relation.oid))
  FROM own AS relation`

const columns = `SELECT format('column %s.%s', relname, attname),
  concat_ws(' ', format_type(atttypid, atttypmod), attnotnull, attidentity, attgenerated,
    (SELECT collname FROM pg_collation WHERE oid = attcollation),
    (SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = attrelid AND adnum = attnum))
  FROM own JOIN pg_attribute ON attrelid = own.oid AND attnum > 0 AND NOT attisdropped WHERE relkind = 'r'`

// NOT NULL stands with the columns; newer servers call it a constraint too.
const constraints = `SELECT format('constraint %s of %s', conname, relname),
  pg_get_constraintdef(pg_constraint.oid) || convalidated::text
  FROM own JOIN pg_constraint ON conrelid = own.oid WHERE contype <> 'n'`

const triggers = `SELECT format('trigger %s of %s', tgname, relname), pg_get_triggerdef(pg_trigger.oid) || tgenabled::text
  FROM own JOIN pg_trigger ON tgrelid = own.oid WHERE NOT tgisinternal`

const functions = `SELECT format('function %s', proname), pg_get_functiondef(pg_proc.oid)
  FROM pg_proc JOIN space ON pronamespace = space.oid
  WHERE prokind IN ('f', 'p') AND ${isOwn('pg_proc', 'pg_proc.oid')}`

const facts = `WITH space AS (SELECT oid, quote_ident(nspname) || '.' AS prefix FROM pg_namespace WHERE nspname = $1),
  own AS (SELECT pg_class.* FROM pg_class JOIN space ON relnamespace = space.oid
    WHERE relkind <> 'c' AND ${isOwn('pg_class', 'pg_class.oid')})
  SELECT what, replace(fact, prefix, '') FROM space, (${[
    relations,
    columns,
    constraints,
    triggers,
    functions,
  ].join(' UNION ALL ')}) AS facts (what, fact)`

/** The facts of a schema by what they are about. */
export async function factsOf(connection: Connection, schema: string): Promise<Map<string, string>> {
  const rows = await connection.run(facts, [schema])
  return new Map(rows.map(([what, fact]) => [what as string, fact as string]))
}

/**
 * What a database has beside the tables, indexes, constraints, triggers and functions of its migrations, lacks of them or has
 * otherwise: whoever may change them can have a trigger undo what the program does. It is compared with a fresh set, which
 * is made for that in a schema of its own and given up, in the transaction that is open.
 */
export async function schemaFaults(
  connection: Connection,
  migrations: readonly Migration[],
): Promise<string[]> {
  const name = `anteroom_fresh_${crypto.randomUUID().slice(0, 8)}`
  await connection.send(`CREATE SCHEMA ${name}; SET LOCAL search_path = ${name}`)
  for (const { sql } of migrations) await connection.send(sql)
  const wanted = await factsOf(connection, name)
  await connection.send('SET LOCAL search_path = public')
  const found = await factsOf(connection, 'public')
  await connection.send('ROLLBACK')
  const names = new Set([...wanted.keys(), ...found.keys()])
  return [...names].filter((each) => wanted.get(each) !== found.get(each)).sort()
}
