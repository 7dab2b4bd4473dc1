import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { Writer } from '../../db/sqlite/writer'
import { Folder } from '../support/folder'
import { openTestDatabase } from './place'

let folder: Folder
let path: string
let database: Database
let writer: Writer

beforeEach(() => {
  folder = new Folder()
  path = folder.file('a.sqlite')
  database = openTestDatabase(path)
  writer = new Writer(database)
})
afterEach(() => {
  database.close()
  folder[Symbol.dispose]()
})

const add = (to: Database) => to.run("INSERT INTO changes (noun, record_id) VALUES ('region', 1)")

test('db: each commit of this process changes the commit stamp, and other statements do not', async () => {
  const seen = [writer.stamp]
  for (let times = 0; times < 3; times++) {
    await writer.write(() => {
      add(database)
      database.query('SELECT * FROM changes').all()
    })
    seen.push(writer.stamp)
    expect(writer.stamp).toBe(seen.at(-1) as number)
  }
  expect(new Set(seen).size).toBe(4)
  const failing = writer.write(() => {
    throw new Error('refused')
  })
  expect(await failing.catch((error) => error.message)).toBe('refused')
  expect(writer.stamp).toBe(seen.at(-1) as number)
})

test('db: each commit of another connection changes the commit stamp, even after a checkpoint', () => {
  const seen = [writer.stamp]
  for (let times = 0; times < 3; times++) {
    using other = new Database(path)
    add(other)
    seen.push(writer.stamp)
    database.run('PRAGMA wal_checkpoint(TRUNCATE)')
    add(other)
    seen.push(writer.stamp)
    expect(writer.stamp).toBe(seen.at(-1) as number)
  }
  expect(new Set(seen).size).toBe(7)
})

test('db: the commit stamp is null if the database cannot be read', () => {
  const { stamp } = writer
  expect(stamp).toBeNumber()
  database.close()
  expect(writer.stamp).toBeNull()
  database = openTestDatabase(path)
})
