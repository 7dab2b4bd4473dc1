import { Database } from 'bun:sqlite'
import { describe, expect, test } from 'bun:test'
import { copyFileSync, existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { fileDatabase } from '../../db/sqlite/database'
import { takeServeLock } from '../../db/sqlite/file/lock'
import { copyPathOf, ourMigrations } from '../../db/sqlite/migration'
import { Refusal } from '../../src/domain/errors'
import { masterKeyOf } from '../../src/vault/vault'
import { actsOf } from '../support/acts'
import { Folder } from '../support/folder'
import { openTestDatabase, testKey } from './place'

const next = 'CREATE TABLE more (id INTEGER PRIMARY KEY) STRICT; INSERT INTO more VALUES (7)'
const wider = [...ourMigrations, next]
const failing = [...wider, 'CREATE TABLE last (id INTEGER) STRICT; INSERT INTO missing VALUES (1)']

const otherSteps =
  'database_unusable: the database was created or upgraded by a build with other migrations; use that build'
const older =
  'database_unusable: the database has an older schema: stop its server, then run `anteroom migrate`'

/** A database with the current schema of the program and one organization. */
function makeDatabase(folder: Folder): string {
  const path = folder.file('a.sqlite')
  using database = openTestDatabase(path)
  database.run("INSERT INTO organizations VALUES (1, 'North Care', 1, 0)")
  return path
}

const upgrade = (path: string, migrations = wider) => openTestDatabase(path, { upgrade: true }, migrations)

async function refusalOf(work: () => unknown): Promise<string> {
  try {
    await work()
  } catch (error) {
    if (error instanceof Refusal) return `${error.kind}: ${error.message}`
    throw error
  }
  return 'nothing'
}

const open = (path: string, different: { alone?: boolean; upgrade?: boolean } = {}) =>
  fileDatabase(path, wider).open({
    purpose: 'sandbox',
    takeKey: async () => masterKeyOf(testKey),
    create: false,
    upgrade: true,
    alone: false,
    ...different,
  })

const sha256 = (...texts: string[]) =>
  texts.map((text) => new Bun.CryptoHasher('sha256').update(text).digest('hex')).join('')

describe('db: a SQLite database with an older schema', () => {
  test('opening without upgrade is refused and changes nothing', async () => {
    using folder = new Folder()
    const path = makeDatabase(folder)
    const before = readFileSync(path)
    expect(await refusalOf(() => openTestDatabase(path, {}, wider))).toBe(older)
    expect(await refusalOf(() => open(path, { upgrade: false }))).toBe(older)
    expect(readFileSync(path).equals(before)).toBe(true)
    expect(readdirSync(folder.path)).toEqual(['a.sqlite'])
  })

  test('an upgrade keeps all rows and first makes a private copy', async () => {
    using folder = new Folder()
    const path = makeDatabase(folder)
    const engine = await open(path)
    const copy = copyPathOf(path, wider)
    expect(engine.upgraded).toEqual({ copy })
    expect(await actsOf(engine).listOrganizations()).toMatchObject([{ name: 'North Care' }])
    await engine.close()
    const files = readdirSync(folder.path).filter((name) => !/-(wal|shm)$/.test(name))
    expect(files.sort()).toEqual(['a.sqlite', `a.sqlite.before-schema-${wider.length}`])
    expect((statSync(copy).mode & 0o777).toString(8)).toBe('600')
    using upgraded = new Database(path)
    expect(upgraded.query('SELECT * FROM more').values()).toEqual([[7]])
    const [[noted]] = upgraded.query("SELECT value FROM settings WHERE name = 'migrations'").values() as [
      [Uint8Array],
    ]
    expect(Buffer.from(noted).toString('hex')).toBe(sha256(...wider))
    const again = await open(path)
    expect(again.upgraded).toBeNull()
    await again.close()
    using old = openTestDatabase(copy)
    expect(old.query('SELECT name FROM organizations').values()).toEqual([['North Care']])
  })

  test('a failed migration changes nothing, and a later upgrade succeeds', async () => {
    using folder = new Folder()
    const path = makeDatabase(folder)
    expect(() => upgrade(path, failing)).toThrow('no such table: missing')
    using before = openTestDatabase(path)
    expect(before.query("SELECT name FROM sqlite_schema WHERE name IN ('more', 'last')").values()).toEqual([])
    before.close()
    upgrade(path).close()
  })

  test('an upgrade with another master key is refused and changes nothing', async () => {
    using folder = new Folder()
    const path = makeDatabase(folder)
    const before = readFileSync(path)
    const other = { masterKey: Buffer.alloc(32, 9), upgrade: true }
    expect(await refusalOf(() => openTestDatabase(path, other, wider))).toBe(
      'database_unusable: the master key does not fit this database; use its current master key',
    )
    expect(readFileSync(path).equals(before)).toBe(true)
    expect(existsSync(copyPathOf(path, wider))).toBe(false)
  })

  test('an upgrade is refused while another program has the database open', async () => {
    using folder = new Folder()
    const path = makeDatabase(folder)
    const reader = new Database(path)
    expect(reader.query('SELECT count(*) FROM organizations').values()).toEqual([[1]])
    expect(await refusalOf(() => upgrade(path))).toBe(
      'database_unusable: the database has an older schema, but another program has it open; stop that program first',
    )
    expect(existsSync(copyPathOf(path, wider))).toBe(false)
    reader.run("INSERT INTO organizations VALUES (2, 'Written meanwhile', 1, 0)")
    reader.close()
    using database = upgrade(path)
    expect(database.query('SELECT name FROM organizations WHERE id = 2').values()).toHaveLength(1)
  })

  test('a second server does not upgrade the database of a running server', async () => {
    using folder = new Folder()
    const path = makeDatabase(folder)
    const before = readFileSync(path)
    using _lock = takeServeLock(path)
    expect(await refusalOf(() => open(path, { alone: true }))).toStartWith(
      'storage_busy: another server already uses ',
    )
    expect(readFileSync(path).equals(before)).toBe(true)
  })

  test('restoring a backup keeps and reports the older schema', async () => {
    using folder = new Folder()
    const backup = folder.file('backup.sqlite')
    copyFileSync(makeDatabase(folder), backup)
    const restored = await fileDatabase(folder.file('restored.sqlite'), wider).restore(
      {
        backup,
        purpose: 'sandbox',
        takeKey: () => masterKeyOf(testKey),
        decrypt: async () => {},
      },
      () => {},
    )
    expect(restored).toEqual({ manifest: null, isOlder: true })
    upgrade(folder.file('restored.sqlite')).close()
  })
})

describe('db: a SQLite database with unknown migrations', () => {
  const zeroed = "UPDATE settings SET value = zeroblob(length(value)) WHERE name = 'migrations'"
  test.each([zeroed, "DELETE FROM settings WHERE name = 'migrations'"])(
    'a database whose recorded migrations differ is refused (%s)',
    async (statement) => {
      using folder = new Folder()
      const path = makeDatabase(folder)
      const database = new Database(path)
      database.run(statement)
      database.close()
      const before = readFileSync(path)
      expect(await refusalOf(() => openTestDatabase(path))).toBe(otherSteps)
      expect(await refusalOf(() => upgrade(path))).toBe(otherSteps)
      expect(readFileSync(path).equals(before)).toBe(true)
    },
  )

  test('a database of a newer program version is refused', async () => {
    using folder = new Folder()
    const path = makeDatabase(folder)
    upgrade(path).close()
    expect(await refusalOf(() => openTestDatabase(path, { upgrade: true }))).toBe(
      'database_unusable: the database was written by a newer version of this program; install that version',
    )
  })

  test.each([0, 256])(
    'a database whose schema number was reset is refused (user_version %i)',
    async (version) => {
      using folder = new Folder()
      const path = makeDatabase(folder)
      const database = new Database(path)
      database.run(`PRAGMA user_version = ${version}`)
      database.close()
      expect(await refusalOf(() => openTestDatabase(path, { upgrade: true }))).toBe(
        'database_unusable: the database has no schema number; restore a backup',
      )
    },
  )
})
