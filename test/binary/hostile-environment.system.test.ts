import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { booking } from '../support/builders'
import { isLong } from '../support/long'
import {
  Folder,
  runProgram,
  type Sandbox,
  startSandbox,
  theProgram,
  withFewProviders,
} from '../support/process'

// Starts the executable in a folder and an environment that an attacker has prepared. The executable must ignore the
// folder and the environment, or refuse to start. Variables that the system obeys before the program runs, for example
// LD_PRELOAD, are not tested. With TEST_LONG=1, each variable is also tested alone.
setDefaultTimeout(300_000)

// The sandbox starts at this time. No slot begins or ends in the minutes that the tests take, so the responses stay
// equal.
const now = '2026-12-01T12:05:00Z'
const folder = new Folder()
const furnished = folder.file('furnished.sqlite')
let undisturbed: readonly unknown[] = []

beforeAll(async () => {
  await using sandbox = await startSandbox(['--database', furnished, '--now', now, ...withFewProviders], {
    env: {},
  })
  expect((await sandbox.stop()).code).toBe(0)
  undisturbed = (await answersIn({}, emptyFolder())).answers
})

afterAll(() => folder[Symbol.dispose]())

let made = 0
function emptyFolder(): string {
  const path = folder.file(`place-${made++}`)
  mkdirSync(path)
  return path
}

const script = (mark: string) => `require('node:fs').writeFileSync(${JSON.stringify(mark)}, '')\n`

/** A folder of traps. Each file runs a script or changes a setting if a program reads the file. */
function hostileFolder(): string {
  const path = emptyFolder()
  const write = (name: string, text: string) => {
    mkdirSync(join(path, name, '..'), { recursive: true })
    writeFileSync(join(path, name), text)
    // Sets the atime before the mtime. The next read then updates the atime, even on a disk mounted with relatime.
    utimesSync(join(path, name), new Date(0), statSync(join(path, name)).mtime)
  }
  const evil = script(join(path, 'ran'))
  for (const name of ['bunfig.toml', '.bunfig.toml']) write(name, 'preload = ["./evil.ts"]\n')
  for (const name of ['evil.ts', 'index.ts', 'main.ts', 'sandbox', 'sandbox.ts', '--port.js'])
    write(name, evil)
  const settings = [
    'ANTEROOM_DATABASE=elsewhere.sqlite',
    'ANTEROOM_PORT=1',
    'NODE_ENV=development',
    'TMPDIR=hijacked',
    'BUN_OPTIONS=--preload=./evil.ts',
    'TZ=Asia/Tokyo',
  ].join('\n')
  for (const name of ['', '.local', '.production', '.production.local', '.development', '.test']) {
    write(`.env${name}`, settings)
  }
  const imports = { '#evil': './evil.ts', elysia: './evil.ts' }
  const scripts = { sandbox: 'echo evil', serve: 'echo evil', preinstall: 'echo evil' }
  write('package.json', JSON.stringify({ name: 'evil', type: 'commonjs', main: 'evil.ts', imports, scripts }))
  const paths = { '*': ['./evil.ts'], elysia: ['./evil.ts'] }
  for (const name of ['tsconfig.json', 'jsconfig.json']) {
    write(name, JSON.stringify({ compilerOptions: { baseUrl: '.', paths } }))
  }
  for (const name of ['elysia', 'commander', 'drizzle-orm', 'swagger-ui-dist', 'jose', 'bun:sqlite']) {
    write(`node_modules/${name}/package.json`, JSON.stringify({ name, main: 'index.js' }))
    write(`node_modules/${name}/index.js`, evil)
  }
  write('anteroom.sqlite.key', 'evil')
  write('openapi.json', '{}')
  return path
}

/** The size and the times of each file below a folder. The atime shows whether a file was read. */
function stateOf(path: string): Record<string, unknown> {
  const names = readdirSync(path, { recursive: true }) as string[]
  return Object.fromEntries(
    names.sort().flatMap((name) => {
      const { atimeMs, mtimeMs, size } = statSync(join(path, name))
      return statSync(join(path, name)).isDirectory() ? [] : [[name, { atimeMs, mtimeMs, size }]]
    }),
  )
}

async function answersIn(env: Record<string, string>, cwd: string) {
  const database = join(emptyFolder(), 'copy.sqlite')
  cpSync(furnished, database)
  cpSync(`${furnished}.key`, `${database}.key`)
  const args = ['--database', database, '--now', now, '--base-url', 'https://api.example']
  await using sandbox = await startSandbox(args, { cwd, env })
  // The time `now` in the report is slightly later than --now, and differs between starts.
  const report = { ...sandbox.report, database: '', now: '', controlToken: '' }
  // The report contains the public address (--base-url), not the port on this machine.
  const ports = listeningPorts(sandbox.pid)
  sandbox.report = { ...sandbox.report, baseUrl: `http://127.0.0.1:${ports[0] ?? 0}` }
  const answers: unknown[] = [report]
  for (const answer of await ask(sandbox)) {
    // The headers `date` and `x-request-id` differ in every response.
    const headers = [...answer.headers].filter(([name]) => name !== 'date' && name !== 'x-request-id')
    answers.push({ status: answer.status, headers, body: answer.body })
  }
  const listening = listeningPorts(sandbox.pid)
  const { code, stderr } = await sandbox.stop()
  answers.push({ code, stderr })
  return { answers, listening }
}

async function ask(sandbox: Sandbox) {
  const { regionId, providerId, utcStartTime } = sandbox.report.examples
  const booked = await sandbox.post(booking('hostile-1', { providerId, utcStartTime }))
  expect(booked.body.authorizationNumber).toBeString()
  booked.body.authorizationNumber = ''
  return [
    booked,
    await sandbox.get('/partners/v1/provider-regions/?country_code=ca'),
    await sandbox.get(`/partners/v1/providers/?region_id=${regionId}&page_size=5`),
    await sandbox.get('/partners/v1/user/?external_user_id=hostile-1'),
    // In its development mode, Bun would answer the following requests with an error page or with details.
    await sandbox.post('{"user":'),
    await sandbox.post({ user: { external_user_id: 7 }, memberData: [[[[[]]]]] }),
    await sandbox.get('/elsewhere'),
    await sandbox.send('/openapi.json'),
    await sandbox.send('/docs'),
  ]
}

/** The TCP ports that a process listens on, from /proc (proc(5)). */
function listeningPorts(pid: number): number[] {
  const sockets = new Set(
    readdirSync(`/proc/${pid}/fd`).map((fd) => {
      try {
        return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1]
      } catch {
        return undefined
      }
    }),
  )
  const rows = ['tcp', 'tcp6'].flatMap((name) => {
    const path = `/proc/net/${name}`
    return existsSync(path) ? readFileSync(path, 'utf8').split('\n').slice(1) : []
  })
  const fields = rows.map((row) => row.trim().split(/\s+/))
  return fields
    .filter(([, , , state, , , , , , inode]) => state === '0A' && sockets.has(inode))
    .map(([, local = '']) => Number.parseInt(local.slice(local.indexOf(':') + 1), 16))
}

describe('binary: a start in a hostile folder and environment', () => {
  test('neither reads nor writes a file of the working directory', async () => {
    const cwd = hostileFolder()
    const before = stateOf(cwd)
    const { answers, listening } = await answersIn({}, cwd)
    expect(answers).toEqual([...undisturbed])
    expect(listening).toHaveLength(1)
    expect(stateOf(cwd)).toEqual(before)
    expect(Object.keys(before)).not.toContain('ran')
    // Checks that the traps work: Bun itself runs the script in this folder.
    Bun.spawnSync([process.execPath, 'index.ts'], { cwd, env: {} })
    expect(existsSync(join(cwd, 'ran'))).toBe(true)
    expect(stateOf(cwd)).not.toEqual(before)
  })

  /**
   * Variables that change other programs or Bun itself. The executable must ignore these variables. Paths
   * point into `bait`.
   */
  const harmless = (bait: string): Record<string, string> => ({
    NODE_OPTIONS: `--require ${bait}/evil.js --inspect=127.0.0.1:0`,
    NODE_ENV: 'development',
    BUN_ENV: 'development',
    NODE_PATH: bait,
    NODE_DEBUG: 'http,net',
    NODE_TLS_REJECT_UNAUTHORIZED: '0',
    NODE_EXTRA_CA_CERTS: `${bait}/evil.js`,
    NODE_V8_COVERAGE: `${bait}/coverage`,
    NODE_COMPILE_CACHE: `${bait}/compiled`,
    NODE_REPL_EXTERNAL_MODULE: `${bait}/evil.js`,
    SSL_CERT_FILE: `${bait}/evil.js`,
    SSLKEYLOGFILE: `${bait}/keys`,
    OPENSSL_CONF: `${bait}/evil.js`,
    HTTP_PROXY: 'http://127.0.0.1:9',
    HTTPS_PROXY: 'http://127.0.0.1:9',
    NO_PROXY: '',
    TZ: 'Pacific/Apia',
    LANG: 'tr_TR.UTF-8',
    LC_ALL: 'ar_EG.UTF-8',
    LANGUAGE: 'ar',
    ICU_DATA: bait,
    HOME: bait,
    XDG_CONFIG_HOME: bait,
    XDG_CACHE_HOME: bait,
    TMPDIR: `${bait}/nowhere`,
    TMP: `${bait}/nowhere`,
    SQLITE_TMPDIR: `${bait}/nowhere`,
    USER: 'root',
    PATH: bait,
    PORT: '1',
    BUN_PORT: '1',
    HOST: '0.0.0.0',
    DEBUG: '*',
    FORCE_COLOR: '1',
    BUN_INSTALL: bait,
    BUN_CONFIG_VERBOSE_FETCH: 'curl',
    BUN_CONFIG_REGISTRY: 'http://127.0.0.1:9',
    BUN_CONFIG_MAX_HTTP_REQUESTS: '1',
    BUN_RUNTIME_TRANSPILER_CACHE_PATH: `${bait}/transpiled`,
    BUN_BE_BUN: '',
    BUN_OPTIONS: '',
    BUN_INSPECT: '',
  })

  async function changesNothing(pick: (all: Record<string, string>) => Record<string, string>) {
    const [bait, cwd] = [emptyFolder(), emptyFolder()]
    writeFileSync(join(bait, 'evil.js'), script(join(bait, 'ran')))
    const { answers, listening } = await answersIn(pick(harmless(bait)), cwd)
    expect(answers).toEqual([...undisturbed])
    expect(listening).toHaveLength(1)
    expect([readdirSync(bait), readdirSync(cwd)]).toEqual([['evil.js'], []])
  }

  test('ignores all environment variables that are meant for other programs', () =>
    changesNothing((all) => all))

  for (const name of isLong ? Object.keys(harmless('')) : []) {
    test(`ignores the single environment variable ${name}`, () =>
      changesNothing((all) => ({ [name]: all[name] as string })))
  }

  test.each([
    ['BUN_OPTIONS', '--smol'],
    ['BUN_OPTIONS', '--inspect=127.0.0.1:0'],
    ['BUN_INSPECT', '127.0.0.1:0'],
    ['BUN_INSPECT_CONNECT_TO', 'ws://127.0.0.1:9'],
    ['BUN_INSPECT_NOTIFY', 'unix:///nowhere'],
    ['BUN_INSPECT_PRELOAD', './evil.js'],
    ['BUN_JSC_useJIT', '0'],
    ['BUN_BYTECODE_ORDER_OUT', join(emptyFolder(), 'order')],
  ])('refuses to start with %s=%s, which would change how Bun runs the program', async (name, value) => {
    const cwd = emptyFolder()
    for (const words of [['sandbox', '--port', '0'], ['serve'], ['--version']]) {
      expect(await runProgram(words, { cwd, env: { [name]: value } })).toEqual({
        code: 2,
        signal: null,
        stdout: '',
        stderr: `error: ${name}: changes how Bun runs this program\nTry: unset it\n`,
      })
    }
    expect(readdirSync(cwd)).toEqual([])
  })

  test('names each refused variable in the error', async () => {
    const env = { BUN_OPTIONS: '--smol', BUN_INSPECT_NOTIFY: 'unix:///nowhere', BUN_INSTALL: '/nowhere' }
    const { code, stderr } = await runProgram(['--version'], { env })
    expect([code, stderr.match(/BUN_\w+/g)]).toEqual([2, ['BUN_OPTIONS', 'BUN_INSPECT_NOTIFY']])
  })

  // The program cannot ignore this variable. So docs/settings.md asks the operator to unset the variable.
  test('BUN_BE_BUN=1 runs Bun instead of this program', async () => {
    const { stdout } = await runProgram(['--version'], { env: { BUN_BE_BUN: '1' } })
    expect(stdout).toBe(`${Bun.version}\n`)
    expect(theProgram).toHaveLength(1)
  })
})
