import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { LogIndex } from '../../db/sqlite/file/log-index'

let folder: string
let path: string
let database: Database

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'anteroom-log-index-'))
  path = join(folder, 'some.sqlite')
  database = new Database(path)
  database.run('PRAGMA journal_mode = WAL')
  database.run('CREATE TABLE things (name TEXT)')
})
afterEach(() => {
  database.close()
  rmSync(folder, { recursive: true })
})

const add = (to: Database) => to.run("INSERT INTO things VALUES ('one')")

test('the stamp is another after each commit of this process, and the same until then', () => {
  const index = new LogIndex(path)
  const seen = [index.stamp]
  for (let times = 0; times < 3; times++) {
    database.run('BEGIN IMMEDIATE')
    add(database)
    expect(index.stamp).toBe(seen.at(-1) as number)
    database.run('COMMIT')
    database.query('SELECT * FROM things').all()
    seen.push(index.stamp)
    expect(index.stamp).toBe(seen.at(-1) as number)
  }
  expect(new Set(seen).size).toBe(4)
  database.run('BEGIN IMMEDIATE')
  add(database)
  database.run('ROLLBACK')
  expect(index.stamp).toBe(seen.at(-1) as number)
})

test('the stamp is another after each commit of another process, be the log written back and begun anew', async () => {
  const index = new LogIndex(path)
  const seen = [index.stamp]
  for (let times = 0; times < 3; times++) {
    const program = `
      const { Database } = require('bun:sqlite')
      const database = new Database(${JSON.stringify(path)})
      database.run("INSERT INTO things VALUES ('another')")
      database.close()`
    expect(await Bun.spawn([process.execPath, '-e', program]).exited).toBe(0)
    seen.push(index.stamp)
    database.run('PRAGMA wal_checkpoint(TRUNCATE)')
    add(database)
    seen.push(index.stamp)
  }
  expect(new Set(seen).size).toBe(7)
})

test('reading it takes no lock of the database away from this process', async () => {
  const index = new LogIndex(path)
  database.run('BEGIN IMMEDIATE')
  for (let times = 0; times < 10; times++) index.stamp
  const program = `
    const { Database } = require('bun:sqlite')
    new Database(${JSON.stringify(path)}).run('BEGIN IMMEDIATE')`
  const other = Bun.spawn([process.execPath, '-e', program], { stderr: 'pipe' })
  expect(await other.exited).not.toBe(0)
  expect(await new Response(other.stderr).text()).toContain('database is locked')
  database.run('ROLLBACK')
})

test('an index that is not there, too short or of another form tells nothing', () => {
  expect(new LogIndex(join(folder, 'none.sqlite')).stamp).toBeNull()
  const other = join(folder, 'other.sqlite')
  writeFileSync(other, '')
  writeFileSync(`${other}-shm`, new Uint8Array(32_768))
  const index = new LogIndex(other)
  expect(index.stamp).toBeNull()
  truncateSync(`${other}-shm`, 40)
  expect(index.stamp).toBeNull()
})
