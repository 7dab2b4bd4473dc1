import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { copyFileSync, existsSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { booking } from '../support/builders'
import { Operator } from '../support/operator'
import { eventually, theProgram } from '../support/process'

setDefaultTimeout(process.env.TEST_LONG ? 300_000 : 60_000)

const operator = new Operator()
const file = (name: string) => operator.folder.file(name)
const key = `${operator.database}.key`
const temporary = file('tmp')
const settings = { TMPDIR: temporary }

beforeAll(async () => {
  mkdirSync(temporary)
  await operator.do('init')
  await operator.do('organization', 'add', 'North Care')
  await operator.do('partner', 'add', 'Lantern', '--organization', 'North Care')
  await operator.loadDirectory()
  const token = (await operator.do('token', 'issue', 'Lantern')).trim()
  await using service = await operator.serve()
  expect((await service.post(booking('robin'), token)).status).toBe(201)
  await service.stop()
  await operator.do('backup', file('backup.age'))
  await operator.do('backup', file('plain.sqlite'), '--plain')
})
afterAll(() => operator[Symbol.dispose]())

const restored = file('restored.sqlite')
const restore = (backup: string) =>
  operator.run(['restore', backup, '--to', restored, '--master-key-file', key, '--yes'], '', settings)
const drill = (...flags: string[]) => operator.run(['backup', 'drill', ...flags], '', settings)

function changed(name: string, ...statements: string[]): string {
  copyFileSync(file('plain.sqlite'), file(name))
  using database = new Database(file(name))
  for (const statement of statements) database.run(statement)
  return file(name)
}

test('cli: a drill passes although the partner may call only from other networks, and rarely', async () => {
  await operator.do('partner', 'set-networks', 'Lantern', '203.0.113.0/24', '--yes')
  await operator.do('partner', 'set-rates', 'Lantern', '--reads-per-minute', '1')
  expect(await drill()).toMatchObject({ code: 0 })
  await operator.do('partner', 'set-networks', 'Lantern', 'any')
  await operator.do('partner', 'set-rates', 'Lantern', '--reads-per-minute', 'default')
})

test('cli: a backup that does not match its manifest is not restored, and the error names the difference', async () => {
  const cases: [string, string][] = [
    ['DELETE FROM licenses', 'licenses has 0 records instead of 1'],
    ["UPDATE providers SET first_name = 'Mallory'", 'its content differs from the hash in its manifest'],
    ["DELETE FROM settings WHERE name = 'zone_data'", 'settings has 6 records instead of 7'],
  ]
  for (const [statement, fault] of cases) {
    expect(await restore(changed('changed.sqlite', statement))).toEqual({
      code: 6,
      signal: null,
      stdout: '',
      stderr: `error: the backup was altered (${fault})\nTry: use another backup\n`,
    })
    expect(existsSync(restored)).toBe(false)
  }
  const manifestless = changed('old.sqlite', "DELETE FROM settings WHERE name = 'manifest'")
  expect((await restore(manifestless)).code).toBe(0)
})

describe('cli: the temporary folder of a backup drill', () => {
  const left = () => readdirSync(temporary)
  /** Starts a command and stops it as soon as its temporary folder exists. */
  async function ended(words: string[], signal: NodeJS.Signals) {
    const child = Bun.spawn([...theProgram, ...words], {
      env: { ANTEROOM_DATABASE: operator.database, ...settings },
      stdout: 'ignore',
      stderr: 'pipe',
    })
    await eventually('the folder to be there', () => left().length > 0 || child.exitCode !== null)
    const modes = left().map((name) => statSync(join(temporary, name)).mode & 0o777)
    child.kill(signal)
    await child.exited
    return { modes, signal: child.signalCode }
  }

  test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
    'the temporary folder is readable only by its owner, and is removed on %s',
    async (signal) => {
      const found = await ended(['backup', 'drill'], signal)
      expect(found).toEqual({ modes: [0o700], signal })
      expect(left()).toEqual([])
      expect(readdirSync(operator.folder.path).filter((name) => name.includes('unfinished'))).toEqual([])
    },
  )

  test('the temporary folder of a killed drill is removed by the next drill', async () => {
    await ended(['backup', 'drill'], 'SIGKILL')
    expect(left()).toEqual([expect.stringMatching(/^anteroom-backup\.unfinished-[0-9a-f]+-\d+-[0-9a-f]{8}$/)])
    expect((await drill()).code).toBe(0)
    expect(left()).toEqual([])
    for (const found of readdirSync(operator.folder.path)) {
      if (found.includes('unfinished')) rmSync(file(found))
    }
  })
})

describe('cli: backup drill', () => {
  const lines = async () =>
    (await operator.ask<{ action: string; outcome: string }[]>('audit', 'list'))
      .filter(({ action }) => action.startsWith('database.'))
      .map(({ action, outcome }) => `${action} ${outcome}`)

  test('a drill that passes prints one line, and changes only the audit log', async () => {
    // Ignores the write-ahead log that the killed command left, because the next command removes this log.
    const files = () => readdirSync(operator.folder.path).filter((name) => !/-(wal|shm)$/.test(name))
    const [before, tokens, logged] = [files(), await operator.do('token', 'list'), await lines()]
    const { code, stdout, stderr } = await drill()
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toMatch(
      /^The drill passed: backed up in [\d.]+ s \([\d.]+ MiB\), restored and answering in [\d.]+ s\. \d+ records match the hash in the manifest; 2 answers are the same\.\n$/,
    )
    expect([files(), readdirSync(temporary)]).toEqual([before, []])
    expect(await lines()).toEqual([...logged, 'database.drill done'])
    expect(await operator.do('token', 'list')).toBe(tokens)
    const findings = await operator.ask<{ check: string; detail: string }[]>('doctor')
    expect(findings.find(({ check }) => check === 'backup')?.detail).toBe('0 days old; last drill 0 days ago')
  })

  test('a drill passes while bookings arrive, and prints its measurements with --json', async () => {
    await operator.do('token', 'revoke', 'Lantern', '--yes')
    const token = (await operator.do('token', 'issue', 'Lantern')).trim()
    await using service = await operator.serve('--bookings-per-minute', 'off')
    let isOver = false
    const booked = (async () => {
      for (let index = 0; !isOver; index++) {
        expect((await service.post(booking(`during-${index}`), token)).status).toBe(201)
      }
    })()
    const { code, stdout, stderr } = await drill('--json')
    isOver = true
    await booked
    expect([code, stderr]).toEqual([0, ''])
    expect(JSON.parse(stdout)).toEqual({
      backupSeconds: expect.any(Number),
      backupBytes: expect.any(Number),
      restoreSeconds: expect.any(Number),
      records: expect.any(Number),
      answers: { same: 2, changed: 0 },
    })
    await service.stop()
  })

  test('a drill fails with one line and an audit line if the restored copy and the service give different answers', async () => {
    {
      using database = new Database(operator.database)
      // The drill issues a token in the copy, and this trigger then changes the answers.
      database.run(`CREATE TRIGGER otherwise AFTER INSERT ON partner_keys BEGIN
        UPDATE providers SET first_name = 'Mallory';
        INSERT INTO changes (noun, record_id) VALUES ('provider', 1); END`)
    }
    const failed = await drill()
    {
      using database = new Database(operator.database)
      database.run('DROP TRIGGER otherwise')
    }
    expect(failed).toEqual({
      code: 6,
      signal: null,
      stdout: '',
      stderr:
        'error: the drill failed: the copy and the service give different answers for provider 1 in region 1\n',
    })
    expect((await lines()).slice(-2)).toEqual(['database.drill done', 'database.drill failed'])
    expect(readdirSync(temporary)).toEqual([])
  })

  test('a drill says that no answers were compared if no partner has a token', async () => {
    await operator.do('token', 'revoke', 'Lantern', '--yes')
    const { code, stdout } = await drill()
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(/; no partner has a valid token, so no answers were compared\.\n$/),
    ])
    expect(JSON.parse((await drill('--json')).stdout).answers).toBeNull()
  })
})

test('cli: a backup named like a subcommand can be written as ./drill', async () => {
  await operator.do('backup', './drill')
  expect(existsSync(file('drill')) || existsSync('drill')).toBe(true)
})

test('cli: backup refuses the file name "-", because stdout would mix the backup with messages', async () => {
  const { code, stdout, stderr } = await operator.run(['backup', '-'])
  const fault = 'must be a file name. For a file with the name -, write ./-'
  expect([code, stdout, stderr]).toEqual([2, '', `error: argument 'file' ${fault}\n`])
  expect(readdirSync(operator.folder.path)).not.toContain('-')
})

describe('cli: a temporary folder that cannot be created', () => {
  const nowhere = file('nowhere')
  const inNowhere = (...words: string[]) => operator.run(words, '', { TMPDIR: nowhere })

  test('backup drill names TMPDIR as the cause', async () => {
    expect(await inNowhere('backup', 'drill')).toEqual({
      code: 6,
      signal: null,
      stdout: '',
      stderr: `error: no folder can be made in ${nowhere}\nTry: set TMPDIR to another folder\n`,
    })
  })
})
