import { Database } from 'bun:sqlite'
import { describe, expect, test } from 'bun:test'
import { copyFileSync, existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { basename } from 'node:path'
import { answersPlace, memberPlace, secretPlace } from '../../db/sealed/binding'
import { openVault } from '../../db/sqlite/data-key'
import { openEngine } from '../../db/sqlite/engine'
import { copyPathOf } from '../../db/sqlite/migration'
import { schemaFaults } from '../../db/sqlite/schema-faults'
import { Refusal } from '../../src/domain/errors'
import type { SealedPlace, Vault } from '../../src/domain/vault'
import { parseMasterKey } from '../../src/vault/master-key-file'
import { masterKeyOf } from '../../src/vault/vault'
import { Folder } from '../support/folder'
import { makeFormer } from '../support/former'
import { isLong, tellFigure, times } from '../support/long'
import { openTestDatabase } from './place'

const fixtures = new URL('../../fixtures', import.meta.url).pathname
const masterKey = parseMasterKey(readFileSync(`${fixtures}/first-release.sqlite.key`, 'utf8'))
const theKey = masterKeyOf(masterKey)
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

type Row = Record<string, string | number | Uint8Array | null>

const added = ['replays', 'request_notes']

/** Every row of every table as the first release has it: members in the clear, and what is sealed by what it holds. */
function contentOf(database: Database): Record<string, Row[]> {
  const all = (sql: string) => database.query<Row, []>(sql).all()
  // A table that a newer schema has added is empty, and left out like its columns.
  const names = all("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
    .map(({ name }) => name)
    .filter((name) => !added.includes(`${name}`) || all(`SELECT * FROM ${name}`).length > 0)
  const isFirst =
    database.query<{ user_version: number }, []>('PRAGMA user_version').get()?.user_version === 1
  const vault = isFirst ? null : openVault(database, 'production', theKey)
  const open = (sealed: unknown, place: SealedPlace) => {
    const bytes = sealed as Uint8Array
    return vault ? vault.open(bytes, place) : theKey.vault.openFirst(bytes, place.recordKey)
  }
  const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')
  const clear: Record<string, (row: Row) => Row> = {
    partner_keys: (row) => {
      const key = { recordKey: `${row.record_key}`, partnerId: Number(row.partner_id), kid: `${row.kid}` }
      return { ...row, sealed_secret: hex(open(row.sealed_secret, secretPlace(key))) }
    },
    booking_requests: (row) => {
      if (!row.sealed_screening_answers) return row
      const [memberId, submittedAt] = [Number(row.member_id), Number(row.submitted_at)]
      const place = answersPlace({ recordKey: `${row.record_key}`, memberId, submittedAt })
      return { ...row, sealed_screening_answers: hex(open(row.sealed_screening_answers, place)) }
    },
    members: (row) => (vault ? inTheClear(vault, row) : row),
  }
  return Object.fromEntries(
    names.map((name) => {
      const read = clear[`${name}`] ?? ((row) => row)
      const rows = all(`SELECT * FROM ${name} ORDER BY 1, 2`).map((row) => withoutNulls(read(row)))
      // What shows that a master key is the database's own, the state of the audit log and the hashes of migrations are
      // new; so are the log's hashes.
      const noted = ['key_proof', 'data_key', 'audit', 'migrations']
      const kept = rows.filter((row) => !noted.includes(`${row.name}`))
      return [name, kept.map(({ hash: _, ...row }) => row)]
    }),
  )
}

/** What is told in a row: columns that a newer schema has added are null, or say that staff have said nothing. */
function withoutNulls({ suspended, staff_time_off, ...row }: Row): Row {
  const said = { ...(suspended !== 0 && { suspended }), ...(staff_time_off !== '[]' && { staff_time_off }) }
  const told = Object.entries({ ...row, ...said })
  return Object.fromEntries(told.filter(([, value]) => value !== null && value !== undefined)) as Row
}

/** A member as the first release had them: a profile in columns. */
function inTheClear(vault: Vault, row: Row): Row {
  const { id, partner_id, active, created_at, updated_at } = row as Record<string, number>
  const partnerId = partner_id as number
  const externalUserIdHash = row.external_user_id_hash as Uint8Array
  const text = (column: 'sealed_external_user_id' | 'sealed_profile') => {
    const place = memberPlace(column, { recordKey: `${row.record_key}`, partnerId, externalUserIdHash })
    return Buffer.from(vault.open(row[column] as Uint8Array, place)).toString()
  }
  const profile: Record<string, string | null> = JSON.parse(text('sealed_profile'))
  const columns = Object.entries(profile).map(([name, value]) => [
    name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    value,
  ])
  const found = {
    external_user_id: text('sealed_external_user_id'),
    folded_email: `${profile.email}`.toLowerCase(),
  }
  return { id, partner_id, active, created_at, updated_at, ...found, ...Object.fromEntries(columns) } as Row
}

function contentOfFile(path: string) {
  const database = new Database(path)
  const content = contentOf(database)
  database.close()
  return content
}

describe('a database of the first release', () => {
  test('has the tables, indexes and triggers of a new one, and no others', () => {
    using folder = new Folder()
    using database = upgrade(firstRelease(folder))
    expect(schemaFaults({ database, purpose: 'production', masterKey: theKey })).toEqual([])
  })

  test('keeps every row, every sealed value and every id that was ever given', () => {
    using folder = new Folder()
    const path = firstRelease(folder)
    const before = contentOfFile(path)
    expect(before.booking_requests?.map(({ state }) => state)).toContain('accepted')
    expect(before.partner_keys?.map(({ end_reason }) => end_reason)).toContain('cancelled')
    const database = upgrade(path)
    expect(contentOf(database)).toEqual(before)
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
    expect(listing).toHaveLength(7)
    expect(listing.filter((line) => !/^\s*CONSTRAINT \w+ CHECK/.test(line))).toEqual([])
    expect(upgraded.map(({ name }) => name)).toContain('audit_record')
  })

  test('is kept beside it as it was, for its owner alone', () => {
    using folder = new Folder()
    const path = firstRelease(folder)
    const before = contentOfFile(path)
    upgrade(path).close()
    const copy = copyPathOf(path)
    expect((statSync(copy).mode & 0o777).toString(8)).toBe('600')
    expect(contentOfFile(copy)).toEqual(before)
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
    const vault = openVault(database, 'production', theKey)
    const secret = { recordKey: `${key?.record_key}`, partnerId: Number(key?.partner_id), kid: `${key?.kid}` }
    expect(() => vault.open(key?.sealed_secret as Uint8Array, secretPlace(secret))).toThrow()
    expect(request?.sealed_screening_answers).toEqual(Uint8Array.of(1))
    database.close()
  })

  describe('has its audit log', () => {
    /** The newest lines, and what a check of the whole log finds. */
    async function upgraded(path: string) {
      upgrade(path).close()
      const engine = openEngine({
        path,
        purpose: 'production',
        masterKey: theKey,
        create: false,
        upgrade: false,
      })
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

describe('the hashes of the migrations that a database has had', () => {
  const set = (path: string, statement: string) => {
    const database = new Database(path)
    database.run(statement)
    database.close()
  }
  const others =
    'database_unusable: the database was made or upgraded by a build of this program with other migrations'

  test('are noted when it is made and when it is upgraded, one for each', () => {
    using folder = new Folder()
    const made = openTestDatabase(folder.file('new.sqlite'))
    const upgraded = upgrade(firstRelease(folder))
    const hashesIn = (database: Database) =>
      database.query<{ value: Uint8Array }, []>("SELECT value FROM settings WHERE name = 'migrations'").get()
    const [one, other] = [made, upgraded].map(hashesIn)
    expect(one).toEqual(other as never)
    const start = readFileSync(new URL('../../db/sqlite/migrations/0001-start.sql', import.meta.url))
    const first = new Bun.CryptoHasher('sha256').update(start).digest('hex')
    expect(Buffer.from(one?.value ?? []).toString('hex')).toStartWith(first)
    for (const database of [made, upgraded]) database.close()
  })

  test('are held against those of the program, and others refused with nothing changed', () => {
    using folder = new Folder()
    const path = folder.file('a.sqlite')
    openTestDatabase(path).close()
    set(path, "UPDATE settings SET value = zeroblob(length(value)) WHERE name = 'migrations'")
    const before = readFileSync(path)
    expect(messageOf(() => openTestDatabase(path))).toBe(others)
    expect(messageOf(() => openTestDatabase(path, { upgrade: true }))).toBe(others)
    expect(readFileSync(path).equals(before)).toBe(true)
  })

  test('are refused before an older database is upgraded', () => {
    using folder = new Folder()
    const path = firstRelease(folder)
    set(path, "INSERT INTO settings (name, value) VALUES ('migrations', x'00')")
    expect(messageOf(() => upgrade(path))).toBe(others)
    expect(existsSync(copyPathOf(path))).toBe(false)
  })

  test('need not be there: a database that was made before they were noted is opened', () => {
    using folder = new Folder()
    const path = folder.file('a.sqlite')
    openTestDatabase(path).close()
    set(path, "DELETE FROM settings WHERE name = 'migrations'")
    openTestDatabase(path).close()
  })
})

test('an upgrade that adds tables alone writes nothing anew of what is there', () => {
  using folder = new Folder()
  const path = folder.file('a.sqlite')
  openTestDatabase(path).close()
  const former = new Database(path)
  makeFormer(former, 6)
  // Pages that are free afterwards, and would not be in a file that was written anew.
  former.run('CREATE TABLE much AS SELECT zeroblob(100000)')
  former.run('DROP TABLE much')
  former.close()
  const database = openTestDatabase(path, { upgrade: true })
  expect(existsSync(copyPathOf(path))).toBe(true)
  const [[free]] = database.query('PRAGMA freelist_count').values() as [[number]]
  expect(free).toBeGreaterThan(10)
  database.close()
})

test('an upgrade carries over a request that breaks a rule of its table, and knows who was switched off by staff', () => {
  using folder = new Folder()
  const path = folder.file('a.sqlite')
  openTestDatabase(path).close()
  const former = new Database(path)
  makeFormer(former, 7)
  former.run('PRAGMA ignore_check_constraints = ON')
  const insert = (table: string, row: Record<string, string | number>) =>
    former
      .query(`INSERT INTO ${table} (${Object.keys(row)}) VALUES (${Object.keys(row).map(() => '?')})`)
      .run(...Object.values(row))
  for (const [id, active] of [
    [1, 0],
    [2, 0],
    [3, 1],
    [4, 0],
  ] as const) {
    const names = { first_name: 'Marlow', last_name: 'Fernhill', time_zone: 'UTC' }
    const lists = {
      languages_spoken: '["en"]',
      modalities: '["in-video"]',
      working_hours: '[]',
      overrides: '[]',
    }
    const rest = { time_off: '[]', minimum_notice_minutes: 0, active }
    insert('providers', { id, ref: `p${id}`, ...names, ...lists, ...rest })
  }
  const acts = ['1 deactivate', '3 deactivate', '4 deactivate', '4 reactivate', '12 deactivate'] as const
  for (const act of acts) {
    const [id, done] = act.split(' ')
    const what = { action: `provider.${done}`, record: `provider ${id}`, outcome: 'done' }
    insert('audit', { at: 1, actor: 'olive', ...what, hash: '0' })
  }
  insert('booking_requests', { id: 9, record_key: 'k', is_intake: 0, state: 'lost', submitted_at: 1 })
  former.close()
  const database = openTestDatabase(path, { upgrade: true })
  const values = (sql: string) => database.query(sql).values()
  expect(values('SELECT id, active, suspended FROM providers ORDER BY id')).toEqual([
    [1, 0, 1],
    [2, 0, 0],
    [3, 1, 0],
    [4, 0, 0],
  ])
  expect(values('SELECT id, state FROM booking_requests')).toEqual([[9, 'lost']])
  expect(() => database.run("UPDATE booking_requests SET state = 'gone' WHERE id = 9")).toThrow('CHECK')
  database.close()
})

/** Upgrades in a process of its own, which is killed so long after it began. Whether that was before its end. */
async function upgradeKilled(path: string, millis: number): Promise<boolean> {
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
  await Bun.sleep(millis)
  child.kill('SIGKILL')
  await child.exited
  return child.signalCode === 'SIGKILL'
}

test(
  'an upgrade that is killed at any moment leaves the old database or the new one',
  async () => {
    const since = performance.now()
    using once = new Folder()
    upgrade(firstRelease(once)).close()
    const millis = performance.now() - since
    const rounds = times(5, 100)
    let inside = 0
    for (let round = 0; round < rounds; round++) {
      using folder = new Folder()
      const path = firstRelease(folder)
      const before = contentOfFile(path)
      if (await upgradeKilled(path, (millis * (round + Math.random())) / rounds)) inside++
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
      expect(contentOf(raw)).toEqual(before)
      expect(raw.query('PRAGMA integrity_check').values()).toEqual([['ok']])
      raw.close()
      const database = upgrade(path)
      expect(contentOf(database)).toEqual(before)
      database.close()
    }
    tellFigure(`upgrade: ${inside} of ${rounds} kills came before its end, in ${Math.round(millis)} ms`)
    expect(inside).toBeGreaterThan(0)
  },
  isLong ? 600_000 : 300_000,
)
