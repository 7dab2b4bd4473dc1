import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { paths } from '../contract/contract'
import { Operator } from '../support/operator'
import { runSql } from '../support/postgres'
import { describeOnPostgres, newDatabase, type TestDatabase } from '../support/postgres-databases'
import { eventually, Program, theProgram } from '../support/process'

setDefaultTimeout(300_000)

const operator = new Operator()
let database: TestDatabase
let token = ''

const environment = () => ({
  ANTEROOM_DATABASE: database.url,
  ANTEROOM_MASTER_KEY_FILE: operator.folder.file('key'),
})

async function serve(...flags: string[]) {
  const words = ['serve', '--port', '0', '--metrics-port', '0', '--base-url', 'https://api.example', ...flags]
  const program = new Program(words, { command: theProgram, cwd: operator.folder.path, env: environment() })
  await eventually('the service to listen', () => program.stdout.includes('/metrics') || !program.isRunning)
  const [port, metricsPort] = [/port (\d+)/, /127\.0\.0\.1:(\d+)/].map(
    (each) => each.exec(program.stdout)?.[1],
  )
  const asked = { headers: { Authorization: `Bearer ${token}` } }
  return {
    program,
    ask: () => fetch(`http://127.0.0.1:${port}${paths.regions}?country_code=CA`, asked),
    metrics: async () => (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text(),
  }
}

async function run(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await operator.run(args, '', environment())
  if (code !== 0) throw new Error(stderr)
  return stdout
}

describeOnPostgres('cli: two nodes on one database', () => {
  beforeAll(async () => {
    database = await newDatabase()
    await run('init')
    await run('organization', 'add', 'North Care')
    await run('partner', 'add', 'Lantern', '--organization', 'North Care')
    token = (await run('token', 'issue', 'Lantern')).trim()
  })
  afterAll(async () => {
    await database?.drop()
    operator[Symbol.dispose]()
  })

  test("each of two nodes applies half of a partner's rate limit, and reports its own connections and clock difference", async () => {
    const [one, two] = [await serve('--nodes', '2'), await serve('--nodes', '2', '--reads-per-minute', '3')]
    await using _one = one.program
    await using _two = two.program
    const [first, second, third] = [await one.ask(), await two.ask(), await two.ask()]
    const limitOf = ({ status, headers }: Response) => [status, headers.get('ratelimit-policy')]
    expect([first, second, third].map(limitOf)).toEqual([
      [200, '"reads";q=15000;w=60'],
      [200, '"reads";q=1;w=60'],
      [429, '"reads";q=1;w=60'],
    ])
    const measured = () => one.metrics()
    await eventually('a look at the clock and the size', async () =>
      /clock_difference/.test(await measured()),
    )
    const metrics = await measured()
    expect(metrics).toMatch(/^anteroom_ready 1$/m)
    expect(metrics).toMatch(/^anteroom_database_connections\{state="free"\} [1-8]$/m)
    expect(Number(/^anteroom_database_clock_difference_seconds (.*)$/m.exec(metrics)?.[1])).toBeCloseTo(0, 1)
    expect(metrics).not.toMatch(/^anteroom_database_bytes\{file="log"\}/m)
    for (const { program } of [one, two]) expect((await program.stop()).code).toBe(0)
    expect(one.program.stderr + two.program.stderr).not.toMatch(/"level":"(warn|error)"/)
  })
})

describeOnPostgres('cli: init on a database server', () => {
  test('is refused for a role that cannot create tables, and later uses the same master key', async () => {
    using guest = new Operator()
    await using empty = await newDatabase()
    await runSql(empty.url, 'CREATE ROLE bystander LOGIN')
    const ANTEROOM_MASTER_KEY_FILE = guest.folder.file('bystander.key')
    const ANTEROOM_DATABASE = empty.url.replace('//postgres@', '//bystander@')
    const init = () => guest.run(['init'], '', { ANTEROOM_DATABASE, ANTEROOM_MASTER_KEY_FILE })
    const { code, stderr } = await init()
    expect(code).toBe(6)
    expect(stderr).toEndWith(
      ': the role lacks a privilege\nTry: connect as the owner of the database and its tables, or have an administrator run in this database: CREATE EXTENSION btree_gist and GRANT CREATE ON SCHEMA public TO the role\n',
    )
    const key = readFileSync(ANTEROOM_MASTER_KEY_FILE)
    await runSql(empty.url, 'CREATE EXTENSION btree_gist; GRANT CREATE ON SCHEMA public TO bystander')
    expect((await init()).code).toBe(0)
    expect(readFileSync(ANTEROOM_MASTER_KEY_FILE)).toEqual(key)
    await runSql(empty.url, 'DROP OWNED BY bystander CASCADE; DROP ROLE bystander')
  })
})
