import type { Database } from 'bun:sqlite'
import { describe, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { copyPathOf } from '../../db/sqlite/migration'
import { Folder } from '../support/folder'
import { actAt } from './furniture'
import { openTestDatabase, openTestEngine } from './place'

// What somebody does who can write to the file and has no key: tells the program that the database is older than it is.

/** The last schema in which the audit log had no key. */
const lastUnkeyed = 5

const refusal = {
  kind: 'database_unusable',
  message: 'the number of its schema was set back in the database by somebody: restore a backup',
}

/** A database with some lines in its audit log, changed by somebody. */
async function changed(folder: Folder, change: (database: Database) => void): Promise<string> {
  const path = folder.file('a.sqlite')
  const engine = openTestEngine(path)
  for (const name of ['One', 'Two', 'Three']) await engine.store.addPartner(name, null, actAt(0))
  await engine.close()
  const database = openTestDatabase(path)
  change(database)
  database.run('PRAGMA wal_checkpoint(TRUNCATE)')
  database.close()
  return path
}

function setSchema(database: Database, schema: number): void {
  const version = database.query<{ user_version: number }, []>('PRAGMA user_version').get()?.user_version ?? 0
  database.run(`PRAGMA user_version = ${(version & ~0xff) | schema}`)
}

/** The log as it was kept before it had a key, with hashes that anybody can make. */
function writeUnkeyedLog(database: Database): void {
  database.run("DELETE FROM settings WHERE name = 'audit'")
  const { sql } = database
    .query<{ sql: string }, []>("SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = 'audit'")
    .get() ?? { sql: '' }
  database.run('DROP TABLE audit')
  database.run(sql)
  let previousHash = '0'.repeat(64)
  for (const id of [1, 2]) {
    const told = [id, 0, 'nobody', 'partner.add', `partner ${id}`, 'done']
    const text = JSON.stringify([previousHash, ...told])
    previousHash = new Bun.CryptoHasher('sha256').update(text).digest('hex')
    database.query('INSERT INTO audit VALUES (?, ?, ?, ?, ?, ?, ?)').run(...told, previousHash)
  }
}

/** How opening a database to upgrade it ends. */
function outcomeOf(path: string): unknown {
  try {
    openTestDatabase(path, { upgrade: true }).close()
    return 'opened'
  } catch (error) {
    const { kind, message } = error as typeof refusal
    return { kind, message }
  }
}

describe('a database whose schema was set back', () => {
  test('has no log that somebody else made hashed anew under its key', async () => {
    using folder = new Folder()
    const path = await changed(folder, (database) => {
      writeUnkeyedLog(database)
      setSchema(database, lastUnkeyed)
    })
    expect(outcomeOf(path)).toEqual(refusal)
    expect(existsSync(copyPathOf(path))).toBe(false)
  })

  test.each([3, 4, 5, 6])('to %i is refused, and left as it is', async (schema) => {
    using folder = new Folder()
    const path = await changed(folder, (database) => setSchema(database, schema))
    expect(outcomeOf(path)).toEqual(refusal)
  })

  test.each([0, 256])('to none, as user_version %i, is not taken for an empty one', async (version) => {
    using folder = new Folder()
    const path = await changed(folder, (database) => database.run(`PRAGMA user_version = ${version}`))
    expect(outcomeOf(path)).toEqual(refusal)
  })
})
