import { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import { statSync } from 'node:fs'
import { runAside } from '../../db/sqlite/aside'
import { Folder } from '../support/folder'
import { openTestDatabase } from './place'

test('what gathers in the log while a copy is made is written back by who makes it, and no writer has to', async () => {
  using folder = new Folder()
  const path = folder.file('a.sqlite')
  const writer = openTestDatabase(path)
  writer.run('PRAGMA wal_autocheckpoint = 0')
  const write = (value: string) =>
    writer.run(`INSERT OR REPLACE INTO settings (name, value) VALUES ('much', ${value})`)
  write('zeroblob(5000000)')
  expect(statSync(path).size).toBeLessThan(1_000_000)
  await runAside(path, 'VACUUM INTO ?', folder.file('copy.sqlite'))
  expect(statSync(path).size).toBeGreaterThan(5_000_000)
  // From then on the log is used anew.
  const log = statSync(`${path}-wal`).size
  write("x'00'")
  expect(statSync(`${path}-wal`).size).toBe(log)
  writer.close()
  using copy = new Database(folder.file('copy.sqlite'))
  expect(copy.query('PRAGMA integrity_check').values()).toEqual([['ok']])
})
