import { Database } from 'bun:sqlite'
import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { copyFileSync, existsSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { booking, provider, region } from '../support/builders'
import { eventually } from '../support/eventually'
import { times } from '../support/long'
import { Operator, type Served } from '../support/operator'
import { runSql } from '../support/postgres'
import { describeOnPostgres, newDatabase } from '../support/postgres-databases'
import { Program, theProgram, withFileSizeLimit } from '../support/process'

setDefaultTimeout(300_000)

const operator = new Operator(theProgram, null)
const { database } = operator
const key = `${database}.key`
const file = (name: string) => operator.folder.file(name)
const atKey = ['--master-key-file', key]
const at = (place: string) => ['--database', place, ...atKey]
let token = ''
let answered: unknown

beforeAll(async () => {
  await operator.do('init')
  token = await operator.onboard('Lantern', 'North Care')
  await operator.loadDirectory()
  {
    await using service = await operator.serve()
    expect((await service.post(booking('P-1'), token)).status).toBe(201)
    answered = await keyed(service)
    expect((await service.post(booking('P-3', await slotAt(service)), token)).status).toBe(201)
    expect((await service.post(booking('P-erased'), token)).status).toBe(201)
    await service.stop()
  }
  await operator.do('request', 'note', '1', 'Rings back after six.')
  await operator.do('member', 'erase', '--partner', 'Lantern', '--external-id', 'P-erased', '--yes')
})
afterAll(() => operator[Symbol.dispose]())
// A copy deactivates its source. The next test needs an active source.
afterEach(async () => {
  await operator.run(['database', 'reactivate', '--yes'])
})

async function keyed(service: Served): Promise<unknown> {
  const { status, body } = await service.post(booking('P-2'), token, { 'Idempotency-Key': 'one' })
  return [status, body]
}

async function slotAt(service: Served) {
  const { body } = await service.get('/partners/v1/providers/?region_id=1', token)
  const [first] = body.results
  return { providerId: first.providerId, utcStartTime: first.availability[0].utcStartTime }
}

const serveAt = (place: string) => operator.serveBy(theProgram, ...at(place))
const copy = (from: string, to: string, ...flags: string[]) =>
  operator.run(['database', 'copy', '--from', from, '--to', to, ...atKey, ...flags])
const refused = (code: number, message: string) => ({
  code,
  signal: null,
  stdout: '',
  stderr: `error: ${message}\n`,
})

interface CopyReport {
  readonly from: string
  readonly to: string
  readonly tables: Readonly<Record<string, { readonly rows: number; readonly sha256: string }>>
  readonly auditHead: { readonly id: number; readonly hash: string }
  readonly deactivated: boolean
  readonly copiedBefore: { readonly to: string; readonly at: string } | null
}

async function copied(from: string, to: string, ...flags: string[]): Promise<CopyReport> {
  const { code, stdout, stderr } = await copy(from, to, '--json', ...flags)
  expect([code, stderr]).toEqual([0, ''])
  return JSON.parse(stdout)
}

function contentOf(path: string): Record<string, unknown> {
  using content = new Database(path, { readonly: true })
  const names = content
    .query("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    .values()
    .map(([name]) => String(name))
  const sequences =
    "SELECT name, seq FROM sqlite_sequence WHERE name NOT IN ('changes', 'audit') ORDER BY name"
  return {
    sequences: content.query(sequences).values(),
    settings: content
      .query("SELECT hex(value) FROM settings WHERE name IN ('data_key', 'purpose', 'zone_data', 'audit')")
      .values()
      .sort(),
    ...Object.fromEntries(
      names
        .filter((name) => name !== 'settings' && name !== 'changes')
        .map((name) => [name, content.query(`SELECT * FROM ${name}`).values()]),
    ),
  }
}

const tablesAt = async (url: string) =>
  (
    await runSql<{ n: number }>(url, "SELECT count(*)::int AS n FROM pg_tables WHERE schemaname = 'public'")
  )[0]?.n

const memberId = async (place: string, externalId: string) =>
  (
    await operator.ask<{ id: number }>(
      ...['member', 'show', '--partner', 'Lantern', '--external-id', externalId],
      ...at(place),
    )
  ).id

describeOnPostgres('cli: database copy from a file to a database server and back', () => {
  test('after a copy to a database server and back, every record, id and sealed value has the same bytes, and the audit log is intact', async () => {
    await using server = await newDatabase()
    const there = await copied(database, server.url)
    const back = await copied(server.url, file('back.sqlite'))
    expect(back.tables).toEqual(there.tables)
    expect(there.tables).toMatchObject({
      settings: { rows: 4 },
      members: { rows: 3 },
      booking_requests: { rows: 4 },
      request_notes: { rows: 1 },
      replays: { rows: 1 },
    })
    expect(contentOf(file('back.sqlite'))).toEqual(contentOf(database))
    expect(statSync(file('back.sqlite')).mode & 0o777).toBe(0o600)
    const head = (await operator.do('audit', 'head')).trim()
    expect(`${there.auditHead.id}:${there.auditHead.hash}`).toBe(head)
    for (const place of [server.url, file('back.sqlite')])
      expect(await operator.do('audit', 'verify', '--head', head, ...at(place))).toStartWith(
        `The log is intact up to ${head}`,
      )
  })

  test('a copy accepts the same tokens and idempotency keys as its source, and reuses no id of an erased member', async () => {
    await using server = await newDatabase()
    await copied(database, server.url)
    {
      await using service = await serveAt(server.url)
      expect(await keyed(service)).toEqual(answered)
      expect((await service.post(booking('P-4', await slotAt(service)), token)).status).toBe(201)
      await service.stop()
    }
    // Id 4 belonged to the erased member.
    expect(await memberId(server.url, 'P-4')).toBe(5)
    expect(await operator.do('request', 'show', '1', '--screening', ...at(server.url))).toContain(
      'Several days',
    )
    expect(await operator.do('request', 'notes', '1', ...at(server.url))).toContain('Rings back after six.')
    expect((await operator.run(['audit', 'verify', ...at(server.url)])).code).toBe(0)
    await copied(server.url, file('moved.sqlite'))
    {
      await using service = await serveAt(file('moved.sqlite'))
      expect(await keyed(service)).toEqual(answered)
      expect((await service.post(booking('P-5'), token)).status).toBe(201)
      await service.stop()
    }
    expect(await memberId(file('moved.sqlite'), 'P-5')).toBe(6)
    expect((await operator.run(['audit', 'verify', ...at(file('moved.sqlite'))])).code).toBe(0)
    const doctor = await operator.ask<{ check: string; state: string }[]>(
      'doctor',
      ...at(file('moved.sqlite')),
    )
    expect(doctor.filter(({ state }) => state === 'bad')).toEqual([])
  })

  test('database copy prints what was copied and what to do next', async () => {
    await using server = await newDatabase()
    const { code, stdout, stderr } = await copy(database, server.url)
    const { id, hash } = (await copied(server.url, file('told.sqlite'))).auditHead
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout.split('\n')).toEqual([
      `Copied ${database} to ${server.url}, with its audit log. Every record was read back and is identical.`,
      'records     organizations 1, partners 1, partner_keys 1, regions 1, providers 1, licenses 1, ' +
        `in_person_regions 0, members 3, booking_requests 4, request_positions 4, replays 1, request_notes 1, unread_risks 0, audit ${id}`,
      `audit head  line ${id} ${hash}`,
      '',
      'The copy needs the same master key. Set ANTEROOM_MASTER_KEY_FILE on each server.',
      `From now on, serve only one of the two: start the servers with the copy, and put ${database} aside or remove it.`,
      `${database} is marked as copied: serve and all commands that change data refuse it (to use it again: anteroom database reactivate).`,
      'Then run anteroom doctor and anteroom status.',
      '',
    ])
  })
})

/** Checks that a copied database can only be read until it is reactivated. */
async function expectDeactivated(from: string, to: string): Promise<void> {
  const { at: instant, ...noted } = await noteOf(from, to)
  expect(noted).toEqual({ deactivated: true, copiedBefore: null, to })
  const note = `copied to ${to} at ${instant}`
  const why = `the database was ${note}: use the copy, or reactivate this database: anteroom database reactivate`
  expect(await operator.run([...serving, ...at(from)])).toEqual(refused(6, why))
  const changes = [
    ['organization', 'add', 'Two truths'],
    ['directory', 'load', file('changed.json'), '--yes'],
    ['key', 'rotate', '--new-key-file', file('new.key'), '--yes'],
    ['audit', 'prune', '--before', '2026-01-01T00:00:00Z', '--output', file('pruned.jsonl'), '--yes'],
  ]
  for (const words of changes) expect(await operator.run([...words, ...at(from)])).toEqual(refused(6, why))
  expect([existsSync(file('new.key')), existsSync(file('pruned.jsonl'))]).toEqual([false, false])
  const reads = [
    ['organization', 'list'],
    ['request', 'show', '1', '--screening'],
    ['audit', 'verify'],
    ['directory', 'export'],
  ]
  for (const words of reads) {
    const { code, stderr } = await operator.run([...words, ...at(from)])
    expect([words, code, stderr]).toEqual([words, 0, ''])
  }
  const { stdout: status } = await operator.run(['status', ...at(from)])
  expect(status).toContain(`\ncopied to         ${to}\ncopied at         ${instant} (0 min ago)\n`)
  expect(status).toContain('\nWhat to do:\n  this database was copied: use the copy (see copied to)\n')
  expect(status).not.toContain('start it again')
  expect(JSON.parse((await operator.run(['status', '--json', ...at(from)])).stdout).copied).toEqual({
    to,
    at: instant,
  })
  const doctor = await operator.run(['doctor', '--json', ...at(from)])
  expect(doctor.code).toBe(8)
  expect(JSON.parse(doctor.stdout)[0]).toEqual({
    check: 'copy',
    state: 'bad',
    detail: `${note}: the copy has newer data, and servers refuse this database`,
    remedy: 'use the copy, or reactivate this database: anteroom database reactivate',
  })
  const loss = `The database was ${note}. Later changes to the copy are not in this database.`
  expect(await operator.run(['database', 'reactivate', ...at(from)])).toEqual(
    refused(2, 'there is no terminal to ask on\nTry: use --yes'),
  )
  expect(await operator.do('database', 'reactivate', '--yes', ...at(from))).toBe(
    `The database is active. ${loss} Make sure that no server uses the copy.\n`,
  )
  expect(await operator.run(['database', 'reactivate', '--yes', ...at(from)])).toEqual(
    refused(3, 'the database is already active: it was not copied'),
  )
  const lines = (await operator.do('audit', 'export', ...at(from))).trim().split('\n')
  const acts = lines.map((line) => JSON.parse(line)).filter(({ action }) => action === 'database.reactivate')
  expect(acts.slice(-3).map(({ outcome }) => outcome)).toEqual(['not_confirmed', 'done', 'record_unknown'])
  await operator.do('organization', 'add', 'Two truths', ...at(from))
  await using service = await serveAt(from)
  await service.stop()
}

async function noteOf(from: string, to: string) {
  const { deactivated, copiedBefore } = await copied(from, to)
  const { stdout } = await operator.run(['status', '--json', ...at(from)])
  return { deactivated, copiedBefore, ...(JSON.parse(stdout).copied as { to: string; at: string }) }
}

const serving = ['serve', '--port', '0', '--base-url', 'https://api.example.org']

const isActive = async (place: string) =>
  expect(JSON.parse((await operator.run(['status', '--json', ...at(place)])).stdout).copied).toBeNull()

describe('cli: a database that was copied', () => {
  beforeAll(() =>
    writeFileSync(
      file('changed.json'),
      JSON.stringify({ regions: [region()], providers: [provider('on-2')] }),
    ),
  )

  test('a copy is active, and its deactivated source shows the absolute path of the copy', async () => {
    copyFileSync(database, file('left.sqlite'))
    await expectDeactivated(file('left.sqlite'), file('taken.sqlite'))
    await isActive(file('taken.sqlite'))
    await operator.do('database', 'copy', '--from', file('taken.sqlite'), '--to', 'near.sqlite', ...atKey)
    const { stdout } = await operator.run(['status', '--json', ...at(file('taken.sqlite'))])
    expect(JSON.parse(stdout).copied.to).toBe(file('near.sqlite'))
  })

  test('a database can be copied again, and a notice mentions the first copy', async () => {
    copyFileSync(database, file('twice.sqlite'))
    const first = await noteOf(file('twice.sqlite'), file('first.sqlite'))
    const { code, stderr } = await copy(file('twice.sqlite'), file('practice.sqlite'), '--while-serving')
    const notice = `anteroom: ${file('twice.sqlite')} was copied to ${first.to} at ${first.at} before: if a server uses that copy, do not serve the new copy\n`
    expect([code, stderr]).toEqual([0, notice])
    expect(
      JSON.parse((await operator.run(['status', '--json', ...at(file('twice.sqlite'))])).stdout).copied,
    ).toEqual({
      to: first.to,
      at: first.at,
    })
    expect((await copy(file('twice.sqlite'), file('third.sqlite'))).stderr).toBe(notice)
    for (const each of ['first', 'practice', 'third']) await isActive(file(`${each}.sqlite`))
  })

  test('a database copied with --while-serving stays active and can be changed', async () => {
    copyFileSync(database, file('served.sqlite'))
    const { deactivated } = await copied(file('served.sqlite'), file('tried.sqlite'), '--while-serving')
    expect(deactivated).toBe(false)
    for (const each of ['served', 'tried']) await isActive(file(`${each}.sqlite`))
    await operator.do('organization', 'add', 'One truth', ...at(file('served.sqlite')))
  })

  test('a copy by a read-only database role does not deactivate the source, and a notice says so', async () => {
    await using server = await newDatabase()
    await copied(database, server.url)
    await runSql(
      server.url,
      'CREATE ROLE onlooker LOGIN; GRANT SELECT ON ALL TABLES IN SCHEMA public TO onlooker',
    )
    await runSql(server.url, 'GRANT SELECT ON ALL SEQUENCES IN SCHEMA public TO onlooker')
    const from = server.url.replace('postgres@', 'onlooker@')
    const { code, stdout, stderr } = await copy(from, file('seen.sqlite'), '--json')
    expect([code, JSON.parse(stdout).deactivated]).toEqual([0, false])
    expect(stderr).toBe(
      `anteroom: ${from} cannot be written, so it is not marked as copied: make sure that no server uses it any more\n`,
    )
    await isActive(server.url)
  })
})

describeOnPostgres('cli: refusals of database copy', () => {
  test('a target with tables is refused, even if another application created them', async () => {
    await using server = await newDatabase()
    await copied(database, server.url)
    expect(await copy(database, server.url)).toEqual(
      refused(6, `a database already exists at ${server.url}\nTry: choose an empty one`),
    )
    await using strange = await newDatabase()
    await runSql(strange.url, 'CREATE TABLE theirs (id int)')
    expect(await copy(database, strange.url)).toEqual(
      refused(
        6,
        'the database has tables of another application in the schema "public"\nTry: create a separate database',
      ),
    )
    expect(await tablesAt(strange.url)).toBe(1)
    expect(await copy(server.url, database)).toEqual(
      refused(6, 'the file already exists\nTry: choose another path'),
    )
  })

  test('a master key that does not fit the source is refused', async () => {
    await using server = await newDatabase()
    const wrong = file('wrong.key')
    writeFileSync(wrong, `${Buffer.alloc(32, 9).toString('base64')}\n`, { mode: 0o600 })
    const message = 'the master key does not fit this database\nTry: use its current master key'
    expect(await copy(database, server.url, '--master-key-file', wrong)).toEqual(refused(6, message))
    expect(await tablesAt(server.url)).toBe(0)
    await copied(database, server.url)
    expect(await copy(server.url, file('none.sqlite'), '--master-key-file', wrong)).toEqual(
      refused(6, message),
    )
    expect(existsSync(file('none.sqlite'))).toBe(false)
  })

  test('a source that a running service uses is refused, unless --while-serving is given', async () => {
    await using server = await newDatabase()
    await using other = await newDatabase()
    {
      await using service = await operator.serve()
      expect(await copy(database, server.url)).toEqual(
        refused(
          7,
          'a server uses the source database\nTry: stop it first, or later bookings are missing from the copy. ' +
            'To try out the copy, use --while-serving',
        ),
      )
      const { code, stdout } = await copy(database, server.url, '--while-serving')
      expect([code, stdout]).toEqual([
        0,
        expect.stringContaining(
          `A server may still use ${database}: bookings and changes there from now on are not in the copy.\n`,
        ),
      ])
      await service.stop()
    }
    await using service = await serveAt(server.url)
    expect((await copy(server.url, other.url)).stderr).toStartWith(
      'error: a server uses the source database, or did a moment ago\nTry: stop all servers first, ',
    )
    expect(await tablesAt(other.url)).toBe(0)
    expect((await copy(server.url, other.url, '--while-serving')).code).toBe(0)
    await service.stop()
    await copied(server.url, file('stopped.sqlite'))
  })

  test('a record that breaks a rule is refused, and the error names it', async () => {
    await using server = await newDatabase()
    copyFileSync(database, file('damaged.sqlite'))
    const damage = (statement: string) => {
      using content = new Database(file('damaged.sqlite'))
      content.run('PRAGMA ignore_check_constraints = ON')
      content.run(statement)
    }
    damage("UPDATE providers SET bio = 'a' || char(0) || 'b'")
    expect(await copy(file('damaged.sqlite'), server.url)).toEqual(
      refused(
        6,
        'the record of providers with id 1 violates a constraint of the new database, so nothing was copied\nTry: correct it first',
      ),
    )
    damage("UPDATE providers SET bio = NULL, working_hours = '['")
    expect((await copy(file('damaged.sqlite'), server.url)).stderr).toContain(
      'providers with id 1 violates a constraint',
    )
    expect((await copy(file('damaged.sqlite'), file('new.sqlite'))).stderr).toContain('providers with id 1 ')
    damage("UPDATE providers SET working_hours = '[]', active = 2")
    expect(await copy(file('damaged.sqlite'), server.url)).toEqual(
      refused(
        6,
        'the record of providers with id 1 is damaged (active is not of type flag)\nTry: restore a backup',
      ),
    )
    expect([await tablesAt(server.url), existsSync(file('new.sqlite'))]).toEqual([0, false])
  })

  test('a source whose audit log was altered is refused', async () => {
    await using server = await newDatabase()
    copyFileSync(database, file('forged.sqlite'))
    using content = new Database(file('forged.sqlite'))
    content.run('DROP TRIGGER audit_keeps_words')
    content.run("UPDATE audit SET actor = 'nobody' WHERE id = 2")
    expect(await copy(file('forged.sqlite'), server.url)).toEqual(
      refused(
        6,
        'the audit log of the database was altered (line 2: the line was altered), so nothing was copied',
      ),
    )
    expect(await tablesAt(server.url)).toBe(0)
  })
})

describe('cli: database copy', () => {
  test('database copy refuses addresses with passwords before it opens a database, and prints no password', async () => {
    const address = 'postgres://anteroom:canary@localhost:1/anteroom'
    const { code, stdout, stderr } = await operator.run([
      'database',
      'copy',
      '--from',
      address,
      '--to',
      address,
    ])
    expect([code, stdout]).toEqual([2, ''])
    const ways =
      'must not contain a password, because every process can read it; use PGPASSWORD, PGPASSFILE, ~/.pgpass'
    expect(stderr).toBe(
      `error: --from: ${ways}\n--to: ${ways}\n` +
        'ANTEROOM_MASTER_KEY_FILE or --master-key-file: is required for a database server\n',
    )
    const nothing = file('nothing.sqlite')
    expect(await copy(nothing, file('new.sqlite'))).toEqual(
      refused(6, `there is no database at ${nothing}\nTry: check --database, or run anteroom init`),
    )
  })

  test('a copy from file to file has the same contents', async () => {
    await copied(database, file('second.sqlite'))
    expect(contentOf(file('second.sqlite'))).toEqual(contentOf(database))
  })

  test('database copy leaves no file if the disk is full', async () => {
    using small = new Operator(withFileSizeLimit(100), null)
    const to = small.folder.file('full.sqlite')
    expect(await small.run(['database', 'copy', '--from', database, '--to', to, ...atKey])).toEqual(
      refused(6, `no sound copy could be made at ${to}\nTry: check the free disk space`),
    )
    expect(readdirSync(small.folder.path)).toEqual([])
  })
})

describeOnPostgres('cli: an interrupted database copy', () => {
  const large = file('large.sqlite')
  const many = times(8_000, 20_000)

  beforeAll(() => {
    copyFileSync(database, large)
    using content = new Database(large)
    content.run(`WITH RECURSIVE many (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM many WHERE n < ${many})
      INSERT INTO members SELECT n + 100, 'many' || n, 1, randomblob(32), randomblob(32), 1, randomblob(60),
        randomblob(600), 0, 0 FROM many`)
  })

  const begin = (from: string, to: string) =>
    new Program(['database', 'copy', '--from', from, '--to', to, ...atKey], { cwd: operator.folder.path })
  /**
   * Returns whether a copy is inserting members. The query also runs the SQL expression `call`, for example
   * to end the connection of the copy.
   */
  const isFilling = async (url: string, call = 'pid') => {
    const working = "query LIKE 'INSERT INTO members%' AND datname = current_database()"
    const rows = await runSql(url, `SELECT ${call} FROM pg_stat_activity WHERE ${working}`)
    return rows.length > 0
  }

  test('a killed copy leaves no table on the database server, and can be repeated', async () => {
    await using server = await newDatabase()
    await using program = begin(large, server.url)
    await eventually('members to be copied', () => isFilling(server.url))
    program.signal('SIGKILL')
    expect((await program.exit()).signal).toBe('SIGKILL')
    expect(await tablesAt(server.url)).toBe(0)
    expect((await operator.run(['status', ...at(server.url)])).stderr).toBe(
      `error: there is no database at ${server.url}\nTry: check --database, or run anteroom init\n`,
    )
    expect((await copied(large, server.url)).tables.members?.rows).toBe(many + 3)
    expect((await operator.run(['database', 'reactivate', '--yes', ...at(large)])).code).toBe(0)
  })

  test('a copy that loses its connection to the database server reports the loss, and leaves no table there', async () => {
    await using server = await newDatabase()
    await using program = begin(large, server.url)
    await eventually('members to be copied', () => isFilling(server.url, 'pg_terminate_backend(pid)'))
    expect(await program.exit()).toEqual(
      refused(7, `nothing was copied: ${server.url}: the connection to the server was lost`),
    )
    expect(await tablesAt(server.url)).toBe(0)
  })
})
