import { Database } from 'bun:sqlite'
import { describe, expect, spyOn, test } from 'bun:test'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { Refusal } from '../../src/domain/errors'
import { Folder } from '../support/folder'
import { act, everything, fill, now } from './furniture'
import { openTestDatabase, openTestEngine, testKey } from './place'

const read = (database: Database, pragma: string) =>
  Object.values(database.query<Record<string, number | string>, []>(`PRAGMA ${pragma}`).get() ?? {})[0]

function refusalOf(open: () => unknown): { kind: string; message: string } {
  try {
    open()
  } catch (error) {
    if (error instanceof Refusal) return { kind: error.kind, message: error.message }
    throw error
  }
  throw new Error('the database was opened')
}

const unusable = (message: string) => ({ kind: 'database_unusable', message })

const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8)

describe('db: an open SQLite database', () => {
  test('the pragmas that protect the data are in force', () => {
    using folder = new Folder()
    const database = openTestDatabase(folder.file('a.sqlite'))
    const inForce = [
      'journal_mode',
      'synchronous',
      'foreign_keys',
      'secure_delete',
      'trusted_schema',
      'busy_timeout',
      'application_id',
    ].map((pragma) => [pragma, read(database, pragma)])
    expect(Object.fromEntries(inForce)).toEqual({
      journal_mode: 'wal',
      synchronous: 2,
      foreign_keys: 1,
      secure_delete: 1,
      trusted_schema: 0,
      busy_timeout: 0,
      application_id: 0x416e7465,
    })
    database.close()
  })

  test('opening prepares no statements for records', async () => {
    using folder = new Folder()
    await openTestEngine(folder.file('a.sqlite')).close()
    using prepared = spyOn(Database.prototype, 'prepare')
    const engine = openTestEngine(folder.file('a.sqlite'))
    const ofNouns = () => prepared.mock.calls.filter(([text]) => /"\w+"/.test(text))
    expect(ofNouns()).toEqual([])
    await engine.store.listPartners()
    expect(ofNouns().length).toBeGreaterThan(0)
    await engine.close()
  })

  test('all tables are STRICT', () => {
    using folder = new Folder()
    const database = openTestDatabase(folder.file('a.sqlite'))
    const tables = database
      .query<{ name: string; strict: number }, []>(
        "SELECT name, strict FROM pragma_table_list WHERE type = 'table'",
      )
      .all()
      .filter(({ name }) => !name.startsWith('sqlite_'))
    expect(tables.length).toBeGreaterThan(8)
    expect(tables.filter(({ strict }) => strict !== 1)).toEqual([])
    database.close()
  })

  test('deleted values are overwritten in the file', () => {
    using folder = new Folder()
    const path = folder.file('a.sqlite')
    const database = openTestDatabase(path)
    database.run('INSERT INTO settings (name, value) VALUES (?, ?)', ['mark', Buffer.from('canary-erased-1')])
    database.run('PRAGMA wal_checkpoint(TRUNCATE)')
    expect(readFileSync(path).includes('canary-erased-1')).toBe(true)
    database.run("DELETE FROM settings WHERE name = 'mark'")
    database.run('PRAGMA wal_checkpoint(TRUNCATE)')
    expect(readFileSync(path).includes('canary-erased-1')).toBe(false)
    database.close()
  })
})

describe('db: permissions of the SQLite files', () => {
  test('only the owner can read the database files, with any umask', () => {
    using folder = new Folder()
    const mask = process.umask(0)
    try {
      const store = openTestEngine(folder.file('a.sqlite'))
      const modes = readdirSync(folder.path).map((name) => [name, modeOf(folder.file(name))])
      expect(Object.fromEntries(modes)).toEqual({
        'a.sqlite': '600',
        'a.sqlite-shm': '600',
        'a.sqlite-wal': '600',
      })
      store.close()
    } finally {
      process.umask(mask)
    }
  })

  test('only the owner can read the database files, even if an empty world-readable file existed before', () => {
    using folder = new Folder()
    const path = folder.file('a.sqlite')
    writeFileSync(path, '')
    chmodSync(path, 0o644)
    const store = openTestEngine(path)
    expect(
      readdirSync(folder.path)
        .map((name) => [name, modeOf(folder.file(name))])
        .sort(),
    ).toEqual([
      ['a.sqlite', '600'],
      ['a.sqlite-shm', '600'],
      ['a.sqlite-wal', '600'],
    ])
    store.close()
  })
})

describe('db: opening a SQLite database', () => {
  test('an empty file becomes a new database if creation is allowed', () => {
    using folder = new Folder()
    const path = folder.file('a.sqlite')
    writeFileSync(path, '')
    const database = openTestDatabase(path)
    expect(read(database, 'user_version')).toBeGreaterThan(0)
    database.close()
  })

  test('a missing file is refused and not created, unless creation is allowed', () => {
    using folder = new Folder()
    const path = folder.file('a.sqlite')
    expect(refusalOf(() => openTestDatabase(path, { create: false }))).toEqual(
      unusable(`there is no database at ${path}; check --database, or run anteroom init`),
    )
    expect(readdirSync(folder.path)).toEqual([])
  })

  test('an empty file is refused unless creation is allowed', () => {
    using folder = new Folder()
    const path = folder.file('a.sqlite')
    writeFileSync(path, '')
    expect(refusalOf(() => openTestDatabase(path, { create: false })).kind).toBe('database_unusable')
    expect(statSync(path).size).toBe(0)
  })

  const strangers: [string, (path: string) => void, string][] = [
    [
      'a database of another application',
      (path) => {
        const database = new Database(path)
        database.run('PRAGMA application_id = 1196444487')
        database.run('CREATE TABLE theirs (id INTEGER)')
        database.close()
      },
      'the database file belongs to another application; choose another path',
    ],
    [
      'an unmarked database of another application',
      (path) => {
        const database = new Database(path)
        database.run('CREATE TABLE settings (name TEXT, value BLOB)')
        database.close()
      },
      'the database file belongs to another application; choose another path',
    ],
    [
      'a file that is not a database',
      (path) => writeFileSync(path, Buffer.alloc(8192, 'garbage!')),
      'the file is not a readable database; check its path, or restore a backup',
    ],
    [
      'a short text file',
      (path) => writeFileSync(path, 'notes\n'),
      'the file is not a readable database; check its path, or restore a backup',
    ],
    [
      'a database with a damaged header',
      (path) => {
        openTestDatabase(path).close()
        const bytes = readFileSync(path)
        bytes.write('XXXX', 0)
        writeFileSync(path, bytes)
      },
      'the file is not a readable database; check its path, or restore a backup',
    ],
    [
      'a database of a newer version',
      (path) => {
        openTestDatabase(path).close()
        const database = new Database(path)
        database.run('PRAGMA journal_mode = DELETE')
        database.run('PRAGMA user_version = 999')
        database.close()
      },
      'the database was written by a newer version of this program; install that version',
    ],
  ]

  test.each(strangers)('refuses %s and leaves it unchanged', (_, make, message) => {
    using folder = new Folder()
    const path = folder.file('a.sqlite')
    make(path)
    const before = readFileSync(path)
    expect(refusalOf(() => openTestDatabase(path))).toEqual(unusable(message))
    expect(readFileSync(path).equals(before)).toBe(true)
    expect(readdirSync(folder.path)).toEqual(['a.sqlite'])
  })

  test('a sandbox database is refused for production, and a production database for the sandbox', () => {
    using folder = new Folder()
    const [sandbox, production] = [folder.file('s.sqlite'), folder.file('p.sqlite')]
    openTestDatabase(sandbox, { purpose: 'sandbox' }).close()
    openTestDatabase(production, { purpose: 'production' }).close()
    expect(refusalOf(() => openTestDatabase(sandbox, { purpose: 'production' }))).toEqual(
      unusable('the database is not a production database'),
    )
    expect(refusalOf(() => openTestDatabase(production, { purpose: 'sandbox' }))).toEqual(
      unusable('the database is not a sandbox database'),
    )
    openTestDatabase(production, { purpose: 'production' }).close()
  })

  test('a second master key is refused', () => {
    using folder = new Folder()
    const path = folder.file('a.sqlite')
    openTestDatabase(path).close()
    expect(refusalOf(() => openTestDatabase(path, { masterKey: Buffer.alloc(32, 8) }))).toEqual(
      unusable('the master key does not fit this database; use its current master key'),
    )
    openTestDatabase(path, { masterKey: testKey }).close()
  })

  test('the path of a folder is refused', () => {
    using folder = new Folder()
    expect(() => openTestDatabase(folder.path)).toThrow()
  })

  test('opening after a kill keeps committed transactions and discards the unfinished transaction', () => {
    using folder = new Folder()
    const path = folder.file('a.sqlite')
    const killed = openTestDatabase(folder.file('killed.sqlite'))
    killed.run("INSERT INTO settings (name, value) VALUES ('done', x'01')")
    killed.run('BEGIN IMMEDIATE')
    killed.run("INSERT INTO settings (name, value) VALUES ('half', x'01')")
    for (const suffix of ['', '-wal'])
      copyFileSync(`${folder.file('killed.sqlite')}${suffix}`, `${path}${suffix}`)
    killed.close()
    expect(existsSync(`${path}-wal`)).toBe(true)
    const database = openTestDatabase(path)
    const names = database.query<{ name: string }, []>('SELECT name FROM settings').all()
    expect(names.map(({ name }) => name)).toContain('done')
    expect(names.map(({ name }) => name)).not.toContain('half')
    expect(read(database, 'integrity_check')).toBe('ok')
    database.close()
  })
})

test('db: a write-ahead log that grew during a long read is truncated after the next checkpoint', async () => {
  using folder = new Folder()
  const path = folder.file('a.sqlite')
  const database = openTestDatabase(path)
  const logBytes = () => statSync(`${path}-wal`).size
  const write = (bytes: number) =>
    database.run("INSERT OR REPLACE INTO settings (name, value) VALUES ('much', zeroblob(?))", [bytes])
  using reader = new Database(path, { readonly: true })
  reader.run('BEGIN')
  reader.query('SELECT count(*) FROM settings').get()
  write(80 * 2 ** 20)
  expect(logBytes()).toBeGreaterThan(80 * 2 ** 20)
  reader.run('COMMIT')
  for (let round = 0; round < 2; round++) write(1)
  expect(logBytes()).toBeLessThanOrEqual(64 * 2 ** 20)
  database.close()
})

test('db: rows with dangling references do not prevent a start', async () => {
  using folder = new Folder()
  const path = folder.file('a.sqlite')
  const engine = openTestEngine(path)
  const { partner, first } = await fill(engine)
  await engine.store.issueKey(partner.id, { kid: 'orphan', secret: Buffer.alloc(32), startsAt: now }, act)
  expect((await everything(engine)).keys?.map(({ kid }) => kid)).toEqual(['orphan'])
  await engine.close()
  const database = new Database(path)
  database.run('PRAGMA foreign_keys = OFF')
  database.run('UPDATE partner_keys SET partner_id = 99')
  database.run('UPDATE licenses SET region_id = 99')
  database.run('UPDATE partners SET organization_id = 99')
  database.close()
  const again = openTestEngine(path)
  const { keys, providers } = await everything(again)
  expect(keys).toEqual([])
  expect(providers.map(({ id }) => id)).toContain(first)
  expect((await again.store.listPartners()).map(({ organization }) => organization)).toEqual([null])
  const findings = await again.maintenance.check(0)
  expect(findings.find(({ check }) => check === 'orphans')?.state).toBe('bad')
  await again.close()
})
