import type { Database } from 'bun:sqlite'
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { getTableColumns, getTableName } from 'drizzle-orm'
import type { PgTable } from 'drizzle-orm/pg-core'
import { tables as seenTables } from '../../../db/postgres/session'
import { Folder } from '../../support/folder'
import { runSql } from '../../support/postgres'
import { describeOnPostgres } from '../../support/postgres-databases'
import { openTestDatabase } from '../place'
import { newTestDatabase, type TestConnections } from './connections'

const tables = Object.values(seenTables) as unknown as readonly PgTable[]
const names = tables.map((table) => getTableName(table)).sort()
/** Tables that only PostgreSQL has, because several nodes share a database. */
const own = ['nodes', 'audit_queue']

const folder = new Folder()
let embedded = undefined as unknown as Database
let made: TestConnections | undefined
const rowsOf = <Row>(text: string) => runSql<Row>(made?.url as string, text)

beforeAll(() => {
  embedded = openTestDatabase(folder.file('a.sqlite'))
})
afterAll(async () => {
  embedded.close()
  folder[Symbol.dispose]()
  await made?.[Symbol.asyncDispose]()
})

interface Column {
  readonly name: string
  readonly notNull: boolean
}

const byName = <Named extends Column>(columns: Named[]) => columns.sort((a, b) => (a.name < b.name ? -1 : 1))

describeOnPostgres('postgres: the tables that queries declare', () => {
  beforeAll(async () => {
    made = await newTestDatabase()
  })

  const columnsOf = (table: string) =>
    rowsOf<Column & { type: string; hasDefault: boolean; collation: string | null }>(
      `SELECT attname AS name, format_type(atttypid, atttypmod) AS type, attnotnull AS "notNull",
         (atthasdef OR attidentity <> '') AS "hasDefault",
         (SELECT collname FROM pg_collation WHERE oid = attcollation) AS collation
       FROM pg_attribute WHERE attrelid = 'public.${table}'::regclass AND attnum > 0 ORDER BY attname COLLATE "C"`,
    )

  test('the declared tables, the node table and the audit queue are all tables of the database', async () => {
    const found = await rowsOf<{ relname: string }>(
      `SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'v', 'p', 'm', 'f')
       ORDER BY relname COLLATE "C"`,
    )
    expect([...names, ...own].sort()).toEqual(found.map(({ relname }) => relname))
  })

  test.each(tables.map((table) => [getTableName(table), table] as const))(
    '%s has the declared columns, and sorts text by bytes',
    async (name, table) => {
      const found = (await columnsOf(name)).map(({ hasDefault, ...column }) => column)
      const seen = Object.values(getTableColumns(table)).map((column) => ({
        name: column.name,
        type: column.getSQLType(),
        notNull: column.notNull,
        collation: column.getSQLType() === 'text' ? 'C' : null,
      }))
      expect(byName(seen)).toEqual(found)
    },
  )

  test('a column has a default only if queries omit the column or a migration added the column', async () => {
    const seen = tables.flatMap((table) =>
      Object.values(getTableColumns(table)).flatMap((column) =>
        column.hasDefault || column.generatedIdentity ? [`${getTableName(table)}.${column.name}`] : [],
      ),
    )
    const later = ['providers.staff_time_off', 'providers.suspended', 'request_positions.position']
    const found: string[] = []
    for (const table of names)
      for (const { name, hasDefault } of await columnsOf(table))
        if (hasDefault) found.push(`${table}.${name}`)
    expect(found.sort()).toEqual([...seen, ...later].sort())
  })
})

describeOnPostgres('postgres: the tables of both engines', () => {
  const embeddedColumns = (table: string): Column[] =>
    embedded
      .query<{ name: string; notnull: number; pk: number }, [string]>(
        'SELECT name, "notnull", pk FROM pragma_table_info(?)',
      )
      .all(table)
      .map(({ name, notnull, pk }) => ({ name, notNull: notnull === 1 || pk > 0 }))

  test('SQLite has the tables of PostgreSQL except the node table', () => {
    const found = embedded
      .query<{ name: string }, []>(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name",
      )
      .all()
    expect(found.map(({ name }) => name)).toEqual(names)
  })

  test.each(names)('%s has the same columns on both engines', async (table) => {
    const found = await rowsOf<Column>(
      `SELECT attname AS name, attnotnull AS "notNull" FROM pg_attribute
       WHERE attrelid = 'public.${table}'::regclass AND attnum > 0`,
    )
    expect(byName(found)).toEqual(byName(embeddedColumns(table)))
  })

  test.each(names)('%s has the same unique and foreign keys on both engines', async (table) => {
    const unique = embedded
      .query<{ name: string }, [string]>('SELECT name FROM pragma_index_list(?) WHERE "unique" = 1')
      .all(table)
      .map(({ name }) =>
        embedded
          .query<{ name: string }, [string]>('SELECT name FROM pragma_index_info(?)')
          .all(name)
          .map((column) => column.name)
          .sort()
          .join(),
      )
    // SQLite stores a single integer primary key as the rowid, without an index.
    const primary = embedded
      .query<{ name: string }, [string]>('SELECT name FROM pragma_table_info(?) WHERE pk > 0')
      .all(table)
      .map(({ name }) => name)
      .sort()
      .join()
    const found = await rowsOf<{ columns: string }>(
      `SELECT (SELECT string_agg(attname, ',' ORDER BY attname COLLATE "C") FROM pg_attribute
         WHERE attrelid = indrelid AND attnum = ANY (indkey)) AS columns
       FROM pg_index WHERE indrelid = 'public.${table}'::regclass AND indisunique`,
    )
    const slot = (columns: string) => columns !== 'provider_id,starts_at'
    expect(found.map(({ columns }) => columns).sort()).toEqual(
      [...new Set([...unique, primary])].filter(slot).sort(),
    )
    const pointed = await rowsOf<{ points: string }>(
      `SELECT format('%s to %s', attname, confrelid::regclass) AS points FROM pg_constraint
       JOIN pg_attribute ON attrelid = conrelid AND attnum = conkey[1]
       WHERE contype = 'f' AND conrelid = 'public.${table}'::regclass`,
    )
    const points = embedded
      .query<{ points: string }, [string]>(
        `SELECT "from" || ' to ' || "table" AS points FROM pragma_foreign_key_list(?)`,
      )
      .all(table)
    const sorted = (rows: { points: string }[]) =>
      rows.map(({ points }) => points.replace('public.', '')).sort()
    expect(sorted(pointed)).toEqual(sorted(points))
  })

  test('both engines have the same check constraints', async () => {
    const found = await rowsOf<{ conname: string; definition: string }>(
      `SELECT conname, pg_get_constraintdef(oid) AS definition FROM pg_constraint
       WHERE contype = 'c' AND connamespace = 'public'::regnamespace`,
    )
    const wordsIn = (text: string) => (text.match(/'[a-z]{2,}'/g) ?? []).sort().join()
    const onServer = found.flatMap(({ conname, definition }) =>
      wordsIn(definition) ? [`${conname}: ${wordsIn(definition)}`] : [],
    )
    const texts = embedded
      .query<{ sql: string }, []>("SELECT sql FROM sqlite_schema WHERE type = 'table'")
      .all()
      .map(({ sql }) => sql)
    const here = texts.flatMap((sql) =>
      [...sql.matchAll(/CONSTRAINT "?(\w+)"? CHECK (.*)/g)].map(
        ([, name, check]) => `${name}: ${wordsIn(check ?? '')}`,
      ),
    )
    expect(onServer.sort()).toEqual(here.sort())
    expect(here.length).toBeGreaterThan(5)
  })
})
