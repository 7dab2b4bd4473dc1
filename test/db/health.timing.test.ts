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
import { HeldTime } from '../support/held-time'
import { millisOf } from '../support/standstill'
import { act, endOf } from './furniture'
import { openTestEngine } from './place'

let folder: Folder
let path: string
let engine: ReturnType<typeof openTestEngine>
let told: string[]
const opened: number[] = []
beforeEach(() => {
  folder = new Folder()
  path = folder.file('a.sqlite')
  engine = openTestEngine(path)
  told = []
})
afterEach(async () => {
  await engine.close()
  for (const file of opened.splice(0)) closeSync(file)
  folder[Symbol.dispose]()
})

const watch = () => engine.watch((line) => told.push(line), false)
const write = (name: string) => endOf(engine.store.addOrganization(name, act))
/** An entry that has the file moved away while it is written. */
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
  'not ready: the database file was removed or replaced: do not stop the server, move it back with its -wal, or rescue it first (docs/running.md, Health)'

/** The number of transactions that the database has had, as its head counts them. */
function transactions(): number {
  using database = new Database(path, { readonly: true })
  return (database.query<{ user_version: number }, []>('PRAGMA user_version').get()?.user_version ?? 0) >>> 8
}

test('however often it is asked within a second, one write is tried, which is counted and reaches the log', async () => {
  using time = new HeldTime()
  const watched = watch()
  const before = transactions()
  const answers = await Promise.all(Array.from({ length: 1_000 }, () => watched.isReady()))
  answers.push(await watched.isReady())
  expect(new Set(answers)).toEqual(new Set([true]))
  expect(transactions()).toBe(before + 1)
  time.pass(1_001)
  expect(await watched.isReady()).toBe(true)
  expect(transactions()).toBe(before + 2)
  expect(told).toEqual([])
})

test('a write that was stored says as much as one that is tried', async () => {
  using _ = new HeldTime()
  const watched = watch()
  expect(await write('North')).toBe('stored')
  const before = transactions()
  expect(await watched.isReady()).toBe(true)
  expect(transactions()).toBe(before)
})

test('while another process holds the lock it is not ready after a second, and tells it once; then it is again', async () => {
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
  await eventually('the write that was tried', async () => await watched.isReady())
  expect(told).toEqual(['not ready: the database could not be written within a second', 'ready again'])
})

describe.each([
  ['moved away', () => renameSync(path, `${path}.aside`), () => renameSync(`${path}.aside`, path)],
  [
    'without its log',
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
])('a database that is %s', (_, lose, putBack) => {
  test('takes no write, goes on being read, and takes writes again once it is put back', async () => {
    using time = new HeldTime()
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
    expect(told).toEqual([lost, 'ready again'])
  })
})

test('it is ready again a second after the last failure, also where a write was made meanwhile', async () => {
  using time = new HeldTime()
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

test('what is committed to a file that was removed meanwhile is not told to be stored', async () => {
  const watched = watch()
  const found = engine.store.addOrganization('North', act)
  // The group is asked for and not yet begun: its file goes in the middle of it.
  const removing = engine.store.appendAudit(removingOnTheWay())
  const ends = await Promise.all([endOf(found), endOf(removing)])
  expect(ends).toEqual(['storage_failed', 'storage_failed'])
  expect(await watched.isReady()).toBe(false)
  renameSync(`${path}.aside`, path)
})

test('a server whose file was replaced leaves the log of the new one alone when it ends', async () => {
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

test('what others do with the database does not make it lost', async () => {
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
  expect(told).toEqual([])
})

describe('the check of pages', () => {
  const verdictOf = (file: string) => new Promise<Verdict>((tell) => beginQuickCheck(file, tell))

  test('says of a sound database that it is, of a damaged one that it is not, and of none nothing', async () => {
    expect(await verdictOf(path)).toBe('sound')
    await engine.close()
    const bytes = readFileSync(path)
    writeFileSync(path, bytes.fill(0xff, 5 * 4096, 12 * 4096))
    expect(await verdictOf(path)).toBe('damaged')
    expect(await verdictOf(folder.file('none'))).toBe('unchecked')
  })

  test('is not waited for where the directory cannot be read: the server is not ready', async () => {
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

  test('makes a server ready again once the pages can be read', async () => {
    await engine.close()
    const bytes = readFileSync(path)
    const last = bytes.length - 4096
    writeFileSync(path, Buffer.from(bytes).fill(0xff, last, last + 6))
    engine = openTestEngine(path)
    const watched = engine.watch((line) => told.push(line), true)
    while (told.length === 0) await Bun.sleep(5)
    expect(await watched.isReady()).toBe(false)
    const file = openSync(path, 'r+')
    // Not closed before the engine: that would give up the locks that SQLite holds on it.
    opened.push(file)
    writeSync(file, bytes, last, 6, last)
    while (!(await watched.isReady())) await Bun.sleep(50)
    expect(told).toEqual(['not ready: the database is damaged: anteroom doctor tells more', 'ready again'])
  }, 300_000)

  test('makes a server not ready for good, and is over before its database is closed', async () => {
    await engine.close()
    const [[page]] = new Database(path, { readonly: true })
      .query("SELECT rootpage FROM sqlite_schema WHERE name = 'replays_submitted'")
      .values() as [[number]]
    // The head of a page that neither a start nor this test's write reads.
    const at = (page - 1) * 4096
    writeFileSync(path, readFileSync(path).fill(0xff, at, at + 6))
    engine = openTestEngine(path)
    const watched = engine.watch((line) => told.push(line), true)
    while (told.length === 0) await Bun.sleep(5)
    expect(told).toEqual(['not ready: the database is damaged: anteroom doctor tells more'])
    expect(await watched.isReady()).toBe(false)
    expect(await write('North')).toBe('stored')
    expect(await watched.isReady()).toBe(false)
  })
})
