import { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { Folder } from '../support/folder'
import { openTestDatabase, openTestEngine } from './place'

/** A database of which one table's first page was overwritten, as a bad disk does. */
function damaged(folder: Folder, table: string): string {
  const path = folder.file('a.sqlite')
  openTestDatabase(path).close()
  const raw = new Database(path)
  const [root] = raw
    .query<{ rootpage: number }, [string]>('SELECT rootpage FROM sqlite_schema WHERE name = ?')
    .all(table)
  raw.close()
  const bytes = readFileSync(path)
  bytes.fill(0x41, ((root?.rootpage ?? 0) - 1) * 4096, ((root?.rootpage ?? 0) - 1) * 4096 + 200)
  writeFileSync(path, bytes)
  return path
}

test.each(['audit', 'members', 'licenses'])(
  'a file that is damaged in %s is told by a check, and no backup is made of it',
  async (table) => {
    using folder = new Folder()
    const engine = openTestEngine(damaged(folder, table))
    const findings = await engine.upkeep.check(0)
    expect(findings.map(({ check }) => check)).toEqual([
      'schema',
      'settings',
      'integrity',
      'orphans',
      'audit log',
      'backup',
    ])
    const bad = findings.filter(({ state }) => state === 'bad')
    expect(bad.length).toBeGreaterThan(0)
    expect(bad.map(({ check }) => check)).toContain('integrity')
    const refusal = await engine.upkeep
      .backUp(folder.file('backup'), { actor: 'olive', at: 0 })
      .catch((error) => error)
    expect([refusal.kind, refusal.message]).toEqual([
      'database_unusable',
      'the database file is damaged; anteroom doctor tells more',
    ])
    expect(readdirSync(folder.path).filter((name) => name.startsWith('backup'))).toEqual([])
    await engine.close()
  },
)
