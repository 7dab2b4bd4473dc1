import { Database } from 'bun:sqlite'
import { describe, expect, test } from 'bun:test'
import { copyFileSync, existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { basename } from 'node:path'
import { openEngine } from '../../db/sqlite/engine'
import { copyPathOf } from '../../db/sqlite/migrate'
import { Refusal } from '../../src/domain/errors'
import { readMasterKey } from '../../src/vault/master-key-file'
import { createVault } from '../../src/vault/vault'
import { Folder } from '../support/folder'
import { openTestDatabase } from './place'

const fixtures = new URL('../../fixtures', import.meta.url).pathname
const masterKey = readMasterKey(`${fixtures}/first-release.sqlite.key`)
const vault = createVault(masterKey)
const production = { purpose: 'production' as const, masterKey, create: false }

/** A database that the first release made and used: partners, keys of every kind, requests in every state. */
function firstRelease(folder: Folder): string {
  const path = folder.file('a.sqlite')
  copyFileSync(`${fixtures}/first-release.sqlite`, path)
  return path
}

const upgrade = (path: string) => openTestDatabase(path, { ...production, upgrade: true })

function messageOf(work: () => unknown): string {
  try {
    work()
  } catch (error) {
    if (error instanceof Refusal) return `${error.kind}: ${error.message}`
    throw error
  }
  return 'nothing'
}

/** Every row of every table; what is sealed by what it holds, since each sealing looks different. */
function contentOf(database: Database, open: (sealed: Uint8Array, row: Row, table: string) => Uint8Array) {
  const tables = database
    .query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
    .all()
  return Object.fromEntries(
    tables.map(({ name }) => {
      const rows = database.query<Row, []>(`SELECT * FROM ${name} ORDER BY 1, 2`).all()
      // The state of the audit log is new, and its hashes are under another key.
      const kept = rows.filter((row) => row.name !== 'audit').map(({ hash: _, ...row }) => row)
      return [name, kept.map((row) => opened(row, name, open))]
    }),
  )
}

type Row = Record<string, string | number | Uint8Array | null>

function opened(
  row: Row,
  table: string,
  open: (sealed: Uint8Array, row: Row, table: string) => Uint8Array,
): Row {
  const entries = Object.entries(row).map(([column, value]) => {
    const isSealed = column.startsWith('sealed_') || (column === 'value' && row.name === 'key_proof')
    return [
      column,
      isSealed && value ? Buffer.from(open(value as Uint8Array, row, table)).toString('hex') : value,
    ]
  })
  return Object.fromEntries(entries)
}

function placeOf(row: Row, table: string) {
  if (table === 'partner_keys') {
    const context = [Number(row.partner_id), String(row.kid)]
    return { table, column: 'sealed_secret', recordKey: String(row.record_key), context }
  }
  if (table === 'settings') return { table, column: 'value', recordKey: 'key_proof' }
  return { table, column: 'sealed_screening_answers', recordKey: String(row.record_key) }
}

const asOfFirst = (sealed: Uint8Array, row: Row, table: string) =>
  vault.openFirst(sealed, placeOf(row, table).recordKey)
const asOfNow = (sealed: Uint8Array, row: Row, table: string) => vault.open(sealed, placeOf(row, table))

function contentOfFile(path: string, open: typeof asOfNow) {
  const database = new Database(path)
  const content = contentOf(database, open)
  database.close()
  return content
}

describe('a database of the first release', () => {
  test('keeps every row, every sealed value and every id that was ever given', () => {
    using folder = new Folder()
    const path = firstRelease(folder)
    const before = contentOfFile(path, asOfFirst)
    expect(before.booking_requests?.map(({ state }) => state)).toContain('accepted')
    expect(before.partner_keys?.map(({ end_reason }) => end_reason)).toContain('cancelled')
    const database = upgrade(path)
    expect(contentOf(database, asOfNow)).toEqual(before)
    database.close()
  })

  test('gives no id again that a row had which is gone', () => {
    using folder = new Folder()
    const path = firstRelease(folder)
    const raw = new Database(path)
    raw.run('DELETE FROM booking_requests WHERE id >= 7')
    raw.run('DELETE FROM changes')
    const sequences = raw.query('SELECT * FROM sqlite_sequence ORDER BY name').all()
    raw.close()
    const database = upgrade(path)
    expect(database.query('SELECT * FROM sqlite_sequence ORDER BY name').all()).toEqual(sequences)
    database.run("INSERT INTO changes (noun, record_id) VALUES ('taken', 1)")
    const [last] = database.query<{ version: number }, []>('SELECT version FROM changes').all()
    expect(sequences).toContainEqual({ name: 'changes', seq: (last?.version ?? 0) - 1 })
    database.close()
  })

  test('has the constraints of a new database, each that lists words under a name', () => {
    using folder = new Folder()
    const schemaOf = (database: Database) => {
      const sql = 'SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name'
      const rows = database.query<Record<string, string>, []>(sql).all()
      database.close()
      return rows
    }
    const upgraded = schemaOf(upgrade(firstRelease(folder)))
    expect(upgraded).toEqual(schemaOf(openTestDatabase(folder.file('new.sqlite'))))
    const checks = upgraded.flatMap(({ sql }) => (sql ?? '').match(/^.*\bCHECK\b.*$/gm) ?? [])
    const listing = checks.filter((line) => /'\w{2,}'/.test(line))
    expect(listing).toHaveLength(6)
    expect(listing.filter((line) => !/^\s*CONSTRAINT \w+ CHECK/.test(line))).toEqual([])
    expect(upgraded.map(({ name }) => name)).toContain('audit_record')
  })

  test('is kept beside it as it was, for its owner alone', () => {
    using folder = new Folder()
    const path = firstRelease(folder)
    const before = contentOfFile(path, asOfFirst)
    upgrade(path).close()
    const copy = copyPathOf(path)
    expect((statSync(copy).mode & 0o777).toString(8)).toBe('600')
    expect(contentOfFile(copy, asOfFirst)).toEqual(before)
    // The first release opens it: it takes all of this for the number of the schema.
    expect(new Database(copy).query('PRAGMA user_version').values()).toEqual([[1]])
    expect(readdirSync(folder.path).sort()).toEqual(['a.sqlite', basename(copyPathOf(path))])
  })

  test('has nothing sealed anew that is not what stands there: such a value opens nowhere', () => {
    using folder = new Folder()
    const path = firstRelease(folder)
    const raw = new Database(path)
    raw.run(`UPDATE partner_keys SET (record_key, sealed_secret) =
      (SELECT record_key, sealed_screening_answers FROM booking_requests WHERE id = 1) WHERE id = 1`)
    raw.run("UPDATE booking_requests SET sealed_screening_answers = x'01' WHERE id = 2")
    raw.close()
    const database = upgrade(path)
    const [key] = database.query<Row, []>('SELECT * FROM partner_keys WHERE id = 1').all()
    const [request] = database.query<Row, []>('SELECT * FROM booking_requests WHERE id = 2').all()
    expect(() => asOfNow(key?.sealed_secret as Uint8Array, key as Row, 'partner_keys')).toThrow()
    expect(request?.sealed_screening_answers).toEqual(Uint8Array.of(1))
    database.close()
  })

  describe('has its audit log', () => {
    /** The newest lines, and what a check of the whole log finds. */
    async function upgraded(path: string) {
      upgrade(path).close()
      const engine = openEngine({ path, purpose: 'production', vault, create: false, upgrade: false })
      const answer = { lines: await engine.store.listAudit(2), verdict: await engine.store.verifyAudit(null) }
      await engine.close()
      return answer
    }

    test('under keyed hashes', async () => {
      using folder = new Folder()
      const { lines, verdict } = await upgraded(firstRelease(folder))
      expect(verdict).toEqual({ intact: true, head: expect.anything(), foundBrokenAt: null })
      expect(lines.map(({ action }) => action)).not.toContain('audit.found-broken')
    })

    test.each([
      ['a changed line', "UPDATE audit SET actor = 'mallory' WHERE id = 3", 3],
      ['a line gone', 'DELETE FROM audit WHERE id = 3', 3],
      ['a tail cut off', 'DELETE FROM audit WHERE id > 5', 6],
      ['a line of no number', 'UPDATE audit SET id = -4 WHERE id = 1', 1],
    ])('as it stands where it had %s, and a line that tells where', async (_, statement, id) => {
      using folder = new Folder()
      const path = firstRelease(folder)
      const raw = new Database(path)
      raw.run('DROP TRIGGER audit_keeps_lines')
      raw.run('DROP TRIGGER audit_keeps_words')
      const given = raw.query<{ id: number }, []>('SELECT max(id) AS id FROM audit').get()?.id ?? 0
      raw.run(statement)
      const before = raw.query('SELECT id, at, actor, action, record, outcome FROM audit ORDER BY id').all()
      raw.close()
      const { lines, verdict } = await upgraded(path)
      const told = { action: 'audit.found-broken', actor: 'upgrade', record: `line ${id}` }
      expect(lines.at(-1)).toMatchObject({ ...told, id: given + 1 })
      const after = new Database(path)
      expect(
        after
          .query('SELECT id, at, actor, action, record, outcome FROM audit WHERE id <= ? ORDER BY id')
          .all(given),
      ).toEqual(before)
      after.close()
      // What stands in no place of the log goes on being found.
      if (statement.includes('-4')) expect(verdict).toMatchObject({ intact: false, id: -4 })
      else expect(verdict).toMatchObject({ intact: true, foundBrokenAt: given + 1 })
    })
  })

  test('is left as it is, and told of, by whoever does not upgrade it', () => {
    using folder = new Folder()
    const path = firstRelease(folder)
    const before = readFileSync(path)
    expect(messageOf(() => openTestDatabase(path, production))).toBe(
      'database_unusable: the database has an older schema: stop its server, then run `anteroom migrate`',
    )
    expect(readFileSync(path).equals(before)).toBe(true)
    expect(readdirSync(folder.path)).toEqual(['a.sqlite'])
  })

  test('is left as it is under another master key', () => {
    using folder = new Folder()
    const path = firstRelease(folder)
    const before = readFileSync(path)
    const options = { ...production, masterKey: Buffer.alloc(32, 9), upgrade: true }
    expect(messageOf(() => openTestDatabase(path, options))).toBe(
      'database_unusable: the master key is not the one that this database was sealed under',
    )
    expect(readFileSync(path).equals(before)).toBe(true)
    expect(existsSync(copyPathOf(path))).toBe(false)
  })

  test('is left as it is while anybody else has it open, even one who only looks', () => {
    using folder = new Folder()
    const path = firstRelease(folder)
    const server = new Database(path)
    server.run('PRAGMA journal_mode = WAL')
    expect(server.query('SELECT count(*) FROM partners').values()).toEqual([[4]])
    expect(messageOf(() => upgrade(path))).toBe(
      'database_unusable: the database has an older schema, and another program has it open: stop that first',
    )
    expect(existsSync(copyPathOf(path))).toBe(false)
    expect(server.query('PRAGMA user_version').values()).toEqual([[1]])
    server.run("INSERT INTO organizations VALUES (99, 'Written meanwhile', 1, 0)")
    server.close()
    const database = upgrade(path)
    expect(database.query('SELECT name FROM organizations WHERE id = 99').values()).toEqual([
      ['Written meanwhile'],
    ])
    database.close()
  })
})

const rounds = Array.from({ length: process.env.TEST_LONG ? 60 : 8 }, (_, index) => index)

test.each(rounds)(
  'an upgrade that is killed leaves the old database or the new one (round %i)',
  async (round) => {
    using folder = new Folder()
    const path = firstRelease(folder)
    const before = contentOfFile(path, asOfFirst)
    const place = new URL('./place.ts', import.meta.url).pathname
    const child = Bun.spawn(
      [
        process.execPath,
        '-e',
        `const { openTestDatabase } = await import(${JSON.stringify(place)})
       const masterKey = Buffer.from(${JSON.stringify(Buffer.from(masterKey).toString('hex'))}, 'hex')
       process.stdout.write('now')
       openTestDatabase(${JSON.stringify(path)}, { purpose: 'production', masterKey, create: false, upgrade: true })`,
      ],
      { stdout: 'pipe' },
    )
    await child.stdout.getReader().read()
    await Bun.sleep(round * 2 + Math.random() * 4)
    child.kill('SIGKILL')
    await child.exited
    const copy = copyPathOf(path)
    if (existsSync(copy) && (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0) {
      // The copy put back over it, as an operator would, is not destroyed either.
      copyFileSync(copy, folder.file('back.sqlite'))
      copyFileSync(`${path}-wal`, folder.file('back.sqlite-wal'))
      expect(messageOf(() => openTestDatabase(folder.file('back.sqlite'), production))).toContain(
        'another database',
      )
    }
    const raw = new Database(path)
    const isOld = raw.query<{ user_version: number }, []>('PRAGMA user_version').get()?.user_version === 1
    expect(contentOf(raw, isOld ? asOfFirst : asOfNow)).toEqual(before)
    expect(raw.query('PRAGMA integrity_check').values()).toEqual([['ok']])
    raw.close()
    const database = upgrade(path)
    expect(contentOf(database, asOfNow)).toEqual(before)
    database.close()
  },
)
