import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { copyPathOf } from '../../db/sqlite/migration'
import { makeFormer } from '../support/former'
import { Operator } from '../support/operator'
import { Sandbox } from '../support/process'

const fixtures = new URL('../../fixtures', import.meta.url).pathname

let operator = undefined as unknown as Operator
beforeEach(() => {
  operator = new Operator()
})
afterEach(() => operator[Symbol.dispose]())

/** The refusal of a command in one line, which must not take long. */
async function refusalOf(...args: string[]): Promise<[number | null, string]> {
  const { code, stdout, stderr } = await operator.run(args)
  expect(stdout).toBe('')
  return [code, stderr]
}

describe('the database of the first release', () => {
  const copy = () => copyPathOf(operator.database)

  beforeEach(() => {
    copyFileSync(`${fixtures}/first-release.sqlite`, operator.database)
    copyFileSync(`${fixtures}/first-release.sqlite.key`, `${operator.database}.key`)
    // A checkout leaves it readable for all.
    chmodSync(`${operator.database}.key`, 0o600)
  })

  test.each([
    [['organization', 'list']],
    [['request', 'show', '1', '--screening']],
    [['doctor']],
    [['backup', 'backup.sqlite']],
  ])('is not touched by %p, which says what to do', async (args) => {
    const before = readFileSync(operator.database)
    expect(await refusalOf(...args)).toEqual([
      6,
      'anteroom: the database has an older schema: stop its server, then run `anteroom migrate`\n',
    ])
    expect(readFileSync(operator.database).equals(before)).toBe(true)
  })

  test('is brought up to date by migrate, after a copy, once', async () => {
    expect(await operator.do('migrate')).toBe(
      `The database is up to date now.\nThe database as it was is kept in ${copy()}; names and addresses of people lie readable in it: remove it once all is well.\nTime off that staff entered before stands among that of the directory: the next load asks before it takes it back.\n`,
    )
    rmSync(copy())
    expect(await operator.do('migrate')).toBe('The database is up to date.\n')
    expect(existsSync(copy())).toBe(false)
    expect(await operator.do('request', 'show', '1', '--screening')).toContain('Several days 1')
    expect(await operator.do('audit', 'verify')).toStartWith('The log is intact')
  })

  test('of a schema in which people are sealed, leaves a copy that is not said to hold them readable', async () => {
    await operator.do('migrate')
    copyFileSync(operator.database, copy())
    const { stdout } = await operator.run(['doctor', '--json'])
    const { detail } = JSON.parse(stdout).find(({ check }: { check: string }) => check === 'older copies')
    expect(detail).toBe(
      `The database as it was is kept in ${copy()}; what is erased later stays in it: remove it once all is well.`,
    )
  })

  test('is brought up to date by serve, after a copy', async () => {
    await using service = await operator.serve()
    expect(existsSync(copy())).toBe(true)
    expect(JSON.parse(await operator.do('request', 'list', '--json'))).toHaveLength(8)
    expect((await service.stop()).code).toBe(0)
  })

  test('is brought up to date with a provider who cannot be read and a license of no region, and mended then', async () => {
    const database = new Database(operator.database)
    database.run('PRAGMA ignore_check_constraints = ON')
    database.run('PRAGMA foreign_keys = OFF')
    const { ref } = database.query<{ ref: string }, []>('SELECT ref FROM providers WHERE id = 1').get() ?? {}
    database.run("UPDATE providers SET working_hours = '{{{' WHERE id = 1")
    database.run('UPDATE licenses SET region_id = 99 WHERE provider_id = 1')
    database.close()
    expect(await operator.do('migrate')).toContain('The database is up to date now.')
    const { code, stdout } = await operator.run(['doctor', '--json'])
    expect(code).toBe(8)
    expect(stdout).toContain('1 records point at nothing')
    expect(stdout).toContain(`${ref} is left out of searches: the record cannot be read`)
    expect(await operator.do('backup', 'backup.sqlite')).toContain('Made the backup backup.sqlite')
    expect(await operator.do('provider', 'deactivate', ref as string, '--yes')).toContain('is deactivated')
  })

  test('holds nothing of a member who is erased after it was brought up to date, not even as it was sealed before', async () => {
    const database = new Database(operator.database)
    const sealed = database
      .query<{ sealed: Uint8Array; memberId: number }, []>(
        'SELECT sealed_screening_answers AS sealed, member_id AS memberId FROM booking_requests WHERE member_id > 0',
      )
      .all()
    database.close()
    await operator.do('migrate')
    for (const memberId of new Set(sealed.map((row) => row.memberId))) {
      await operator.do('member', 'erase', String(memberId), '--yes')
    }
    const bytes = readFileSync(operator.database)
    expect(sealed.length).toBeGreaterThan(3)
    expect(sealed.filter((row) => bytes.includes(row.sealed))).toEqual([])
  })

  test('is left alone by both while its older server runs', async () => {
    const server = new Database(operator.database)
    server.run('PRAGMA journal_mode = WAL')
    server.query('SELECT count(*) FROM partners').get()
    for (const args of [['migrate'], ['serve', '--port', '0', '--base-url', 'https://api.example']]) {
      expect(await refusalOf(...args)).toEqual([
        6,
        'anteroom: the database has an older schema, and another program has it open: stop that first\n',
      ])
    }
    expect(server.query('PRAGMA user_version').values()).toEqual([[1]])
    expect(existsSync(copy())).toBe(false)
    server.close()
  })
})

test('a database of the schema before retries is brought up to date, and is as a new one then', async () => {
  await operator.do('init')
  const database = new Database(operator.database)
  makeFormer(database, 6)
  database.close()
  expect(await refusalOf('doctor')).toEqual([
    6,
    'anteroom: the database has an older schema: stop its server, then run `anteroom migrate`\n',
  ])
  expect(await operator.do('migrate')).toStartWith('The database is up to date now.\n')
  const { stdout } = await operator.run(['doctor', '--json'])
  const found: { check: string; state: string }[] = JSON.parse(stdout)
  expect(found.find(({ check }) => check === 'schema')).toMatchObject({ state: 'ok', detail: 'version 8' })
})

test('a database that is not there is told before its key is looked for', async () => {
  expect(await refusalOf('organization', 'list')).toEqual([
    6,
    `anteroom: there is no database at ${operator.database}; anteroom init makes one\n`,
  ])
})

describe('output that cannot be written', () => {
  const unwritten =
    'anteroom: the output could not be written; what the command changes, it may have changed\n'
  const sh = (command: string) => operator.runShell(command)

  test('is one line on stderr, and no stack', async () => {
    await operator.do('init')
    for (const command of ['organization list', 'audit list --json', '--version']) {
      const { code, stderr } = await sh(`${command} > /dev/full`)
      expect([command, code, stderr]).toEqual([command, 1, unwritten])
    }
  })

  test('of a token says that the token is made, and what to do', async () => {
    await operator.do('init')
    await operator.do('partner', 'add', 'Lantern')
    const { code, stderr } = await sh('token issue Lantern > /dev/full')
    const why = 'the token was made and could not be printed; it can never be shown again: rotate it'
    expect([code, stderr]).toEqual([6, `anteroom: ${why}\n`])
    expect(await operator.do('token', 'rotate', 'Lantern', '--yes')).toMatch(/^eyJ/)
  })
})

describe('what is no file', () => {
  const made: [string, (path: string) => void][] = [
    ['a pipe', (path) => expect(Bun.spawnSync(['mkfifo', path]).exitCode).toBe(0)],
    ['a folder', (path) => mkdirSync(path)],
  ]

  test.each(made)('%s as the database is refused at once', async (_, make) => {
    make(operator.database)
    const refused = [6, 'anteroom: what is at the database path is not a file\n'] as [number, string]
    expect(await refusalOf('organization', 'list')).toEqual(refused)
    expect(await refusalOf('migrate')).toEqual(refused)
    expect(await refusalOf('init')).toEqual([6, 'anteroom: there is a file at the database path already\n'])
    await using sandbox = new Sandbox(['sandbox', '--port', '0', '--database', operator.database])
    expect(await sandbox.exit()).toMatchObject({ code: 6, stderr: refused[1] })
  })

  test.each(made)('%s as the master key is refused at once', async (_, make) => {
    await operator.do('init')
    const key = operator.folder.file('key')
    make(key)
    expect(await refusalOf('organization', 'list', '--master-key-file', key)).toEqual([
      6,
      'anteroom: what is at the master key path is not a file\n',
    ])
  })

  test.each(made)('%s as the place of a backup is refused at once', async (_, make) => {
    await operator.do('init')
    const place = operator.folder.file('backup')
    make(place)
    expect(await refusalOf('backup', place)).toEqual([6, 'anteroom: there is a file at that path already\n'])
  })
})
