import type { Database } from 'bun:sqlite'
import { afterEach, beforeEach, describe, expect, spyOn, test } from 'bun:test'
import { closeSync, openSync, writeSync } from 'node:fs'
import { queriesOn, settingsOf } from '../../db/sqlite/query-engine'
import { directoryFeed, sqliteStore } from '../../db/sqlite/store'
import { Writer } from '../../db/sqlite/writer'
import { Refusal } from '../../src/domain/errors'
import type { Maintenance } from '../../src/domain/ports/maintenance'
import { masterKeyOf } from '../../src/vault/vault'
import { withActs } from '../support/acts'
import { Folder } from '../support/folder'
import { act, type Connection, endOf, fill, now, stored, update, versionOf } from './furniture'
import { openTestDatabase, openTestEngine, testKey } from './place'

let folder: Folder
let database: Database
let connection: Connection
let furniture: Awaited<ReturnType<typeof fill>>

beforeEach(async () => {
  folder = new Folder()
  database = openTestDatabase(folder.file('a.sqlite'))
  const queries = queriesOn(database, settingsOf(database).openVault('sandbox', masterKeyOf(testKey)))
  const writer = new Writer(database)
  connection = {
    store: withActs({
      store: sqliteStore(queries, writer),
      maintenance: { verifyAudit: async (noted) => queries.audit.verify(noted) } as Maintenance,
    }),
    feed: directoryFeed(
      queries,
      () => writer.stamp,
      () => {},
    ),
    close: async () => database.close(),
  }
  furniture = await fill(connection)
})

afterEach(async () => {
  await connection.close()
  folder[Symbol.dispose]()
})

const large = [{ question: 'Q', answer: 'x'.repeat(100_000) }]

const pages = () =>
  database.query<{ page_count: number }, []>('PRAGMA page_count').get()?.page_count as number

const faults: [what: string, fault: string, stop: () => void, mend: () => void][] = [
  [
    'full',
    'the disk is full; free some space',
    () => database.run(`PRAGMA max_page_count = ${pages()}`),
    () => database.run('PRAGMA max_page_count = 1000000'),
  ],
  [
    'read-only',
    'the database is read-only; check the permissions of its files and folder',
    () => database.run('PRAGMA query_only = ON'),
    () => database.run('PRAGMA query_only = OFF'),
  ],
]

describe.each(faults)('db: storage that is %s', (_, fault, stop, mend) => {
  const submit = (name: string) => furniture.intake(name, { screeningAnswers: large })
  const find = (name: string) => connection.store.findMember(furniture.partner.id, name)

  test('a write to a full or read-only disk fails with storage_failed and stores nothing', async () => {
    stop()
    const refusal = await submit('robin').catch((error: unknown) => error)
    expect(refusal).toBeInstanceOf(Refusal)
    expect(refusal).toMatchObject({
      kind: 'storage_failed',
      message: fault,
    })
    expect(String(refusal)).not.toMatch(/sqlite|robin|example/i)
    expect(await find('robin')).toBeNull()
    expect(
      await endOf(
        connection.store.appendAudit(
          Array(500).fill({ ...act, action: 'member.export', record: null, outcome: 'x'.repeat(500) }),
        ),
      ),
    ).toBe('storage_failed')
  })

  test('reads work on a full or read-only disk, and writes work again after a repair', async () => {
    await stored(furniture.intake('before'))
    stop()
    expect(await endOf(submit('robin'))).toBe('storage_failed')
    expect(await find('before')).not.toBeNull()
    expect(await connection.store.listRequests({})).toHaveLength(1)
    expect(await versionOf(connection)).toBeDefined()
    mend()
    expect(await endOf(submit('robin'))).toBe('stored')
    expect(await find('robin')).not.toBeNull()
  })

  test('each of many concurrent writes is correctly reported as stored or failed', async () => {
    stop()
    const names = Array.from({ length: 30 }, (_, index) => `m${index}`)
    const version = await versionOf(connection)
    const ends = await Promise.all(
      names.map((name, index) =>
        endOf(
          furniture.intake(name, {
            version,
            member: { ...update, email: `${name}@example.com` },
            screeningAnswers: index % 3 ? [] : large,
            submittedAt: now,
          }),
        ),
      ),
    )
    expect(ends).toContain('storage_failed')
    expect(new Set(ends).difference(new Set(['stored', 'storage_failed']))).toEqual(new Set())
    const isThere = await Promise.all(names.map(async (name) => (await find(name)) !== null))
    expect(isThere).toEqual(ends.map((end) => end === 'stored'))
    mend()
    const again = await Promise.all(
      names.filter((_, index) => !isThere[index]).map((name) => endOf(submit(name))),
    )
    expect(new Set(again)).toEqual(new Set(['stored']))
    expect(await connection.store.verifyAudit(null)).toMatchObject({ intact: true })
  })
})

describe('db: a failing commit', () => {
  test('fails all writes of the group', async () => {
    const version = await versionOf(connection)
    const submit = (name: string) =>
      endOf(furniture.intake(name, { version, member: { ...update, email: `${name}@example.com` } }))
    database.run('PRAGMA query_only = ON')
    let fault: unknown
    try {
      database.run('DELETE FROM settings')
    } catch (error) {
      fault = error
    }
    database.run('PRAGMA query_only = OFF')

    const run = database.run.bind(database)
    const failing = spyOn(database, 'run').mockImplementation(((...words: Parameters<typeof run>) => {
      if (words[0] === 'COMMIT') throw fault
      return run(...words)
    }) as typeof run)
    const names = ['robin', 'kim', 'lee']
    expect(await Promise.all(names.map(submit))).toEqual(Array(3).fill('storage_failed'))
    failing.mockRestore()
    const find = (name: string) => connection.store.findMember(furniture.partner.id, name)
    expect(await Promise.all(names.map(find))).toEqual([null, null, null])
    expect(await Promise.all(names.map(submit))).toEqual(Array(3).fill('stored'))
  })
})

test('db: reading the directory from a damaged page fails with storage_failed instead of an SQLite error', async () => {
  const path = folder.file('a.sqlite')
  const { rootpage: page = 0, size = 0 } =
    database
      .query<{ rootpage: number; size: number }, []>(
        "SELECT rootpage, page_size AS size FROM sqlite_schema, pragma_page_size WHERE name = 'changes'",
      )
      .get() ?? {}
  database.run('PRAGMA wal_checkpoint(TRUNCATE)')
  await connection.close()
  const file = openSync(path, 'r+')
  writeSync(file, Buffer.alloc(size, 0xff), 0, size, (page - 1) * size)
  closeSync(file)
  connection = openTestEngine(path)
  expect(await endOf(connection.feed.changesSince(null, 0))).toBe('storage_failed')
})
