import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { openSync } from 'node:fs'
import { provider, region } from '../support/builders'
import { Operator } from '../support/operator'
import { eventually, theProgram } from '../support/process'
import { runOnTerminal } from '../support/terminal'

// Slow: each command starts a process.
setDefaultTimeout(300_000)

const operator = new Operator(theProgram)
const env = { ...operator.settings }
const bio = 'Listens first, and keeps a kettle warm for every conversation, however long it takes to begin.'

beforeAll(async () => {
  await operator.do('init')
  await operator.do('organization', 'add', 'North')
  const providers = [
    provider('on-001', { firstName: 'Ada', lastName: 'Lovelace of the Analytical Engine', bio }),
    provider('on-002', { firstName: '渡辺 渡辺 渡辺', lastName: '渡辺 渡辺 渡辺 渡辺', active: false }),
  ]
  await operator.loadDirectory({ regions: [region()], providers })
})

afterAll(() => {
  operator[Symbol.dispose]()
})

const widest = (text: string) => Math.max(...text.split('\n').map((line) => Bun.stringWidth(line)))

describe('cli: output on a terminal', () => {
  test.each([60, 80, 140])('tables and records fit into %d columns', async (columns) => {
    for (const words of [
      ['provider', 'list'],
      ['provider', 'show', 'on-001'],
      ['doctor'],
      ['audit', 'list'],
    ]) {
      const { code, shown } = await runOnTerminal(words, { columns, env })
      expect([words, code]).toEqual([words, 0])
      expect(widest(shown), words.join(' ')).toBeLessThanOrEqual(columns)
    }
  })

  test('help is not wider than 80 columns', async () => {
    const { code, shown } = await runOnTerminal(['provider', '--help'], { env })
    expect([code, widest(shown) <= 80]).toEqual([0, true])
    expect(shown).toContain('\n  away <provider> <from> <until>  Record an')
    expect(widest((await runOnTerminal(['sandbox', '--help'], { env })).shown)).toBeLessThanOrEqual(80)
  })

  test('the audit log shows the outcome at any width, and shows the actor in a list about one record', async () => {
    const refused = await runOnTerminal(['partner', 'deactivate', 'North'], { env })
    expect(refused.code).toBe(3)
    const { shown } = await runOnTerminal(['audit', 'list'], { columns: 60, env })
    expect(Bun.stripANSI(shown)).toMatch(/^LINE .* OUTCOME/)
    const one = await runOnTerminal(['audit', 'list', '--record', 'organization 1'], { columns: 76, env })
    expect(Bun.stripANSI(one.shown)).toMatch(/^LINE {2}AT {2,}WHO .* OUTCOME/)
  })

  test('the token list shows the whole kid at any width', async () => {
    const name = 'The partner whose name is long'
    await operator.do('partner', 'add', name, '--organization', 'North')
    await operator.do('token', 'issue', name)
    const { shown } = await runOnTerminal(['token', 'list'], { columns: 60, env })
    const [token] = await operator.ask<[{ kid: string }]>('token', 'list')
    expect(shown).toContain(`\n${token.kid}  The partner`)
  })

  test('token verify asks for the token', async () => {
    const { code, shown } = await runOnTerminal(['token', 'verify'], { env, answer: 'no-token\r' })
    const text = Bun.stripANSI(shown).replaceAll('\r', '')
    expect(code).toBe(0)
    expect(text).toMatch(/^Token: no-token\nstatus +401\ncode +token_invalid\n/)
  })

  test('states are in color and titles in bold', async () => {
    const { shown } = await runOnTerminal(['organization', 'list'], { env })
    expect(shown).toBe('\u001b[1mID  NAME   STATE\u001b[22m\n1   North  \u001b[32mactive\u001b[39m\n')
  })

  test('output has no color if NO_COLOR or TERM=dumb is set', async () => {
    for (const asked of [{ NO_COLOR: '1' }, { TERM: 'dumb' }]) {
      const { shown } = await runOnTerminal(['organization', 'list'], { env: { ...env, ...asked } })
      expect(shown).toBe('ID  NAME   STATE\n1   North  active\n')
    }
  })

  test('JSON has neither color nor line wrapping', async () => {
    const { shown } = await runOnTerminal(['provider', 'show', 'on-001', '--json'], { columns: 40, env })
    expect(JSON.parse(shown)).toMatchObject({ ref: 'on-001', bio })
    expect(shown).toBe(Bun.stripANSI(shown))
  })

  test.each([
    ['Ctrl-C', '\u0003'],
    ['Ctrl-D', '\u0004'],
    ['SIGTERM', 'SIGTERM'],
    ['SIGHUP', 'SIGHUP'],
    ['the answer no', 'n\r'],
    ['an empty answer', '\r'],
  ])('%s at a question changes nothing, and the output says so', async (_, answer) => {
    const { code, shown } = await runOnTerminal(['organization', 'deactivate', 'North'], { env, answer })
    expect(code).toBe(2)
    expect(shown).toEndWith('\nerror: not confirmed, so nothing was changed\n')
    expect(await operator.ask('organization', 'list')).toMatchObject([{ name: 'North', active: true }])
  })

  test('the answer yes makes the change', async () => {
    const words = ['organization', 'deactivate', 'North']
    const { code, shown } = await runOnTerminal(words, { env, answer: 'y\r' })
    expect([code, shown.split('\n').slice(-2)]).toEqual([0, ['Organization North is deactivated.', '']])
    expect(await operator.ask('organization', 'reactivate', 'North')).toEqual({ id: 1, active: true })
  })
})

test('cli: output is neither cut nor colored if stdout is not a terminal', async () => {
  const { stdout } = await operator.run(['provider', 'list'], '', { FORCE_COLOR: '1', COLUMNS: '40' })
  expect(stdout).toContain('Ada Lovelace of the Analytical Engine')
  expect(stdout).toBe(Bun.stripANSI(stdout))
})

const unwritten = 'error: the output could not be written, but the command may have made its changes\n'

test('cli: every command reports in one line that stdout could not be written', async () => {
  for (const words of [
    'organization list',
    'organization list --json',
    'audit export',
    'provider show on-001',
    'completion bash',
    'version',
    '--version',
    '--help',
  ]) {
    const { code, stderr } = await operator.runShell(`${words} > /dev/full`)
    expect([words, code, stderr]).toEqual([words, 1, unwritten])
  }
})

test.each([
  ['is full', () => openSync('/dev/full', 'w')],
  ['has no reader', () => 'pipe' as const],
])('cli: a service whose stdout %s still serves, and logs where it listens', async (_, stdout) => {
  const words = ['serve', '--port', '0', '--base-url', 'https://api.example']
  const streams = { stdin: 'ignore', stdout: stdout(), stderr: 'pipe' } as const
  const service = Bun.spawn([...theProgram, ...words], {
    ...streams,
    cwd: operator.folder.path,
    env: { ...env },
  })
  if (service.stdout instanceof ReadableStream) await service.stdout.cancel()
  let log = ''
  const read = async () => {
    for await (const bytes of service.stderr) log += new TextDecoder().decode(bytes)
  }
  const ended = read()
  const listening =
    /stdout could not be written: Listening on 127\.0\.0\.1 port (\d+) as https:\/\/api\.example/
  await eventually('it to say where it listens', () => listening.test(log) || service.exitCode !== null)
  expect((await fetch(`http://127.0.0.1:${listening.exec(log)?.[1]}/readyz`)).status).toBe(200)
  service.kill('SIGTERM')
  await ended
  expect(await service.exited).toBe(0)
})

test('cli: a service on a terminal prints one line per request, without color if NO_COLOR is set', async () => {
  const { code, shown } = await runOnTerminal(['serve', '--port', '0', '--base-url', 'https://api.example'], {
    answer: 'SIGTERM',
    waiting: /Listening.*\r\n/,
    meanwhile: async (shown) => {
      const [, port] = /port (\d+)/.exec(shown) ?? []
      for (const path of ['livez', 'canary%1b[31m?canary']) await fetch(`http://127.0.0.1:${port}/${path}`)
      // Waits longer than the log is buffered (100 ms).
      await Bun.sleep(300)
    },
    env: { ...env, NO_COLOR: '1' },
    columns: 200,
  })
  const request = /^\d\d:\d\d:\d\d {2}(\d{3} {2}\S+ +\S+) +[\d.]+ ms +\d+ B(?: {2}(\S+) [\w-]{36})?$/
  const lines = shown.split('\n').filter((line) => / ms /.test(line))
  expect(code).toBe(0)
  expect(lines.map((line) => request.exec(line)?.slice(1).filter(Boolean).join(' '))).toEqual([
    '200  GET   /livez',
    '404  GET   - path_unknown',
  ])
  expect(shown).toMatch(/anteroom: stopping\nanteroom: audit head \d+:\w{64}\nanteroom: stopped\n$/)
  expect(shown).not.toContain('canary')
})
