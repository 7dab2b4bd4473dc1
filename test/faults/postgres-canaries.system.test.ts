import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { SQL } from 'bun'
import { booking, provider, region } from '../support/builders'
import { Operator } from '../support/operator'
import { type Postgres, runSql, startPostgres } from '../support/postgres'
import { describeOnPostgres } from '../support/postgres-databases'
import { type Exit, eventually, Program, theProgram } from '../support/process'
import { whileAwake } from '../support/standstill'

setDefaultTimeout(300_000)

// Whatever the server fails with, and whatever it says then, none of it is told by this program: neither what people sent,
// nor rows, nor the words of the server, each of which holds this word here.
const word = 'canary'
const spellings = [word, ...['Y2FuYXJ5', 'NhbmFye', 'jYW5hcn'], Buffer.from(word).toString('hex')]
const found = (text: string) =>
  text.split('\n').filter((line) => spellings.some((each) => line.toLowerCase().includes(each.toLowerCase())))

const password = 'canary-password'
const operator = new Operator()
const answers: string[] = []
const endings: Exit[] = []
let server: Postgres
let url = ''
let token = ''
let service: Program
let port = 0
let count = 0

const environment = (database = url) => ({
  ANTEROOM_DATABASE: database,
  ANTEROOM_MASTER_KEY_FILE: operator.folder.file('key'),
})

async function run(args: readonly string[], database = url): Promise<Exit> {
  const ending = await operator.run(args, '', environment(database))
  endings.push(ending)
  return ending
}

async function serve(): Promise<void> {
  service = new Program(['serve', '--port', '0', '--base-url', 'https://api.example'], {
    ...{ command: theProgram, cwd: operator.folder.path, env: environment() },
  })
  await eventually('the service to listen', () => service.stdout.includes('\n') || !service.isRunning)
  port = Number(/port (\d+)/.exec(service.stdout)?.[1])
}

async function send(path: string, init: RequestInit = {}): Promise<number> {
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json', ...init.headers }
  const answer = await fetch(`http://127.0.0.1:${port}/partners/v1/${path}`, { ...init, headers })
  const told = JSON.stringify([...answer.headers]) + (await answer.text())
  // What is answered to others is theirs to know.
  if (answer.status >= 400) answers.push(told)
  return answer.status
}

/** An intake of somebody new, every value of whom is a canary. */
function submit(externalUserId = `canary-${++count}`): Promise<number> {
  const member = {
    email: `${externalUserId}@canary.example`,
    firstName: 'Canaryfirst',
    lastName: 'Canarylast',
  }
  const sent = {
    ...booking(externalUserId, undefined, member),
    phq9Data: [{ question: 'canary-question', answer: 'canary-answer' }],
  }
  const headers = { 'Idempotency-Key': `canary-key-${count}` }
  return send('booking-request/', { method: 'POST', headers, body: JSON.stringify(sent) })
}

const lookUp = (externalUserId: string) => send(`user/?external_user_id=${externalUserId}`)

/** What a table does to whoever writes to it, or at their COMMIT; the rest of the words stand for the server's own. */
async function onWriting(
  table: string,
  body: string,
  when: 'BEFORE' | 'AT COMMIT' = 'BEFORE',
): Promise<void> {
  const trigger =
    when === 'BEFORE'
      ? `CREATE TRIGGER fails BEFORE INSERT OR UPDATE ON ${table} FOR EACH ROW`
      : `CREATE CONSTRAINT TRIGGER fails AFTER INSERT ON ${table} DEFERRABLE INITIALLY DEFERRED FOR EACH ROW`
  await runSql(
    url,
    `CREATE OR REPLACE FUNCTION fails() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${body}; RETURN NEW; END $$;
    ${trigger} EXECUTE FUNCTION fails()`,
  )
}

const noMore = (table: string) => runSql(url, `DROP TRIGGER fails ON ${table}`)

/** As the server fails, in words that hold what is in the row. */
const raising = (code: string) =>
  `RAISE EXCEPTION 'canary %', NEW USING ERRCODE = '${code}', DETAIL = 'canary', HINT = 'canary', CONSTRAINT = 'canary', TABLE = 'canary', COLUMN = 'canary'`
const breaking = 'PERFORM pg_terminate_backend(pg_backend_pid())'

beforeAll(async () => {
  const collected = {
    logging_collector: true,
    log_destination: 'stderr,csvlog',
    log_directory: 'log',
    log_filename: 'all.log',
  }
  server = await startPostgres({ password, settings: collected })
  await server.run('CREATE DATABASE anteroom TEMPLATE template0')
  url = server.urlOf('anteroom')
  await run(['init'])
  await run(['organization', 'add', 'Canary Care'])
  await run(['partner', 'add', 'Canary Partner', '--organization', 'Canary Care'])
  token = (await run(['token', 'issue', 'Canary Partner'])).stdout.trim()
  const directory = {
    regions: [region()],
    providers: [provider('on-1', { firstName: 'Canaryprovider', bio: 'canary-bio' })],
  }
  writeFileSync(operator.folder.file('directory.json'), JSON.stringify(directory))
  await run(['directory', 'load', 'directory.json'])
  expect(endings.map(({ code }) => code)).toEqual([0, 0, 0, 0, 0])
  await serve()
})

afterAll(async () => {
  await service?.[Symbol.asyncDispose]()
  await server?.[Symbol.asyncDispose]()
  operator[Symbol.dispose]()
})

describeOnPostgres(
  'where a server fails, this program tells nothing of what it was sent, holds or was told:',
  () => {
    // What a constraint, a deadlock, a full disk and so on say of themselves is the server's to choose, and is all canaries.
    test.each([
      ['23505', 500],
      ['23514', 500],
      ['22P02', 500],
      ['P0001', 500],
      ['40001', 503],
      ['40P01', 503],
      ['55P03', 503],
      ['57014', 503],
      ['53100', 503],
      ['58030', 503],
      ['XX001', 503],
      ['42501', 503],
      ['25006', 503],
    ])('by %s', async (code, status) => {
      await onWriting('members', raising(code))
      expect(await submit()).toBe(status)
      await noMore('members')
    })

    test('by a connection that breaks at a write, or at COMMIT, or by a constraint that is looked at then', async () => {
      const statuses: number[] = []
      for (const [body, when] of [
        [breaking, 'BEFORE'],
        [breaking, 'AT COMMIT'],
        [raising('23514'), 'AT COMMIT'],
      ] as const) {
        await onWriting('booking_requests', body, when)
        statuses.push(await submit())
        await noMore('booking_requests')
      }
      expect(statuses).toEqual([503, 503, 500])
    })

    test('by a lock that is not had in time', async () => {
      await using client = new SQL(url, { max: 1 })
      await client.begin(async (transaction) => {
        await transaction.unsafe('LOCK TABLE members')
        expect(await submit()).toBe(503)
      })
    })

    test('by rows that cannot be read', async () => {
      await eventually('a booking', async () => (await submit('canary-kept')) === 201, 10_000)
      await runSql(url, "UPDATE members SET sealed_profile = 'canary-sealed'")
      expect(await lookUp('canary-kept')).toBe(500)
      expect(await submit('canary-kept')).toBe(500)
      const broken = `UPDATE providers SET working_hours = '[{"canary": "canary"}]', bio = 'canary'`
      await runSql(url, `${broken}; INSERT INTO changes (noun, record_id) VALUES ('provider', 1)`)
      await send('providers/?region_id=1')
      for (const args of [['member', 'show', '1'], ['request', 'list'], ['doctor']]) await run(args)
    })

    test('by a password that is wrong, and by a server that is gone', async () => {
      const wrong = url.replace(password, 'canary-wrong')
      expect((await run(['request', 'list'], wrong)).code).not.toBe(0)
      await server.stop('SIGKILL')
      expect(await submit()).toBe(503)
      expect((await run(['request', 'list'])).code).not.toBe(0)
      await server.start()
    })

    test('and this holds of every answer, of the log, and of what commands print', async () => {
      await service.stop()
      expect(service.stderr.split('\n').length).toBeGreaterThan(30)
      expect(found(service.stdout + service.stderr)).toEqual([])
      expect(answers.length).toBeGreaterThan(15)
      expect(answers.flatMap(found)).toEqual([])
      expect(endings.map(({ stderr }) => stderr).flatMap(found)).toEqual([])
    })
  },
)

describeOnPostgres("the server's own log", () => {
  const logged = () => readFileSync(join(server.data, 'log/all.log'), 'utf8')
  const table = () => readFileSync(join(server.data, 'log/all.csv'), 'utf8')
  const names = [
    'log_error_verbosity',
    'log_statement',
    'log_parameter_max_length',
    'log_parameter_max_length_on_error',
  ]

  /** What of canaries the server logs of a row that a constraint forbids, of a booking, and of a name that is given. */
  function loggedWith(settings: Record<string, string>, read = logged): Promise<string[]> {
    // What is tried again is logged again.
    return whileAwake(() => loggedOnceWith(settings, read))
  }

  async function loggedOnceWith(settings: Record<string, string>, read: () => string): Promise<string[]> {
    for (const name of names) {
      const { [name]: value } = settings
      await server.run(`ALTER SYSTEM ${value === undefined ? `RESET ${name}` : `SET ${name} = '${value}'`}`)
    }
    await server.run('SELECT pg_reload_conf()')
    const inForce = async () =>
      (
        await server.run(
          `SELECT name FROM pg_settings WHERE name IN ('${names.join("','")}') AND source = 'configuration file'`,
        )
      ).length
    await eventually('the settings', async () => (await inForce()) === Object.keys(settings).length)
    const from = read().length
    const each = (what: string) =>
      ['partners', 'members'].map((one) => `ALTER TABLE ${one} ${what}`).join(';')
    await runSql(url, each('ADD CONSTRAINT never CHECK (false) NOT VALID'))
    expect([await submit(), (await run(['partner', 'add', 'Canary Second'])).code]).toEqual([500, 1])
    await runSql(url, each('DROP CONSTRAINT never'))
    expect(await submit()).toBe(201)
    await run(['partner', 'rename', 'Canary Partner', 'Canary Renamed'])
    await run(['partner', 'rename', 'Canary Renamed', 'Canary Partner'])
    return found(read().slice(from)).map((line) => line.replace(/^[^[]*\[\d+\] /, ''))
  }

  beforeAll(async () => {
    await service[Symbol.asyncDispose]()
    await serve()
  })

  test('has rows by the settings that it comes with: of partners and providers, and nobody else', async () => {
    expect(await loggedWith({})).toEqual([
      expect.stringMatching(/^DETAIL: {2}Failing row contains \(\d+, Canary Second, /),
    ])
  })

  test('has what is written too where statements are logged', async () => {
    const lines = await loggedWith({ log_statement: 'all', log_parameter_max_length_on_error: '-1' })
    // Of the row that is refused the statement, the row and the statement again; and of what is stored each statement.
    expect(lines.map((line) => line.replace(/ .*(Canary \w+).*/, ' $1'))).toEqual([
      ...['DETAIL: Canary Second', 'DETAIL: Canary Second', 'CONTEXT: Canary Second'],
      ...['DETAIL: Canary Renamed', 'DETAIL: Canary Partner'],
    ])
  })

  test.each([
    [{ log_error_verbosity: 'terse' }],
    [{ log_error_verbosity: 'terse', log_statement: 'all' }],
    [{ log_error_verbosity: 'terse', log_statement: 'all', log_parameter_max_length_on_error: '-1' }],
  ])('has none of it with %p', async (settings) => {
    expect(await loggedWith(settings)).toEqual([])
  })

  test('as CSV has it whatever the verbosity, of rows that are refused even where no parameter may be told', async () => {
    const terse = { log_error_verbosity: 'terse', log_statement: 'all' }
    expect(await loggedWith(terse, table)).toHaveLength(4)
    expect(await loggedWith({ ...terse, log_parameter_max_length: '0' }, table)).toEqual([
      expect.stringContaining('Failing row contains'),
    ])
  })
})
