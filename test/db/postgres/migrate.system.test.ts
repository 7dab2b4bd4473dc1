import { expect, test } from 'bun:test'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { SQL } from 'bun'
import { type Migration, ourMigrations } from '../../../db/postgres/migration'
import { openDatabase } from '../../../db/postgres/open'
import { Node } from '../../../db/postgres/server/nodes'
import { runSql } from '../../support/postgres'
import { describeOnPostgres } from '../../support/postgres-databases'
import { Standstill } from '../../support/standstill'
import { newTestDatabase, openingOf, refusalOf, type TestConnections } from './connections'

const next = (sql: string, oldestCompatible: number): Migration[] => [
  ...ourMigrations,
  { sql, oldestCompatible: oldestCompatible },
]
const later = ourMigrations.length + 1
const wider = next('CREATE TABLE more (id int)', 1)
const other = next('CREATE TABLE other (id int)', 1)
const breaking = next('ALTER TABLE members RENAME TO people', later)

const open = (made: TestConnections, migrations = ourMigrations, upgrade = false) =>
  openDatabase(made.on, openingOf(made.url, { upgrade }), migrations)
const opening = (...call: Parameters<typeof open>) => refusalOf(() => open(...call))

const contentOf = (url: string) =>
  runSql(
    url,
    `SELECT string_agg(relname, ' ' ORDER BY relname) AS content FROM pg_class WHERE relnamespace = 2200
     UNION ALL (SELECT name || ' ' || encode(value, 'hex') FROM settings ORDER BY name)`,
  )
const sha256 = (...texts: string[]) =>
  texts.map((text) => new Bun.CryptoHasher('sha256').update(text).digest('hex')).join('')

describeOnPostgres('postgres: migrations', () => {
  test('migrations are recorded by their hashes, in order', async () => {
    await using made = await newTestDatabase()
    await open(made, wider, true)
    const noted = "SELECT encode(value, 'hex') AS hashes FROM settings WHERE name = 'migrations'"
    const folder = join(import.meta.dir, '../../../db/postgres/migrations')
    const files = (await readdir(folder)).sort()
    const texts = await Promise.all(files.map((file) => Bun.file(join(folder, file)).text()))
    expect(texts).toHaveLength(ourMigrations.length)
    expect(await runSql(made.url, noted)).toEqual([
      { hashes: sha256(...texts, 'CREATE TABLE more (id int)') },
    ])
  })

  test.each([
    [
      'a database with the migrations of another build',
      ourMigrations.with(-1, { sql: 'CREATE TABLE x (id int)', oldestCompatible: 1 }),
      false,
    ],
    [
      'to upgrade a database with the migrations of another build',
      [{ sql: 'CREATE TABLE x (id int)', oldestCompatible: 1 }, ...wider],
      true,
    ],
  ])('opening refuses %s and changes nothing', async (_, migrations, upgrade) => {
    await using made = await newTestDatabase()
    const before = await contentOf(made.url)
    expect(await opening(made, migrations, upgrade)).toBe(
      'database_unusable: the database was created or upgraded by a build with other migrations; use that build',
    )
    expect(await contentOf(made.url)).toEqual(before)
  })

  test('without upgrade, opening an older database fails with the command to run', async () => {
    await using made = await newTestDatabase()
    const before = await contentOf(made.url)
    const older = 'database_unusable: the database has an older schema:'
    expect(await opening(made, wider)).toBe(`${older} run \`anteroom migrate\``)
    expect(await opening(made, breaking)).toBe(`${older} stop its servers, then run \`anteroom migrate\``)
    expect(await contentOf(made.url)).toEqual(before)
  })

  test('two upgrades at once run each migration once', async () => {
    await using made = await newTestDatabase()
    const both = await Promise.all([open(made, wider, true), open(made, wider, true)])
    expect(both.map(({ schema }) => schema)).toEqual([later, later])
    expect(both.filter(({ isUpgraded }) => isUpgraded)).toHaveLength(1)
    expect(await runSql(made.url, 'SELECT * FROM more')).toEqual([])
  })

  test('a failed migration leaves the database unchanged', async () => {
    await using made = await newTestDatabase()
    const before = await contentOf(made.url)
    const failing = [...wider, { sql: 'CREATE TABLE last (id int); SELECT 1 / 0', oldestCompatible: 1 }]
    expect(await opening(made, failing, true)).toStartWith('database_unusable: ')
    expect(await contentOf(made.url)).toEqual(before)
  })

  test('nodes of the previous release can open a database after a compatible migration', async () => {
    await using made = await newTestDatabase()
    await open(made, wider, true)
    expect(await open(made)).toMatchObject({ schema: later, isUpgraded: false })
    expect(await open(made, ourMigrations, true)).toMatchObject({ schema: later, isUpgraded: false })
    expect(await opening(made, other)).toBe(
      'database_unusable: the database was created or upgraded by a build with other migrations; use that build',
    )
  })

  test('nodes of the previous release are refused after an incompatible migration', async () => {
    await using made = await newTestDatabase()
    await open(made, breaking, true)
    expect(await opening(made)).toBe(
      'database_unusable: the database was written by a newer version of this program; install that version',
    )
  })

  test('an incompatible migration is refused until all servers have ended', async () => {
    await using made = await newTestDatabase()
    const node = new Node(made.on)
    await node.beat()
    const before = await contentOf(made.url)
    for (const migrations of [breaking, [...wider, ...breaking.slice(-1)]]) {
      expect(await opening(made, migrations, true)).toBe(
        'database_unusable: the database has an older schema, but servers are running; stop all of them first',
      )
      expect(await contentOf(made.url)).toEqual(before)
    }
    await node.note(null)
    expect(await open(made, breaking, true)).toMatchObject({ schema: later, isUpgraded: true })
  })

  test('a migration waits for the readers of a table without blocking other readers', async () => {
    await using made = await newTestDatabase()
    const altering = next('ALTER TABLE changes ADD COLUMN more int', 1)
    await using dump = new SQL(made.url, { max: 1 })
    await using node = new SQL(made.url, { max: 1 })
    const [reading, isEnough] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const dumped = dump.begin(async (transaction) => {
      await transaction`SELECT count(*) FROM changes`
      reading.resolve()
      await isEnough.promise
    })
    await reading.promise
    let isUpgraded = false
    const upgraded = open(made, altering, true).finally(() => {
      isUpgraded = true
    })
    let longest = 0
    using clock = new Standstill()
    for (let beganAt = clock.now(); clock.now() - beganAt < 1_500; await Bun.sleep(5)) {
      const askedAt = clock.now()
      await node`SELECT count(*) FROM changes`
      longest = Math.max(longest, clock.now() - askedAt)
    }
    const wasUpgraded = isUpgraded
    isEnough.resolve()
    await dumped
    expect([wasUpgraded, longest < 1_000]).toEqual([false, true])
    expect(await upgraded).toMatchObject({ schema: later, isUpgraded: true })
  })

  test('a compatible migration succeeds while servers of the previous release run', async () => {
    await using made = await newTestDatabase()
    const node = new Node(made.on)
    await node.beat()
    expect(await open(made, wider, true)).toMatchObject({ schema: later, isUpgraded: true })
    await node.beat()
  })
})
