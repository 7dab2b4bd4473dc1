import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { existsSync, statSync } from 'node:fs'
import { kidOf } from '../../src/auth/token'
import { provider, region } from '../support/builders'
import { testOfFile } from '../support/engine'
import { messagesIn, Operator, type Served, stopping } from '../support/operator'
import { eventually, theProgram } from '../support/process'

const regions = '/partners/v1/provider-regions/?country_code=CA'

describe('cli: onboarding partners while the service runs', () => {
  const operator = new Operator()
  let service: Served
  let token = ''

  beforeAll(async () => {
    await operator.do('init')
    // These tests send more requests than the default limits allow.
    service = await operator.serve('--reads-per-minute', 'off', '--failed-authentications-per-minute', 'off')
  })

  afterAll(async () => {
    const { code, stderr } = await service.stop()
    operator[Symbol.dispose]()
    expect([code, messagesIn(stderr)]).toEqual([0, stopping])
  })

  testOfFile(
    'init creates a database and a key that only their owner can read, and never overwrites them',
    async () => {
      for (const file of [operator.database, `${operator.database}.key`]) {
        expect(statSync(file).mode & 0o777, file).toBe(0o600)
      }
      expect(await operator.run(['init'])).toEqual({
        code: 6,
        signal: null,
        stdout: '',
        stderr: 'error: a file already exists at the database path\nTry: choose another path\n',
      })
    },
  )

  test('a new token is accepted by the next request', async () => {
    await operator.do('organization', 'add', 'North Care')
    await operator.do('partner', 'add', 'Lantern', '--organization', 'North Care')
    token = (await operator.do('token', 'issue', 'Lantern')).trim()
    expect(await service.get(regions, token)).toMatchObject({ status: 200, body: [] })
  })

  test('a second token is refused while the first token is in force', async () => {
    expect(await operator.run(['token', 'issue', 'Lantern'])).toEqual({
      code: 4,
      signal: null,
      stdout: '',
      stderr: 'error: the partner already has a token\nTry: anteroom token rotate\n',
    })
  })

  test('a request gets 401 for a deactivated partner, 403 for a deactivated organization and 409 for a partner without organization', async () => {
    const moves: [string[], number, string][] = [
      [['partner', 'deactivate', 'Lantern', '--yes'], 401, 'partner_inactive'],
      [['partner', 'reactivate', 'Lantern'], 200, ''],
      [['organization', 'deactivate', 'North Care', '--yes'], 403, 'organization_deactivated'],
      [['organization', 'reactivate', 'North Care'], 200, ''],
      [['partner', 'set-organization', 'Lantern', 'none', '--yes'], 409, 'organization_not_configured'],
      [['partner', 'set-organization', 'Lantern', 'North Care'], 200, ''],
    ]
    for (const [command, status, code] of moves) {
      await operator.do(...command)
      const answer = await service.get(regions, token)
      expect([answer.status, answer.headers.get('x-error-code') ?? ''], command.join(' ')).toEqual([
        status,
        code,
      ])
    }
  })

  test('token verify reads a token from stdin and prints the status that the API returns for this token', async () => {
    const verdict = async (text: string) => {
      const { code, stdout } = await operator.run(['token', 'verify', '--json'], text)
      expect(code).toBe(0)
      return JSON.parse(stdout)
    }
    expect(await verdict(`${token}\n`)).toEqual({
      status: 200,
      code: null,
      why: 'the token is in force',
      partner: 'Lantern',
    })
    expect(await verdict(`${token.slice(0, -4)}AAAA`)).toEqual({
      status: 401,
      code: 'token_invalid',
      why: 'the token is malformed, or its signature does not match',
      partner: null,
    })
  })

  test('the old token is accepted until the cutover, and the new token is accepted after the cutover', async () => {
    const cutover = `${new Date(Date.now() + 3_000).toISOString().slice(0, 19)}Z`
    const next = (await operator.do('token', 'rotate', 'Lantern', '--cutover', cutover)).trim()
    const waiting = await operator.run(['token', 'verify', '--json'], next)
    expect(JSON.parse(waiting.stdout)).toMatchObject({
      status: 401,
      why: 'the cutover of the token is in the future',
    })
    const at = Date.parse(cutover)
    const seen: { sentAt: number; answeredAt: number; old: number; new: number }[] = []
    for (let sentAt = 0; sentAt < at + 300; ) {
      sentAt = Date.now()
      const [old, fresh] = await Promise.all([service.get(regions, token), service.get(regions, next)])
      seen.push({ sentAt, answeredAt: Date.now(), old: old.status, new: fresh.status })
    }
    const before = seen.filter(({ answeredAt }) => answeredAt < at)
    const after = seen.filter(({ sentAt }) => sentAt >= at)
    expect(before.length).toBeGreaterThan(0)
    expect(after.length).toBeGreaterThan(0)
    expect(before.filter(({ old, new: fresh }) => old !== 200 || fresh !== 401)).toEqual([])
    expect(after.filter(({ old, new: fresh }) => old !== 401 || fresh !== 200)).toEqual([])
    token = next
  })

  test('a rotation that ends or cancels a token needs a confirmation, and reports the cancelled token', async () => {
    const cutover = ['--cutover', '2099-01-01T00:00:00Z']
    expect(await operator.run(['token', 'rotate', 'Lantern'])).toMatchObject({ code: 2, stdout: '' })
    const first = (await operator.do('token', 'rotate', 'Lantern', ...cutover)).trim()
    expect(await operator.run(['token', 'rotate', 'Lantern', ...cutover])).toMatchObject({
      code: 2,
      stdout: '',
    })
    const { stdout, stderr } = await operator.run(['token', 'rotate', 'Lantern', '--yes', ...cutover])
    expect(stderr).toBe(
      `anteroom: token ${kidOf(first)} of Lantern, planned for 2099-01-01T00:00:00Z, is cancelled\n`,
    )
    expect((await service.get(regions, token)).status).toBe(200)
    const cancelled = await operator.ask<object>('token', 'cancel', 'Lantern', '--yes')
    expect(cancelled).toEqual({ partner: 'Lantern', cancelled: kidOf(stdout.trim()), inForce: kidOf(token) })
    expect((await service.get(regions, token)).status).toBe(200)
    expect((await operator.run(['token', 'cancel', 'Lantern', '--yes'])).code).toBe(3)
  })

  test('a question names the partner, the token and the effect, and a change before the answer stops the command', async () => {
    const asked = async (words: readonly string[], answer: string, meanwhile = async () => {}) => {
      let shown = ''
      const child = Bun.spawn([...theProgram, ...words], {
        env: { ...operator.settings },
        terminal: {
          cols: 300,
          data(_, bytes) {
            shown += Buffer.from(bytes).toString()
          },
        },
      })
      await eventually('the question', () => shown.includes('[y/N]') || child.exitCode !== null)
      await meanwhile()
      child.terminal?.write(answer)
      expect(await child.exited).toBe(2)
      return shown
    }
    const inForce = `Token ${kidOf(token)} \\((?:never used|last used \\S+:00Z)\\)`
    expect(await asked(['token', 'rotate', 'Lantern'], 'n\n')).toMatch(
      new RegExp(`${inForce} ends now: .* Rotate the token of Lantern\\? \\[y/N\\]`),
    )
    expect(await asked(['partner', 'set-organization', 'Lantern', 'none'], 'n\n')).toMatch(
      /with HTTP 409\. Change the organization of partner Lantern, whose token was last used \S+:00Z\? \[y\/N\]/,
    )
    expect(await asked(['organization', 'deactivate', 'North Care'], 'n\n')).toContain(
      'Refuse all requests of the partners of North Care (Lantern)? [y/N]',
    )
    const next = (await operator.do('token', 'rotate', 'Lantern', '--cutover', '2099-01-01T00:00:00Z')).trim()
    const shown = await asked(['token', 'rotate', 'Lantern'], 'y\n', async () => {
      await operator.do('token', 'cancel', 'Lantern', '--yes')
    })
    expect(shown).toContain(`Token ${kidOf(next)} (planned for 2099-01-01T00:00:00Z) is cancelled. Rotate`)
    expect(shown).toContain('the tokens of Lantern changed while the question was open, so nothing was done')
    expect((await service.get(regions, token)).status).toBe(200)
  })

  test("token verify --kid prints the state of a token and today's refused requests, and refuses a whole token in place of a kid", async () => {
    await service.get(regions, `${token.slice(0, -4)}AAAA`)
    const verify = () => operator.ask<{ refusedToday: unknown[] }>('token', 'verify', '--kid', kidOf(token))
    await eventually('the refusal to be written down', async () => (await verify()).refusedToday.length > 0)
    expect(await verify()).toMatchObject({
      status: 200,
      code: null,
      why: 'the token is in force',
      partner: 'Lantern',
      kid: kidOf(token),
      state: 'in force',
      refusedToday: expect.arrayContaining([
        {
          reason: 'token_invalid',
          claimed: true,
          count: expect.any(Number),
          lastAt: expect.any(String),
        },
      ]),
    })
    const handedOver = await operator.run(['token', 'verify', '--kid', token])
    expect([handedOver.code, handedOver.stdout]).toEqual([2, ''])
    expect(handedOver.stderr).not.toContain(token)
  })

  test('a partner and its organization can be renamed while the partner sends requests', async () => {
    const renamed = await operator.ask<object>('partner', 'rename', 'Lantern', 'Beacon')
    expect(renamed).toMatchObject({ id: 1, name: 'Beacon' })
    await operator.do('organization', 'rename', 'North Care', 'South Care')
    expect((await service.get(regions, token)).status).toBe(200)
    expect(await operator.ask('partner', 'show', 'Beacon')).toMatchObject({
      name: 'Beacon',
      organization: { name: 'South Care' },
    })
    expect((await operator.run(['partner', 'show', 'Lantern'])).code).toBe(3)
    await operator.do('partner', 'rename', 'Beacon', 'Lantern')
    await operator.do('organization', 'rename', 'South Care', 'North Care')
  })

  test('token revoke ends the token at the next request, and cancels the token of a planned cutover', async () => {
    const successor = (
      await operator.do('token', 'rotate', 'Lantern', '--cutover', '2099-01-01T00:00:00Z')
    ).trim()
    await operator.do('token', 'revoke', 'Lantern', '--yes')
    expect((await service.get(regions, token)).body).toEqual({
      code: 'token_invalid',
      message: 'the token is missing, malformed or not valid',
    })
    expect((await service.get(regions, successor)).status).toBe(401)
    const tokens = await operator.ask<{ state: string; endReason: string }[]>('token', 'list')
    expect(tokens.map(({ state, endReason }) => [state, endReason])).toEqual([
      ['ended', 'rotated'],
      ['ended', 'revoked'],
      ...Array(4).fill(['ended', 'cancelled']),
    ])
    expect((await operator.run(['token', 'revoke', 'Lantern', '--yes'])).code).toBe(3)
  })

  test('doctor reports the database file only if other users can read it', async () => {
    const findings = await operator.ask<{ check: string; state: string }[]>('doctor')
    expect(findings.filter(({ state }) => state === 'bad')).toEqual([])
    await Bun.$`chmod 644 ${operator.database}`.quiet()
    const sick = await operator.run(['doctor', '--json'])
    expect(sick.code).toBe(8)
    expect(JSON.parse(sick.stdout)).toContainEqual({
      check: 'file modes',
      state: 'bad',
      detail: expect.stringContaining(`others can read ${operator.database}`),
      remedy: 'run chmod 600 on each of them',
    })
    await Bun.$`chmod 600 ${operator.database}`.quiet()
  })
})

test('cli: commands that do not need the directory do not read the directory', async () => {
  using operator = new Operator()
  await operator.do('init')
  await operator.do('organization', 'add', 'North')
  await operator.do('partner', 'add', 'Lantern')
  const file = operator.folder.file('directory.json')
  await Bun.write(file, JSON.stringify({ regions: [region()], providers: [provider('on-1')] }))
  await operator.do('directory', 'load', file)
  const database = new Database(operator.database)
  database.run("UPDATE providers SET working_hours = '{}', time_zone = 'Nowhere'")
  database.close()
  for (const words of [
    'organization list',
    'partner show 1',
    'token issue 1',
    'token list',
    'audit verify',
  ]) {
    expect(await operator.run(words.split(' ')), words).toMatchObject({ code: 0, stderr: '' })
  }
})

describe('cli: sandbox', () => {
  test('the sandbox refuses a production database', async () => {
    using operator = new Operator()
    await operator.do('init')
    const refused = await operator.run(['sandbox', '--port', '0', '--database', operator.database])
    expect([refused.code, refused.stderr]).toEqual([6, 'error: the database is not a sandbox database\n'])
  })
})

describe('cli: help and version', () => {
  test('help and version open no database', async () => {
    using operator = new Operator()
    for (const words of [['--help'], ['--version'], ['help', 'token'], ['token', 'rotate', '--help']]) {
      expect((await operator.run(words)).code, words.join(' ')).toBe(0)
    }
    expect(existsSync(operator.database)).toBe(false)
  })
})
