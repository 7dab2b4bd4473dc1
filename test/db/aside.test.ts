import { Database } from 'bun:sqlite'
import { describe, expect, test } from 'bun:test'
import { statSync } from 'node:fs'
import { beginQuickCheck, runAside, type Verdict } from '../../db/sqlite/file/aside'
import { Folder } from '../support/folder'
import { openTestDatabase } from './place'

/** Calls `read` on a database with a write-ahead log of 5 MB. Checks that the log is checkpointed afterwards. */
async function withLargeLog(folder: Folder, read: (path: string) => Promise<unknown>): Promise<void> {
  const path = folder.file('a.sqlite')
  const writer = openTestDatabase(path)
  writer.run('PRAGMA wal_autocheckpoint = 0')
  const write = (value: string) =>
    writer.run(`INSERT OR REPLACE INTO settings (name, value) VALUES ('much', ${value})`)
  write('zeroblob(5000000)')
  expect(statSync(path).size).toBeLessThan(1_000_000)
  await read(path)
  expect(statSync(path).size).toBeGreaterThan(5_000_000)
  const log = statSync(`${path}-wal`).size
  write("x'00'")
  expect(statSync(`${path}-wal`).size).toBe(log)
  writer.close()
}

describe('db: reading the whole database in a worker', () => {
  test('making a copy in a worker checkpoints the log', async () => {
    using folder = new Folder()
    const copyPath = folder.file('copy.sqlite')
    await withLargeLog(folder, (path) => runAside(path, 'VACUUM INTO ?', [copyPath]))
    using copy = new Database(copyPath)
    expect(copy.query('PRAGMA integrity_check').values()).toEqual([['ok']])
  })

  test('checking the pages in a worker checkpoints the log', async () => {
    using folder = new Folder()
    const { promise, resolve } = Promise.withResolvers<Verdict>()
    await withLargeLog(folder, async (path) => {
      beginQuickCheck(path, resolve)
      expect(await promise).toBe('sound')
    })
  })
})
