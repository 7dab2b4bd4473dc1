import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { readdirSync, renameSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { routes } from '../../src/http/control/routes'
import { type SandboxOptions, startSandbox } from '../../src/sandbox/sandbox'
import { booking } from '../support/builders'
import few from '../support/few-providers.json'
import { Folder } from '../support/folder'

const now = '2026-12-01T09:00:00Z'
const root = '/sandbox/v1/'

async function start(more: Partial<SandboxOptions> = {}) {
  const sandbox = await startSandbox({
    ...{ host: '127.0.0.1', port: 0, now: Date.parse(now), frozen: true, document: few, providers: 0 },
    ...{ observers: [], report: () => {}, ...more },
  })
  const { baseUrl, controlToken, partners, examples } = sandbox.card
  const send = async (path: string, method: string, token: string, body?: unknown) => {
    const headers = { Authorization: `Bearer ${token}`, ...(body !== undefined && json) }
    const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) }
    const response = await fetch(baseUrl + path, init)
    const text = await response.text()
    return { status: response.status, headers: response.headers, body: text && JSON.parse(text) }
  }
  const token = partners[0]?.token ?? ''
  return {
    ...sandbox,
    token,
    send,
    control: (path: string, body?: unknown, method = 'POST') => send(root + path, method, controlToken, body),
    get: (path: string) => send(`/partners/v1/${path}`, 'GET', token),
    book: (id: string, slot: { providerId: number; utcStartTime: string } | null = first(examples)) =>
      send('/partners/v1/booking-request/', 'POST', token, booking(id, slot ?? undefined, { state: 'ON' })),
  }
}

const json = { 'Content-Type': 'application/json' }

function first({ providerId, utcStartTime }: { providerId: number | null; utcStartTime: string | null }) {
  return { providerId: providerId ?? 0, utcStartTime: utcStartTime ?? '' }
}

type Sandbox = Awaited<ReturnType<typeof start>>

let sandbox: Sandbox
beforeAll(async () => {
  sandbox = await start({ seed: 'ci' })
})
beforeEach(async () => {
  await sandbox.control('reset')
})
afterAll(() => sandbox.stop())

/** Status, error code and message of a refused call. */
async function refusal(answer: ReturnType<Sandbox['control']>) {
  const { status, headers, body } = await answer
  return [status, headers.get('x-error-code'), body.message]
}

describe('sandbox: the control routes', () => {
  test('show the card that the sandbox printed, with its present time', async () => {
    const { status, headers, body } = await sandbox.control('', undefined, 'GET')
    expect([status, headers.get('cache-control'), body]).toEqual([200, 'no-store', sandbox.card])
    await sandbox.control('clock', { advance: 'PT1S', frozen: true })
    expect((await sandbox.control('', undefined, 'GET')).body.now).toBe('2026-12-01T09:00:01Z')
  })

  test('have an optional trailing slash', async () => {
    const send = (path: string) => sandbox.send(path, 'GET', sandbox.card.controlToken)
    expect((await send('/sandbox/v1')).body).toEqual(sandbox.card)
    expect((await send('/sandbox/v1outcomes')).status).toBe(404)
    expect((await sandbox.control('outcomes/', undefined, 'DELETE')).status).toBe(200)
  })

  test('need the control token, after the path and before the method', async () => {
    for (const token of ['', 'another', sandbox.token]) {
      const { status, body } = await sandbox.send(`${root}reset`, 'POST', token)
      const message = 'the control token is missing or wrong'
      expect([status, body]).toEqual([401, { code: 'token_invalid', message }])
    }
    expect((await sandbox.send(`${root}reset`, 'PUT', 'another')).status).toBe(401)
    const wrong = await sandbox.control('outcomes', undefined, 'PUT')
    expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'POST, DELETE'])
    expect((await sandbox.send(`${root}nothing`, 'POST', 'another')).status).toBe(404)
  })

  const partner = 'partners/Harbourlight'
  test.each([
    ['nothing', undefined, 404, 'path_unknown', 'no endpoint has this path'],
    ['requests/abc/accept', undefined, 404, 'path_unknown', 'no endpoint has this path'],
    ['requests/999/accept', undefined, 404, 'record_unknown', 'there is no such request'],
    ['requests/999/assign', undefined, 404, 'record_unknown', 'there is no request with that id'],
    [
      'partners/Unknown/deactivate',
      undefined,
      404,
      'record_unknown',
      'there is no partner with that name or id',
    ],
    [`${partner}/members/x/erase`, undefined, 404, 'record_unknown', 'there is no member with that id'],
    ['partners/%ff/rotate', undefined, 404, 'record_unknown', 'there is no partner with that name or id'],
    ['requests/1/accept', undefined, 409, 'move_unknown', 'a request that is unassigned cannot be accepted'],
    [
      `${partner}/rotate`,
      { at: '2026-11-30T09:00:00Z' },
      400,
      'field_invalid',
      expect.stringMatching(/past/),
    ],
    ['requests/1/assign', { utcStartTime: now }, 400, 'field_invalid', 'providerId: is required'],
    [
      'requests/1/assign',
      { providerId: 1, utcStartTime: now },
      ...([400, 'slot_unavailable', 'utcStartTime: the slot is not available'] as const),
    ],
    ['requests/1/accept', { reason: 'x' }, 400, 'field_invalid', 'reason: is not a known field'],
    ['clock', undefined, 400, 'field_invalid', 'body: needs advance, to or frozen'],
    ['clock', { advance: 'P1D', to: now }, 400, 'field_invalid', 'to: must not be sent with advance'],
    [
      'clock',
      { to: '2026-12-01T08:59:59Z' },
      400,
      'field_invalid',
      expect.stringMatching(/^to: must not be before/),
    ],
    [
      'clock',
      { to: '2499-01-01T00:00:00Z' },
      400,
      'field_invalid',
      'to: must lead to a time from 2000 to 2498',
    ],
    [
      'clock',
      { advance: 'P174000D' },
      400,
      'field_invalid',
      'advance: must lead to a time from 2000 to 2498',
    ],
    ...['P', 'PT', 'P1M', '-P1D', '3D', 'P1DT'].map(
      (advance) =>
        [
          'clock',
          { advance },
          ...([
            400,
            'field_invalid',
            'advance: must be a duration from weeks to seconds, such as P3D or PT90M',
          ] as const),
        ] as const,
    ),
    [
      'reset',
      { now: '1999-01-01T00:00:00Z' },
      400,
      'field_invalid',
      'now: must lead to a time from 2000 to 2498',
    ],
  ])('%s with %j gets %d %s', async (path, body, ...expected) => {
    expect(await refusal(sandbox.control(path, body))).toEqual(expected)
    expect((await sandbox.control('', undefined, 'GET')).body).toEqual(sandbox.card)
  })

  test('read a body of unknown length', async () => {
    const { controlUrl, controlToken } = sandbox.card
    const headers = { ...json, Authorization: `Bearer ${controlToken}` }
    const body = new ReadableStream({
      pull: (controller) => {
        controller.enqueue(Buffer.from('{"advance": 1}'))
        controller.close()
      },
    })
    const { status } = await fetch(`${controlUrl}reset`, { method: 'POST', headers, body })
    expect(status).toBe(400)
  })

  const operation = 'lookUpMember'
  test.each([
    [
      { operation: 'other', code: 'overloaded' },
      expect.stringMatching(/^operation: must be one of .*lookUpMember/),
    ],
    [{ operation, code: 'slot_unavailable' }, 'code: lookUpMember does not return slot_unavailable'],
    [{ operation, code: 'method_not_allowed' }, 'code: lookUpMember does not return method_not_allowed'],
    [{ operation, delayMs: 1, times: 0 }, 'times: must be at least 1'],
    [{ operation, delayMs: 1, times: 1001 }, 'times: must be at most 1000'],
    [{ operation, delayMs: 60_001 }, 'delayMs: must be at most 60000'],
    [{ operation, code: 'overloaded', drop: 'after' }, 'drop: must not be sent with code'],
    [{ operation, drop: 'later' }, 'drop: must be one of before, after'],
    [{ operation }, 'code: is required, or delayMs or drop'],
  ])('an outcome %j is refused', async (outcome, message) => {
    expect(await refusal(sandbox.control('outcomes', outcome))).toEqual([400, 'field_invalid', message])
    expect((await sandbox.control('', undefined, 'GET')).body.outcomes).toEqual([])
  })

  test('are described at /docs, each with the members of its body and the actions in its path', async () => {
    const document = (await sandbox.send('/docs/sandbox.json', 'GET', '')).body
    const described = Object.entries<Record<string, Described>>(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { parameters = [], requestBody }]) => {
        const action = parameters.find(({ name }) => name === 'action')?.schema?.enum.join('|')
        const given = requestBody?.content['application/json']?.schema ?? {}
        const { properties = {}, required = [] } = given.$ref ? document.components.schemas.NewOutcome : given
        const full = path.replace('{action}', `{action:${action}}`).replace(root, '')
        return [method.toUpperCase(), full, Object.keys(properties), required, requestBody?.required ?? false]
      }),
    )
    const found = routes.map(({ method, path, check: { schema } }) => {
      const { properties, required = [] } = schema
      return [method, path, Object.keys(properties), required, required.length > 0]
    })
    expect(described).toEqual(found)
    expect(await (await fetch(`${sandbox.card.baseUrl}/docs/start.js`)).text()).toContain('docs/sandbox.json')
  })
})

interface Described {
  readonly parameters?: { readonly name: string; readonly schema?: { readonly enum: readonly string[] } }[]
  readonly requestBody?: {
    readonly required: boolean
    readonly content: Record<
      string,
      { readonly schema: { readonly $ref?: string; readonly properties?: object } }
    >
  }
}

describe('sandbox: the clock', () => {
  test('moves forward to a time or by a duration, and stops or runs', async () => {
    const set = async (body: object) => (await sandbox.control('clock', body)).body
    expect(await set({ advance: 'P1W2DT3H4M5S' })).toEqual({ now: '2026-12-10T12:04:05Z', frozen: true })
    expect(await set({ to: '2026-12-10T12:04:05Z' })).toEqual({ now: '2026-12-10T12:04:05Z', frozen: true })
    expect(await set({ to: '2026-12-11T00:00:00Z', frozen: false })).toMatchObject({ frozen: false })
    const { headers } = await sandbox.get('user/?external_user_id=x')
    expect(headers.get('x-sandbox-now')).toMatch(/^2026-12-11T00:00:0/)
    expect(Math.abs(Date.parse(headers.get('date') ?? '') - Date.now())).toBeLessThan(60_000)
  })

  test('can be set to the time that it shows, also within a second', async () => {
    const other = await start({ now: Date.parse(now) + 500 })
    expect((await other.control('clock', { to: now })).body).toEqual({ now, frozen: true })
    await other.stop()
  })

  test('a cutover takes effect, and expired responses are gone, once the clock has passed them', async () => {
    const key = { 'Idempotency-Key': 'one' }
    const send = (body: unknown) => {
      const headers = { ...json, ...key, Authorization: `Bearer ${sandbox.token}` }
      const url = `${sandbox.card.baseUrl}/partners/v1/booking-request/`
      return fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
    }
    expect((await send(booking('a'))).status).toBe(201)
    expect((await send(booking('b'))).status).toBe(422)
    const rotated = await sandbox.control('partners/Harbourlight/rotate', { at: '2026-12-03T09:00:00Z' })
    expect(rotated.body).toMatchObject({ name: 'Harbourlight', startsAt: '2026-12-03T09:00:00Z' })
    await sandbox.control('clock', { to: '2026-12-03T08:59:59Z' })
    expect((await send(booking('b'))).status).toBe(201)
    await sandbox.control('clock', { advance: 'PT1S' })
    expect((await send(booking('c'))).status).toBe(401)
    const { body } = await sandbox.send(
      '/partners/v1/provider-regions/?country_code=CA',
      'GET',
      rotated.body.token,
    )
    expect(body).toHaveLength(1)
  })
})

describe('sandbox: a reset', () => {
  test('restores the data, the clock, the tokens and the outcomes, and the same numbers follow', async () => {
    const booked = await sandbox.book('a')
    expect(booked.status).toBe(201)
    await sandbox.control('outcomes', { operation: 'lookUpMember', code: 'overloaded' })
    await sandbox.control('partners/Harbourlight/deactivate')
    await sandbox.control('clock', { advance: 'P30D' })
    expect((await sandbox.control('reset')).body).toEqual(sandbox.card)
    expect((await sandbox.get('user/?external_user_id=a')).status).toBe(404)
    expect((await sandbox.book('a')).body).toEqual(booked.body)
  })

  test('can start at another time', async () => {
    const { body } = await sandbox.control('reset', { now: '2027-03-01T09:00:00Z' })
    expect([body.now, body.frozen]).toEqual(['2027-03-01T09:00:00Z', true])
    expect((await sandbox.control('reset')).body.now).toBe(now)
  })

  test('under load answers every request, from before or after it', async () => {
    const calls = Array.from({ length: 60 }, async (_, at) => {
      if (at % 20 === 10) return (await sandbox.control('reset')).status
      return (await sandbox.get('provider-regions/?country_code=CA')).status
    })
    expect(new Set(await Promise.all(calls))).toEqual(new Set([200]))
  })

  test('and a stop end the delays of calls in flight, and wait for their responses', async () => {
    const other = await start()
    const delayed = async ({ control, book }: Sandbox) => {
      await control('outcomes', { operation: 'submitBookingRequest', delayMs: 60_000 })
      const waiting = book('a')
      while ((await control('', undefined, 'GET')).body.outcomes.length > 0);
      return { waiting }
    }
    const [one, two] = [await delayed(sandbox), await delayed(other)]
    await Promise.all([sandbox.control('reset'), other.stop()])
    expect([(await one.waiting).status, (await two.waiting).status]).toEqual([201, 201])
    expect((await sandbox.get('user/?external_user_id=a')).status).toBe(404)
  })

  test('of a kept database needs --resettable', async () => {
    using folder = new Folder()
    const database = folder.file('kept.sqlite')
    const kept = await start({ database })
    expect(await refusal(kept.control('reset'))).toEqual([
      ...[409, 'move_unknown', 'the database of this sandbox is kept; start it with --resettable'],
    ])
    await kept.book('a')
    await kept.stop()
    const again = await start({ database, resettable: true, seed: 'ci' })
    const added = await again.book('b', null)
    await again.control(`requests/${added.body.id}/assign`)
    await again.control('reset')
    const found = async (id: string) => (await again.get(`user/?external_user_id=${id}`)).status
    expect([await found('a'), await found('b')]).toEqual([200, 404])
    await again.stop()
    const last = await start({ database })
    expect((await last.get('user/?external_user_id=a')).status).toBe(200)
    await last.stop()
  })
})

test('sandbox: a reset whose copy fails changes nothing', async () => {
  using folder = new Folder()
  const usual = tmpdir()
  process.env.TMPDIR = folder.path
  const kept = await start({ database: folder.file('kept.sqlite'), resettable: true })
  process.env.TMPDIR = usual
  await kept.book('a')
  const { body } = await kept.control('outcomes', { operation: 'searchProviders', code: 'overloaded' })
  const [temporary = ''] = readdirSync(folder.path).filter((name) => name.startsWith('anteroom-'))
  const pristine = join(folder.path, temporary, 'pristine.sqlite')
  renameSync(pristine, `${pristine}.away`)
  const files = readdirSync(folder.path)
  const fault = 'the starting state cannot be copied'
  expect(await refusal(kept.control('reset'))).toEqual([503, 'storage_failed', fault])
  expect(readdirSync(folder.path)).toEqual(files)
  expect((await kept.control('', undefined, 'GET')).body.outcomes).toEqual(body.outcomes)
  expect((await kept.get('user/?external_user_id=a')).status).toBe(200)
  renameSync(`${pristine}.away`, pristine)
  expect((await kept.control('reset')).status).toBe(200)
  expect((await kept.get('user/?external_user_id=a')).status).toBe(404)
  await kept.stop()
})

test('sandbox: a kept database can have only one resettable sandbox, also after a reset', async () => {
  using folder = new Folder()
  const database = folder.file('kept.sqlite')
  const kept = await start({ database, resettable: true })
  const another = () =>
    start({ database, resettable: true }).catch(({ kind, message }) => `${kind}: ${message}`)
  const refused = 'storage_busy: another server already uses this database; stop it first'
  expect(await another()).toBe(refused)
  await kept.control('reset')
  expect(await another()).toBe(refused)
  await kept.stop()
  await (await start({ database, resettable: true })).stop()
})

test('sandbox: a kept database with a seed never repeats a number', async () => {
  using folder = new Folder()
  const numbers = []
  for (let run = 0; run < 3; run++) {
    const kept = await start({ database: folder.file('kept.sqlite'), seed: 'ci' })
    numbers.push((await kept.book('a')).body.authorizationNumber)
    await kept.stop()
  }
  expect(numbers).toEqual([...new Set(numbers)].map(() => expect.stringMatching(/^[\w-]{14}$/)))
})

test('sandbox: the same seed gives the same tokens and numbers, and another seed gives others', async () => {
  const run = async (seed?: string) => {
    const one = await start({ seed })
    const { controlToken, partners } = one.card
    const found = [controlToken, ...partners.map(({ token }) => token), (await one.book('a')).body]
    await one.stop()
    return found
  }
  const [ci, again, other, none] = [await run('ci'), await run('ci'), await run('other'), await run()]
  expect(again).toEqual(ci)
  const tokens = [ci, other, none].flatMap((found) => found.slice(0, -1))
  expect(new Set(tokens).size).toBe(tokens.length)
})

describe('sandbox: outcomes', () => {
  const look = () => sandbox.get('user/?external_user_id=member-deactivated')
  const operation = 'submitBookingRequest'

  test('replace the next valid calls of one operation and one partner, in order', async () => {
    const mine = { operation: 'lookUpMember', partner: 'Harbourlight' }
    await sandbox.control('outcomes', {
      operation: 'lookUpMember',
      partner: 'Newcomer',
      code: 'internal_error',
    })
    await sandbox.control('outcomes', { ...mine, times: 2, code: 'overloaded' })
    const { body } = await sandbox.control('outcomes', { ...mine, code: 'member_not_found' })
    expect(body.outcomes.map(({ times }: { times: number }) => times)).toEqual([1, 2, 1])
    expect((await sandbox.send('/partners/v1/user/', 'GET', 'none')).status).toBe(401)
    expect((await sandbox.get('user/')).status).toBe(400)
    const got = []
    for (let call = 0; call < 4; call++) got.push((await look()).headers.get('x-error-code'))
    expect(got).toEqual(['overloaded', 'overloaded', 'member_not_found', 'member_deactivated'])
    expect((await sandbox.control('outcomes', undefined, 'DELETE')).body).toEqual({ outcomes: [] })
  })

  test('have the bytes and headers of the real response', async () => {
    const limited = await start({ bookingsPerMinute: 1 })
    const named = ({ status, headers, body }: Awaited<ReturnType<Sandbox['book']>>) => {
      const shown = [...headers].filter(([name]) => !['date', 'x-request-id'].includes(name))
      return { status, body, headers: Object.fromEntries(shown) }
    }
    await limited.control('outcomes', { operation, code: 'rate_limited' })
    const forced = named(await limited.book('a'))
    await limited.book('b')
    const real = named(await limited.book('c'))
    const soon = { ratelimit: '"bookings";r=0;t=1', 'retry-after': '1' }
    expect(forced).toEqual({ ...real, headers: { ...real.headers, ...soon } })
    await limited.stop()
    await sandbox.control('outcomes', { operation, code: 'slot_unavailable' })
    const taken = named(await sandbox.book('a'))
    await sandbox.book('a')
    expect(taken).toEqual(named(await sandbox.book('b')))
    await sandbox.control('outcomes', { operation, code: 'rate_limited' })
    expect(named(await sandbox.book('c')).headers['ratelimit-policy']).toBe('"bookings";q=60;w=60')
    await sandbox.control('outcomes', { operation, code: 'authentication_limited' })
    expect(named(await sandbox.book('c'))).toMatchObject({
      ...{ status: 429, headers: { ratelimit: '"failed-authentications";r=0;t=1' } },
    })
  })

  test('drop the connection before the call, or after its change is stored', async () => {
    const stored = async (id: string) => (await sandbox.get(`user/?external_user_id=${id}`)).status
    for (const [drop, status] of [
      ['before', 404],
      ['after', 200],
    ] as const) {
      await sandbox.control('outcomes', { operation, drop })
      expect(await sandbox.book(drop).catch(({ code }) => code)).toBe('ECONNRESET')
      expect(await stored(drop)).toBe(status)
    }
    await sandbox.control('outcomes', { operation, drop: 'after' })
    expect(await sandbox.book('refused').catch(({ code }) => code)).toBe('ECONNRESET')
  })

  test('a HEAD call leaves a drop to the next other call', async () => {
    const outcome = { operation: 'listProviderRegions', drop: 'before', times: 1 }
    const { body } = await sandbox.control('outcomes', outcome)
    const path = '/partners/v1/provider-regions/?country_code=CA'
    expect((await sandbox.send(path, 'HEAD', sandbox.token)).status).toBe(200)
    expect((await sandbox.control('', undefined, 'GET')).body.outcomes).toEqual(body.outcomes)
    await sandbox.control('outcomes', { operation: 'listProviderRegions', code: 'overloaded' })
    expect((await sandbox.send(path, 'HEAD', sandbox.token)).status).toBe(503)
  })

  test('delay a call', async () => {
    await sandbox.control('outcomes', { operation: 'lookUpMember', delayMs: 20 })
    expect((await look()).status).toBe(403)
  })
})

describe('sandbox: what staff do', () => {
  const act = async (id: number, action: string, body?: object) =>
    (await sandbox.control(`requests/${id}/${action}`, body)).body

  test('accept, move and decline a booking', async () => {
    const { body: booked } = await sandbox.book('a')
    const { id, providerId, authorizationNumber, utcStartTime } = booked
    const shown = {
      id,
      providerId,
      authorizationNumber,
      utcStartTime,
      acceptedAt: null,
      declinedAt: null,
      cancelledAt: null,
    }
    const at = '2026-12-01T09:00:00.000Z'
    expect(await act(id, 'accept')).toEqual({ ...shown, state: 'accepted', acceptedAt: at })
    const to = sandbox.card.examples.utcEndTime as string
    expect(await act(id, 'move/', { utcStartTime: to })).toEqual({
      ...shown,
      state: 'pending',
      utcStartTime: to,
    })
    const other = { providerId: providerId === 1 ? 2 : 1, utcStartTime: to }
    expect(await act(id, 'move', other)).toEqual({ ...shown, ...other, state: 'pending' })
    expect(await act(id, 'decline')).toEqual({ ...shown, ...other, state: 'declined', declinedAt: at })
  })

  test('assign an intake to the best suggestion or to a provider, close or cancel one', async () => {
    const intake = async (name: string) => (await sandbox.book(name, null)).body.id
    const [one, two, three] = [await intake('a'), await intake('b'), await intake('c')]
    const assigned = { id: one, state: 'pending', authorizationNumber: expect.any(String) }
    expect(await act(one, 'assign')).toMatchObject({ ...assigned, utcStartTime: expect.stringMatching(/Z$/) })
    expect(await act(two, 'assign', { providerId: 3 })).toMatchObject({ providerId: 3, utcStartTime: null })
    expect(await act(one, 'cancel')).toMatchObject({
      state: 'cancelled',
      cancelledAt: '2026-12-01T09:00:00.000Z',
    })
    expect(await act(three, 'close')).toMatchObject({
      state: 'closed',
      declinedAt: '2026-12-01T09:00:00.000Z',
    })
  })

  test('deactivate and reactivate partners, and deactivate, reactivate and erase members', async () => {
    await sandbox.book('a')
    const look = async () => (await sandbox.get('user/?external_user_id=a')).status
    const member = (action: string) => sandbox.control(`partners/Harbourlight/members/a/${action}`)
    const partner = (action: string) => sandbox.control(`partners/Harbourlight/${action}`)
    expect((await partner('deactivate')).body).toEqual({ name: 'Harbourlight', active: false })
    expect(await look()).toBe(401)
    expect((await partner('reactivate')).body).toEqual({ name: 'Harbourlight', active: true })
    expect((await member('deactivate')).body).toEqual({ externalUserId: 'a', active: false })
    expect(await look()).toBe(403)
    expect((await member('reactivate')).body).toEqual({ externalUserId: 'a', active: true })
    expect(await look()).toBe(200)
    expect((await member('erase')).body).toEqual({ externalUserId: 'a', erased: true })
    expect(await look()).toBe(404)
    expect((await sandbox.control('partners/Willow%20Commons/rotate')).body.token).toMatch(/^ey/)
  })
})
