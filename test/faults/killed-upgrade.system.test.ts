import { Database } from 'bun:sqlite'
import { expect, setDefaultTimeout, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { copyPathOf, ourMigrations } from '../../db/sqlite/migration'
import { openTestDatabase } from '../db/place'
import { Folder } from '../support/folder'
import { isLong, printFigure, times } from '../support/long'

setDefaultTimeout(isLong ? 600_000 : 300_000)

const rows = 20_000
const count = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${rows}) SELECT i FROM n`
const wider = [
  ...ourMigrations,
  `CREATE TABLE more (id INTEGER PRIMARY KEY) STRICT; INSERT INTO more ${count}`,
]

/** Upgrades in a child process and kills it after some ms. Returns whether the upgrade was still running. */
async function upgradeKilled(path: string, millis: number): Promise<boolean> {
  const place = new URL('../db/place.ts', import.meta.url).pathname
  const script = `const { openTestDatabase } = await import(${JSON.stringify(place)})
    process.stdout.write('now')
    openTestDatabase(${JSON.stringify(path)}, { upgrade: true }, ${JSON.stringify(wider)})`
  const child = Bun.spawn([process.execPath, '-e', script], { stdout: 'pipe' })
  await child.stdout.getReader().read()
  await Bun.sleep(millis)
  child.kill('SIGKILL')
  await child.exited
  return child.signalCode === 'SIGKILL'
}

function makeDatabase(folder: Folder): string {
  const path = folder.file('a.sqlite')
  using database = openTestDatabase(path)
  database.run(`INSERT INTO organizations SELECT i, i, 1, 0 FROM (${count})`)
  return path
}

test('faults: an upgrade killed at a random moment leaves the old or the new database', async () => {
  using once = new Folder()
  const path = makeDatabase(once)
  const beganAt = performance.now()
  openTestDatabase(path, { upgrade: true }, wider).close()
  const millis = performance.now() - beganAt
  const rounds = times(5, 100)
  let inside = 0
  for (let round = 0; round < rounds; round++) {
    using folder = new Folder()
    const path = makeDatabase(folder)
    if (await upgradeKilled(path, (millis * (round + Math.random())) / rounds)) inside++
    {
      using raw = new Database(path)
      expect(raw.query('PRAGMA integrity_check').values()).toEqual([['ok']])
      expect(raw.query('SELECT count(*) FROM organizations').values()).toEqual([[rows]])
    }
    using database = openTestDatabase(path, { upgrade: true }, wider)
    expect(database.query('SELECT count(*) FROM more').values()).toEqual([[rows]])
    const names = readdirSync(folder.path)
    expect(names.filter((name) => name.includes('unfinished'))).toEqual([])
    expect(names).toContain(copyPathOf('a.sqlite', wider))
  }
  printFigure(`upgrade: ${inside} of ${rounds} kills came before its end (run time ${Math.round(millis)} ms)`)
  expect(inside).toBeGreaterThan(0)
})
