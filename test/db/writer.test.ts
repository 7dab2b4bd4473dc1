import { Database } from 'bun:sqlite'
import { describe, expect, test } from 'bun:test'
import { Writer } from '../../db/sqlite/writer'
import { Refusal } from '../../src/domain/errors'
import { act } from './furniture'
import { openPlace, openTestEngine } from './place'

test('db: the SQLite writer commits at most 128 of 500 queued writes before it yields to the event loop', async () => {
  using database = new Database(':memory:')
  const writer = new Writer(database)
  let written = 0
  const writes = Array.from({ length: 500 }, () => writer.write(() => ++written))
  const steps: number[] = []
  for (let before = 0; written < writes.length; ) {
    await new Promise((resolve) => setImmediate(resolve))
    steps.push(written - before)
    before = written
  }
  expect(await Promise.all(writes)).toEqual(writes.map((_, index) => index + 1))
  expect(Math.max(...steps)).toBeLessThanOrEqual(128)
})

test('db: closing an engine first commits the queued writes', async () => {
  await using place = await openPlace()
  const engine = openTestEngine(`${place.path}-other`)
  const writes = Array.from({ length: 200 }, (_, index) =>
    engine.store.addPartner(`Partner ${index}`, null, act),
  )
  await engine.close()
  expect((await Promise.allSettled(writes)).filter(({ status }) => status === 'rejected')).toEqual([])
  const again = openTestEngine(`${place.path}-other`)
  expect(await again.store.listPartners()).toHaveLength(200)
  await again.close()
})

describe('db: SQLite writer', () => {
  const openTable = () => {
    const database = new Database(':memory:')
    database.run('PRAGMA foreign_keys = ON')
    database.run('CREATE TABLE kept (name TEXT PRIMARY KEY, padding BLOB)')
    database.run('CREATE TABLE child (parent TEXT REFERENCES kept DEFERRABLE INITIALLY DEFERRED)')
    return database
  }
  const keep = (database: Database, name: string, bytes = 1) =>
    database.run('INSERT INTO kept VALUES (?, zeroblob(?))', [name, bytes])
  const namesIn = (database: Database) =>
    database
      .query<{ name: string }, []>('SELECT name FROM kept')
      .all()
      .map(({ name }) => name)
  const neighbours = Array.from({ length: 100 }, (_, index) => `n-${index}`)
  const inOneGroup = (database: Database, fail: () => void, place: number) => {
    const writer = new Writer(database)
    const works = neighbours.map(
      (name): (() => void) =>
        () =>
          keep(database, name),
    )
    const all = works.toSpliced(place, 0, fail).map((work) => writer.write(work))
    return { writer, ended: Promise.allSettled(all) }
  }

  const failures: [how: string, fail: (database: Database) => void, error: object][] = [
    [
      'a constraint violation',
      (database) => {
        keep(database, 'failing')
        keep(database, 'failing')
      },
      { code: 'SQLITE_CONSTRAINT_PRIMARYKEY' },
    ],
    [
      'an error after writing',
      (database) => {
        keep(database, 'failing')
        throw new Error('too late')
      },
      { message: 'too late' },
    ],
    [
      'a refusal after writing',
      (database) => {
        keep(database, 'failing')
        throw new Refusal('email_taken', 'taken')
      },
      { kind: 'email_taken' },
    ],
  ]

  const cases = failures.flatMap(([how, fail, error]) =>
    [0, 50, 100].map((place) => [how, place, fail, error] as const),
  )

  test.each(cases)(
    '%s in the write at position %i of a group does not affect the other writes',
    async (...row) => {
      const [, place, fail, error] = row
      using database = openTable()
      const ended = await inOneGroup(database, () => fail(database), place).ended
      expect(ended[place]).toMatchObject({ status: 'rejected', reason: error })
      expect(ended.filter(({ status }) => status === 'fulfilled')).toHaveLength(100)
      expect(namesIn(database).sort()).toEqual(neighbours.toSorted())
    },
  )

  const fatal: [how: string, fail: (database: Database) => void, error: object][] = [
    [
      'a full disk',
      (database) => {
        keep(database, 'failing')
        keep(database, 'large', 10_000_000)
      },
      { kind: 'storage_failed' },
    ],
    [
      'a statement that rolls back the transaction',
      (database) => {
        keep(database, 'failing')
        database.run("INSERT OR ROLLBACK INTO kept VALUES ('failing', NULL)")
      },
      { code: 'SQLITE_CONSTRAINT_PRIMARYKEY' },
    ],
    [
      'a foreign key violation at COMMIT',
      (database) => void database.run("INSERT INTO child VALUES ('nobody')"),
      { code: 'SQLITE_CONSTRAINT_FOREIGNKEY' },
    ],
  ]

  test.each(fatal)(
    '%s makes the whole group fail and store nothing, and the next write succeeds',
    async (...row) => {
      using database = openTable()
      database.run('PRAGMA max_page_count = 1000')
      const { writer, ended } = inOneGroup(database, () => row[1](database), 50)
      const rejected = { status: 'rejected', reason: expect.objectContaining(row[2]) }
      expect(await ended).toEqual(Array(101).fill(rejected))
      expect(namesIn(database)).toEqual([])
      expect(database.inTransaction).toBe(false)
      await writer.write(() => void keep(database, 'next'))
      expect(namesIn(database)).toEqual(['next'])
    },
  )
})

test('db: the SQLite writer counts the writes of each commit and the groups that failed', async () => {
  using database = new Database(':memory:')
  const writer = new Writer(database)
  const writes = Promise.all(Array.from({ length: 3 }, () => writer.write(() => {})))
  expect(writer.depth).toBe(3)
  await writes
  await writer.write(() => {})
  expect(writer.depth).toBe(0)
  expect([writer.groupSizes.counts, writer.groupSizes.sum]).toEqual([[1, 0, 1, 0, 0, 0, 0, 0, 0], 4])
  expect(writer.commitMillis.counts.reduce((sum, count) => sum + count)).toBe(2)
  expect([writer.commitMillis.sum > 0, writer.failedGroups]).toEqual([true, 0])
  await writer.write(() => Promise.reject(database.run('nonsense'))).catch(() => {})
  expect([writer.groupSizes.sum, writer.failedGroups]).toEqual([5, 0])
  const ending = () => {
    database.run('ROLLBACK')
    throw new Error('the whole transaction')
  }
  await writer.write(ending).catch(() => {})
  expect([writer.groupSizes.sum, writer.failedGroups]).toEqual([5, 1])
})
