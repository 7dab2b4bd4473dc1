import { afterAll, beforeAll, expect, spyOn, test } from 'bun:test'
import { Connection } from '../../../db/postgres/client/connection'
import { DatabaseFailure } from '../../../db/postgres/client/failure'
import { serverDatabase } from '../../../db/postgres/database'
import { currentSchema } from '../../../db/postgres/migration'
import { openDatabase } from '../../../db/postgres/open'
import { requirePostgres } from '../../../db/postgres/server/recognize'
import { masterKeyOf } from '../../../src/vault/vault'
import { useLongTimeouts, useRealTimeouts } from '../../support/patience'
import { runSql } from '../../support/postgres'
import { describeOnPostgres, sharedPostgres } from '../../support/postgres-databases'
import { millisOf } from '../../support/standstill'
import {
  connectTo,
  newConnections,
  newTestDatabase,
  openingOf,
  refusalOf,
  type TestConnections,
} from './connections'
import { openPostgresEngine } from './place'

beforeAll(useRealTimeouts)
afterAll(useLongTimeouts)

const opening = (made: TestConnections, different = {}) =>
  refusalOf(() => openDatabase(made.on, openingOf(made.url, different)))
const otherKey = { takeKey: async () => masterKeyOf(Buffer.alloc(32, 8)) }

const contentOf = (url: string) =>
  runSql(
    url,
    `SELECT (SELECT string_agg(relname, ' ' ORDER BY relname) FROM pg_class
       WHERE relnamespace = 'public'::regnamespace) AS tables,
     query_to_xml('SELECT * FROM settings ORDER BY name', true, true, '')::text AS settings`,
  )

describeOnPostgres('postgres: opening a database', () => {
  test('opening an empty database creates the tables, and opening it again changes nothing', async () => {
    await using made = await newConnections()
    const first = await openDatabase(made.on, openingOf(made.url))
    expect(first).toMatchObject({ schema: currentSchema, isUpgraded: false })
    const before = await contentOf(made.url)
    expect(await openDatabase(made.on, openingOf(made.url, { create: false }))).toMatchObject({
      schema: currentSchema,
      isUpgraded: false,
    })
    expect(await contentOf(made.url)).toEqual(before)
  })

  test('an empty database is refused unless creation is allowed', async () => {
    await using made = await newConnections()
    const takeKey = () => Promise.reject(new Error('the key was asked for'))
    const { port } = await sharedPostgres()
    expect(await opening(made, { create: false, takeKey })).toBe(
      `database_unusable: there is no database at postgres://postgres@127.0.0.1:${port}/${made.url.split('/').at(-1)}; check --database, or run anteroom init`,
    )
    expect(await runSql(made.url, 'SELECT relname FROM pg_class WHERE relnamespace = 2200')).toEqual([])
  })

  test('several processes that open an empty database at once create the tables once', async () => {
    await using made = await newConnections()
    const first = Array.from({ length: 4 }, () => openDatabase(made.on, openingOf(made.url)))
    expect((await Promise.all(first)).map(({ schema }) => schema)).toEqual(Array(4).fill(currentSchema))
    expect(
      await runSql(made.url, "SELECT count(*)::int AS keys FROM settings WHERE name = 'data_key'"),
    ).toEqual([{ keys: 1 }])
  })

  test('opening with another purpose or master key is refused and changes nothing', async () => {
    await using made = await newTestDatabase()
    const before = await contentOf(made.url)
    expect(await opening(made, { purpose: 'production' })).toBe(
      'database_unusable: the database is not a production database',
    )
    expect(await opening(made, otherKey)).toBe(
      'database_unusable: the master key does not fit this database; use its current master key',
    )
    expect(await opening(made, { ...otherKey, upgrade: true })).toBe(
      'database_unusable: the master key does not fit this database; use its current master key',
    )
    expect(await contentOf(made.url)).toEqual(before)
    expect(await opening(made)).toBe('nothing')
  })

  test.each([
    ['a table', 'CREATE SCHEMA shop; CREATE TABLE shop.orders (id int)', '"shop"'],
    ['a table with one of our names', 'CREATE TABLE settings (name text, value text)', '"public"'],
    ['a table with our name and columns', 'CREATE TABLE settings (name text, value bytea)', '"public"'],
    [
      'tables in two schemas',
      'CREATE SCHEMA shop; CREATE TABLE shop.orders (id int); CREATE TABLE members (id int)',
      '"public", "shop"',
    ],
  ])(
    'a database that has %s of another application is refused and left unchanged',
    async (_, sql, schemas) => {
      await using made = await newConnections()
      await runSql(made.url, sql)
      const takeKey = () => Promise.reject(new Error('the key was asked for'))
      expect(await opening(made, { takeKey })).toBe(
        `database_unusable: the database has tables of another application in the schema ${schemas}; create a separate database`,
      )
      expect(await runSql(made.url, "SELECT 1 AS made FROM pg_class WHERE relname = 'audit'")).toEqual([])
    },
  )

  test('a database with only the tables of an extension counts as empty', async () => {
    await using made = await newConnections()
    await runSql(made.url, 'CREATE EXTENSION pg_stat_statements')
    expect(await opening(made)).toBe('nothing')
  })

  test('a database with an encoding other than UTF8 is refused', async () => {
    const server = await sharedPostgres()
    await server.run(
      "CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1' LOCALE_PROVIDER libc LOCALE 'C'",
    )
    await using made = connectTo(server.urlOf('latin'))
    expect(await opening(made)).toBe(
      'database_unusable: the database has the encoding LATIN1; create one with the encoding UTF8',
    )
  })

  test('if the role lacks a permission, opening fails with the SQL to run', async () => {
    await using made = await newConnections()
    const server = await sharedPostgres()
    await runSql(made.url, 'CREATE ROLE "Guest" LOGIN')
    const url = new URL(made.url)
    url.username = 'Guest'
    await using guest = connectTo(url.href)
    const refusal = /^database_unusable: .*CREATE EXTENSION btree_gist and GRANT CREATE ON SCHEMA public TO/
    expect(await opening(guest)).toMatch(refusal)
    await runSql(made.url, 'GRANT CREATE ON SCHEMA public TO "Guest"')
    expect(await opening(guest)).toMatch(refusal)
    await runSql(made.url, 'CREATE EXTENSION btree_gist')
    expect(await opening(guest)).toBe('nothing')
    await runSql(made.url, 'DROP OWNED BY "Guest" CASCADE')
    await server.run('DROP ROLE "Guest"')
  })

  test('if the first host never answers, the next host is used', async () => {
    using silent = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } })
    await using made = await newConnections()
    const url = made.url.replace('@', `@127.0.0.1:${silent.port},`)
    await using both = connectTo(url)
    expect(await opening(both)).toBe('nothing')
    const place = serverDatabase(url, { password: null, passFile: null })
    expect(await place.find()).toEqual({ owner: undefined })
  })

  test('if the only host never answers, the error says that no server answers', async () => {
    using silent = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } })
    const url = `postgres://anteroom@127.0.0.1:${silent.port}/rooms`
    const place = serverDatabase(url, { password: null, passFile: null })
    const finding = async () =>
      expect(await refusalOf(() => place.find())).toBe(
        `storage_busy: ${url}: no server answers; check that it runs, and check its host name and port`,
      )
    expect(await millisOf(finding)).toBeLessThan(2_500)
  })

  test('a connection that breaks at any step of opening is reported as busy', async () => {
    await using made = await newTestDatabase()
    const { run } = Connection.prototype
    let left = 0
    using _ = spyOn(Connection.prototype, 'run').mockImplementation(function (this: Connection, ...asked) {
      left -= 1
      const broken = () => Promise.reject(new DatabaseFailure('retry', 'ERR_POSTGRES_CONNECTION_CLOSED'))
      return left === 0 ? broken() : run.apply(this, asked)
    })
    let steps = 0
    for (let isOpen = false; !isOpen; steps++) {
      left = steps + 1
      const message = await refusalOf(async () => (await openPostgresEngine(made.url)).close())
      isOpen = left > 0
      expect(message).toBe(isOpen ? 'nothing' : 'storage_busy: the database is busy; try again')
    }
    expect(steps).toBeGreaterThan(3)
  })

  test('the error for a missing database says how to create the database', async () => {
    const server = await sharedPostgres()
    await using none = connectTo(server.urlOf('nowhere'))
    expect(await opening(none)).toBe(
      `database_unusable: postgres://postgres@127.0.0.1:${server.port}/nowhere: the server has no such database; create it there (createdb), then run the command again`,
    )
  })
})

test.each([
  [
    'PostgreSQL 14.13 on x86_64-pc-linux-gnu',
    'UTF8',
    'the server runs PostgreSQL 14; use PostgreSQL 15 or newer',
  ],
  [
    'CockroachDB CCL v24.1.1 (x86_64-pc-linux-gnu)',
    'UTF8',
    'the server is CockroachDB, which has no exclusion constraints; use PostgreSQL 15 or newer',
  ],
  [
    'PostgreSQL 15.2-YB-2.25.0.0-b0 on x86_64',
    'UTF8',
    'the server is YugabyteDB, which has no exclusion constraints; use PostgreSQL 15 or newer',
  ],
  ['Materialize', 'UTF8', 'the server runs another program; use PostgreSQL 15 or newer'],
])('postgres: a server that reports %s is refused', async (version, encoding, message) => {
  expect(await refusalOf(() => requirePostgres(version, encoding))).toBe(`database_unusable: ${message}`)
})

test('postgres: a server that reports PostgreSQL 15 or newer is accepted', () => {
  for (const major of [15, 18, 100]) requirePostgres(`PostgreSQL ${major}.1 on x86_64`, 'UTF8')
})
