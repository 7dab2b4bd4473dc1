import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import {
  closeSync,
  copyFileSync,
  existsSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { beginQuickCheck, type Verdict } from '../../db/sqlite/file/aside'
import { eventually } from '../support/eventually'
import { Folder } from '../support/folder'
import { FakeClock } from '../support/held-time'
import { millisOf } from '../support/standstill'
import { act, endOf } from './furniture'
import { openTestEngine } from './place'

let folder: Folder
let path: string
let engine: ReturnType<typeof openTestEngine>
let logged: string[]
const opened: number[] = []
beforeEach(() => {
  folder = new Folder()
  path = folder.file('a.sqlite')
  engine = openTestEngine(path)
  logged = []
})
afterEach(async () => {
  await engine.close()
  for (const file of opened.splice(0)) closeSync(file)
  folder[Symbol.dispose]()
})

const watch = () => engine.watch((line) => logged.push(line), false)
const write = (name: string) => endOf(engine.store.addOrganization(name, act))
function removingOnTheWay() {
  const entry = { ...act, action: 'member.export', record: null, outcome: 'done' } as const
  return [
    {
      ...entry,
      get outcome() {
        if (existsSync(path)) renameSync(path, `${path}.aside`)
        return 'done'
      },
    },
  ]
}

const lost =
  'not ready: the database file was removed or replaced; do not stop the server; first move the file and its -wal back, or rescue the data (docs/incident.md)'

/** The transaction counter, which the database stores in `user_version`. */
function transactions(): number {
  using database = new Database(path, { readonly: true })
  return (database.query<{ user_version: number }, []>('PRAGMA user_version').get()?.user_version ?? 0) >>> 8
}

test('db: 1,000 health checks within a second cause one committed test write', async () => {
  using time = new FakeClock()
  const watched = watch()
  const before = transactions()
  const answers = await Promise.all(Array.from({ length: 1_000 }, () => watched.isReady()))
  answers.push(await watched.isReady())
  expect(new Set(answers)).toEqual(new Set([true]))
  expect(transactions()).toBe(before + 1)
  time.pass(1_001)
  expect(await watched.isReady()).toBe(true)
  expect(transactions()).toBe(before + 2)
  expect(logged).toEqual([])
})

test('db: a health check right after a stored write makes no test write', async () => {
  using _ = new FakeClock()
  const watched = watch()
  expect(await write('North')).toBe('stored')
  const before = transactions()
  expect(await watched.isReady()).toBe(true)
  expect(transactions()).toBe(before)
})

test('db: health checks fail within a second while another process holds the lock, and recover', async () => {
  const watched = watch()
  using locking = new Database(path)
  locking.run('BEGIN IMMEDIATE')
  const both = async () =>
    expect(await Promise.all([watched.isReady(), watched.isReady()])).toEqual([false, false])
  const started = performance.now()
  expect(await millisOf(both)).toBeLessThan(1_700)
  expect(performance.now() - started).toBeGreaterThan(900)
  expect(await millisOf(async () => expect(await watched.isReady()).toBe(false))).toBeLessThan(500)
  locking.run('ROLLBACK')
  await eventually('a successful test write', async () => await watched.isReady())
  expect(logged).toEqual(['not ready: no write to the database succeeded within a second', 'ready again'])
})

describe.each([
  ['moved away', () => renameSync(path, `${path}.aside`), () => renameSync(`${path}.aside`, path)],
  [
    'without its write-ahead log',
    () => renameSync(`${path}-wal`, `${path}.aside`),
    () => renameSync(`${path}.aside`, `${path}-wal`),
  ],
  [
    'replaced by a copy',
    () => {
      renameSync(path, `${path}.aside`)
      copyFileSync(`${path}.aside`, path)
    },
    () => renameSync(`${path}.aside`, path),
  ],
])('db: a database file that is %s', (_, lose, putBack) => {
  test('serves reads and refuses writes until the file is put back', async () => {
    using time = new FakeClock()
    const watched = watch()
    expect(await write('North')).toBe('stored')
    lose()
    expect(await write('South')).toBe('storage_failed')
    expect(await watched.isReady()).toBe(false)
    expect((await engine.store.listOrganizations()).map(({ name }) => name)).toEqual(['North'])
    putBack()
    expect(await write('East')).toBe('stored')
    time.pass(1_001)
    expect(await watched.isReady()).toBe(true)
    expect((await engine.store.listOrganizations()).map(({ name }) => name)).toEqual(['North', 'East'])
    expect(logged).toEqual([lost, 'ready again'])
  })
})

test('db: a server is not ready for a second after a failure, even if a write succeeds', async () => {
  using time = new FakeClock()
  const watched = watch()
  renameSync(path, `${path}.aside`)
  expect(await write('North')).toBe('storage_failed')
  renameSync(`${path}.aside`, path)
  time.pass(999)
  expect(await write('East')).toBe('stored')
  expect(await watched.isReady()).toBe(false)
  time.pass(1)
  expect(await watched.isReady()).toBe(true)
})

test('db: a commit to a removed file is not reported as stored', async () => {
  const watched = watch()
  const found = engine.store.addOrganization('North', act)
  const removing = engine.store.appendAudit(removingOnTheWay())
  const ends = await Promise.all([endOf(found), endOf(removing)])
  expect(ends).toEqual(['storage_failed', 'storage_failed'])
  expect(await watched.isReady()).toBe(false)
  renameSync(`${path}.aside`, path)
})

test('db: closing a server keeps the write-ahead log of a file that replaced the database', async () => {
  expect(await write('North')).toBe('stored')
  for (const end of ['', '-wal', '-shm']) rmSync(`${path}${end}`)
  const next = openTestEngine(path)
  expect(await endOf(next.store.addOrganization('New', act))).toBe('stored')
  const log = readFileSync(`${path}-wal`)
  await engine.close()
  expect(readFileSync(`${path}-wal`).equals(log)).toBe(true)
  expect(await endOf(next.store.addOrganization('Newer', act))).toBe('stored')
  await next.close()
})

test('db: writes, purges and backups by other processes do not make the server report a lost file', async () => {
  const watched = watch()
  for (let round = 0; round < 3; round++) {
    const other = openTestEngine(path)
    expect(await endOf(other.store.addOrganization(`Other ${round}`, act))).toBe('stored')
    expect(await other.maintenance.purge()).toBe(true)
    await other.maintenance.backUp(folder.file(`copy-${round}`), null, act)
    await other.close()
    expect(await write(`Own ${round}`)).toBe('stored')
  }
  expect(await watched.isReady()).toBe(true)
  expect(logged).toEqual([])
})

describe('db: the page check at start', () => {
  const verdictOf = (file: string) => new Promise<Verdict>((tell) => beginQuickCheck(file, tell))

  test('the page check distinguishes sound, damaged and missing databases', async () => {
    expect(await verdictOf(path)).toBe('sound')
    await engine.close()
    const bytes = readFileSync(path)
    writeFileSync(path, bytes.fill(0xff, 5 * 4096, 12 * 4096))
    expect(await verdictOf(path)).toBe('damaged')
    expect(await verdictOf(folder.file('none'))).toBe('unchecked')
  })

  test('an unreadable directory makes the server not ready before the page check ends', async () => {
    const database = new Database(path, { readonly: true })
    const select = "SELECT rootpage AS page FROM sqlite_schema WHERE name = 'providers'"
    const { page } = database.query<{ page: number }, []>(select).get() as { page: number }
    database.close()
    await engine.close()
    const bytes = readFileSync(path)
    writeFileSync(path, bytes.fill(0xff, (page - 1) * 4096, page * 4096))
    engine = openTestEngine(path)
    const watched = watch()
    expect(await watched.isReady()).toBe(true)
    await expect(engine.feed.changesSince(null, 0)).rejects.toThrow('the database is damaged')
    expect(await watched.isReady()).toBe(false)
  })

  test('the server becomes ready when the damaged pages can be read again', async () => {
    await engine.close()
    const bytes = readFileSync(path)
    const last = bytes.length - 4096
    writeFileSync(path, Buffer.from(bytes).fill(0xff, last, last + 6))
    engine = openTestEngine(path)
    const watched = engine.watch((line) => logged.push(line), true)
    while (logged.length === 0) await Bun.sleep(5)
    expect(await watched.isReady()).toBe(false)
    const file = openSync(path, 'r+')
    // SQLite would lose its locks if the test closed the file earlier.
    opened.push(file)
    writeSync(file, bytes, last, 6, last)
    while (!(await watched.isReady())) await Bun.sleep(50)
    expect(logged).toEqual(['not ready: the database is damaged; run anteroom doctor', 'ready again'])
  }, 300_000)

  test('a server with a damaged page never becomes ready, even after a successful write', async () => {
    await engine.close()
    const [[page]] = new Database(path, { readonly: true })
      .query("SELECT rootpage FROM sqlite_schema WHERE name = 'replays_submitted'")
      .values() as [[number]]
    // Overwrites the header of an index page. Neither the start nor the write below reads this page.
    const at = (page - 1) * 4096
    writeFileSync(path, readFileSync(path).fill(0xff, at, at + 6))
    engine = openTestEngine(path)
    const watched = engine.watch((line) => logged.push(line), true)
    while (logged.length === 0) await Bun.sleep(5)
    expect(logged).toEqual(['not ready: the database is damaged; run anteroom doctor'])
    expect(await watched.isReady()).toBe(false)
    expect(await write('North')).toBe('stored')
    expect(await watched.isReady()).toBe(false)
  })
})
