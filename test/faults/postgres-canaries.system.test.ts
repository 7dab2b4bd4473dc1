import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { SQL } from 'bun'
import { booking, provider, region } from '../support/builders'
import { Operator } from '../support/operator'
import { type Postgres, runSql, startPostgres } from '../support/postgres'
import { describeOnPostgres, testOnPostgres } from '../support/postgres-databases'
import { type Exit, eventually, Program, theProgram } from '../support/process'

setDefaultTimeout(300_000)

// If the database server fails, the program must not reveal values from callers, rows, or messages of the database
// server. In these tests, each of these texts contains the canary word.
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
  const answered = JSON.stringify([...answer.headers]) + (await answer.text())
  // Successful answers may contain the caller's own values.
  if (answer.status >= 400) answers.push(answered)
  return answer.status
}

/** Submits an intake of a new member. Every value contains the canary. */
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

/**
 * Adds a trigger that makes writes to a table fail, at once or at COMMIT. The trigger runs the PL/pgSQL code
 * `body`.
 */
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

/** PL/pgSQL that raises an error whose text contains the row. */
const raising = (code: string) =>
  `RAISE EXCEPTION 'canary %', NEW USING ERRCODE = '${code}', DETAIL = 'canary', HINT = 'canary', CONSTRAINT = 'canary', TABLE = 'canary', COLUMN = 'canary'`
const breaking = 'PERFORM pg_terminate_backend(pg_backend_pid())'

beforeAll(async () => {
  const collected = {
    logging_collector: true,
    log_destination: 'stderr',
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
  'faults: when PostgreSQL fails, no canary value reaches answers, logs or command output',
  () => {
    // The database server chooses all texts of an error, so each text contains the canary.
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
    ])('a PostgreSQL error %s reveals nothing', async (code, status) => {
      await onWriting('members', raising(code))
      expect(await submit()).toBe(status)
      await noMore('members')
    })

    test('a connection that breaks at a write or at COMMIT, and a constraint checked at COMMIT, reveal nothing', async () => {
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

    test('a lock timeout reveals nothing', async () => {
      await using client = new SQL(url, { max: 1 })
      await client.begin(async (transaction) => {
        await transaction.unsafe('LOCK TABLE members')
        expect(await submit()).toBe(503)
      })
    })

    test('rows that cannot be read reveal nothing', async () => {
      await eventually('a booking to be stored', async () => (await submit('canary-kept')) === 201, 10_000)
      await runSql(url, "UPDATE members SET sealed_profile = 'canary-sealed'")
      expect(await lookUp('canary-kept')).toBe(500)
      expect(await submit('canary-kept')).toBe(500)
      const broken = `UPDATE providers SET working_hours = '[{"canary": "canary"}]', bio = 'canary'`
      await runSql(url, `${broken}; INSERT INTO changes (noun, record_id) VALUES ('provider', 1)`)
      await send('providers/?region_id=1')
      for (const args of [['member', 'show', '1'], ['request', 'list'], ['doctor']]) await run(args)
    })

    test('a wrong password and a dead database server reveal nothing', async () => {
      const wrong = url.replace(password, 'canary-wrong')
      expect((await run(['request', 'list'], wrong)).code).not.toBe(0)
      await server.stop('SIGKILL')
      expect(await submit()).toBe(503)
      expect((await run(['request', 'list'])).code).not.toBe(0)
      await server.start()
    })

    test('all answers, logs and command output of these failures contain no canary', async () => {
      await service.stop()
      expect(service.stderr.split('\n').length).toBeGreaterThan(30)
      expect(found(service.stdout + service.stderr)).toEqual([])
      expect(answers.length).toBeGreaterThan(15)
      expect(answers.flatMap(found)).toEqual([])
      expect(endings.map(({ stderr }) => stderr).flatMap(found)).toEqual([])
    })
  },
)

testOnPostgres("faults: the server's log has no personal data of a member whose row it rejects", async () => {
  await service[Symbol.asyncDispose]()
  await serve()
  const log = () => readFileSync(join(server.data, 'log/all.log'), 'utf8')
  const from = log().length
  await runSql(url, 'ALTER TABLE members ADD CONSTRAINT never CHECK (false) NOT VALID')
  expect(await submit()).toBe(500)
  await eventually('the rejected row to be logged', () => log().slice(from).includes('Failing row contains'))
  expect(found(log().slice(from))).toEqual([])
})
