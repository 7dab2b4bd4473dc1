import { afterAll, beforeAll, describe, expect, spyOn, test } from 'bun:test'
import { perMinute } from '../../src/domain/limits'
import { actsOf } from '../support/acts'
import { booking, provider, region } from '../support/builders'
import { defaultNow, startService, type TestService } from '../support/service'
import { ask, countRows } from '../support/storage'
import { nextTurn, until } from '../support/turns'
import {
  bookingHead,
  daily,
  entryOf,
  expectRefusal,
  expectUnauthorized,
  lookUp,
  paths,
  sendRaw,
} from './contract'

const dayMillis = 24 * 60 * 60_000

const start = () =>
  startService({
    directory: {
      regions: [region({ id: 31 })],
      providers: [
        provider('a', { lastName: 'Only', timeZone: 'Etc/UTC', workingHours: [daily('09:00', '18:00')] }),
        provider('b', { lastName: 'Other', timeZone: 'Etc/UTC', workingHours: [daily('09:00', '18:00')] }),
      ],
    },
  })
let timers: [millis: number, call: () => void][] = []
let service: Awaited<ReturnType<typeof start>>
let providerId: number
beforeAll(async () => {
  const spy = spyOn(globalThis, 'setInterval')
  service = await start()
  timers = spy.mock.calls.map(([call, millis]) => [Number(millis), call as () => void])
  spy.mockRestore()
  providerId = (await entryOf(service, 31, 'Only')).providerId
})
afterAll(() => service.stop())

let days = 3
/** Returns a different free slot at each call. */
const nextSlot = () => ({
  providerId,
  utcStartTime: `2026-12-${String(days++).padStart(2, '0')}T09:00:00Z`,
})

interface Sent {
  readonly status: number
  readonly text: string
  readonly replayed: string | null
  readonly code: string | null
}

async function send(
  key: string | null,
  body: unknown,
  to: TestService = service,
  token?: string,
): Promise<Sent> {
  const held = token ?? (to as typeof service).partner.token
  const response = await fetch(`${to.baseUrl}${paths.booking}`, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      Authorization: `Bearer ${held}`,
      ...(key !== null && { 'Idempotency-Key': key }),
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
  const { status, headers } = response
  const [replayed, code] = [headers.get('idempotency-replayed'), headers.get('x-error-code')]
  return { status, text: await response.text(), replayed, code }
}

async function first(key: string, body: unknown) {
  const answer = await send(key, body)
  expect([answer.status, answer.replayed]).toEqual([201, null])
  return { answer, replay: { ...answer, replayed: 'true' }, ...JSON.parse(answer.text) }
}

/** Returns the rows of the members, and the number of rows of the other tables. */
async function stored() {
  const tables = ['booking_requests', 'replays', 'audit', 'changes']
  return {
    members: await ask(service.storage, 'SELECT * FROM members ORDER BY id'),
    counts: await Promise.all(tables.map((table) => countRows(service.storage, table))),
  }
}

const reused = {
  status: 422,
  text: JSON.stringify({
    message: 'Idempotency-Key: was already sent with a different body; use a new key',
    status: 422,
  }),
  replayed: null,
  code: 'idempotency_key_reused',
}

describe('contract: a retry with the same Idempotency-Key', () => {
  test('gets the first response and changes nothing', async () => {
    for (const slot of [nextSlot(), undefined]) {
      const body = booking(`again-${slot ? 'booking' : 'intake'}`, slot, { phoneNumber: '+1 416 555 0100' })
      const { replay } = await first(`again ${slot?.utcStartTime}`, body)
      const before = await stored()
      for (let round = 0; round < 3; round++) {
        expect(await send(`again ${slot?.utcStartTime}`, body)).toEqual(replay)
      }
      expect(await stored()).toEqual(before)
    }
  })

  test('is 422 and changes nothing if the body differs, even by one space', async () => {
    const body = booking('other')
    await first('other', body)
    const before = await stored()
    for (const different of [booking('other', nextSlot()), booking('stranger'), `${JSON.stringify(body)} `]) {
      expect(await send('other', different)).toEqual(reused)
    }
    expect(await stored()).toEqual(before)
    expect((await lookUp(service, 'stranger')).status).toBe(404)
  })

  test('is 400 if the body is invalid', async () => {
    await first('formless', booking('formless'))
    for (const [body, code] of [
      ['{', 'body_malformed'],
      [{}, 'field_invalid'],
      [booking('formless', undefined, { dob: '2999-01-01' }), 'field_invalid'],
    ] as const) {
      expect(await send('formless', body)).toMatchObject({ status: 400, code })
    }
  })

  test('is refused without a valid token or with a deactivated organization or partner', async () => {
    const { partner, organization, token } = await service.addPartner('Closing')
    expect((await send('closing', booking('closing'), service, token)).status).toBe(201)
    const headers = { 'Idempotency-Key': 'closing' }
    expectUnauthorized(await service.post(paths.booking, booking('closing'), null, headers), 'token_invalid')
    const store = actsOf(service.context)
    await store.setOrganizationActive(organization?.id ?? 0, false, service.act())
    expect(await send('closing', booking('closing'), service, token)).toMatchObject({ status: 403 })
    await store.setOrganizationActive(organization?.id ?? 0, true, service.act())
    await store.setPartnerActive(partner.id, false, service.act())
    expect(await send('closing', booking('closing'), service, token)).toMatchObject({ status: 401 })
  })
})

describe('contract: concurrent requests with one Idempotency-Key', () => {
  test('with two different bodies get one 201 and one 422', async () => {
    const answers = await Promise.all(['left', 'right'].map((name) => send('both', booking(name))))
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 422])
  })
})

describe('contract: the Idempotency-Key', () => {
  test.each([
    ['empty', '', 'must not be empty'],
    ['of 256 characters', 'k'.repeat(256), 'must have at most 255 characters'],
    ['with a letter beyond ASCII', 'canary-é', 'must contain only printable ASCII characters'],
    ['of 256 characters in quotes', `"${'k'.repeat(256)}"`, 'must have at most 255 characters'],
    ['of quotes only', '""', 'must not be empty'],
    ['with a tab', 'canary\tkey', 'must contain only printable ASCII characters'],
  ])('%s is 400 and the message names the header but not its value', async (_, key, fault) => {
    const answer = await service.post(paths.booking, booking('formed'), undefined, { 'Idempotency-Key': key })
    expectRefusal(answer, {
      status: 400,
      kind: 'field_invalid',
      path: 'Idempotency-Key',
      absent: ['canary', 'kkkk'],
    })
    expect(answer.body.message).toBe(`Idempotency-Key: ${fault}`)
  })

  test('is checked before the body', async () => {
    const answer = await service.post(paths.booking, {}, undefined, { 'Idempotency-Key': '' })
    expect(answer.body.message).toBe('Idempotency-Key: must not be empty')
  })

  test.each([
    ['of 255 characters', 'k'.repeat(255)],
    ['of one character', '~'],
    ['with spaces', 'with  two spaces'],
    ['in quotes', '"quoted, or not"'],
    ['with separators of other headers', "it's; a=b,c"],
  ])('%s is accepted and differs from every other key', async (_, key) => {
    const body = booking(`key-${Buffer.from(key).toString('hex').slice(0, 30)}`)
    const { replay } = await first(key, body)
    expect(await send(key, body)).toEqual(replay)
  })

  test('in quotes is the same key as without quotes', async () => {
    const body = booking('quoted')
    const { replay } = await first('"same"', body)
    expect(await send('same', body)).toEqual(replay)
  })

  test('sent in two headers is 400', async () => {
    const body = JSON.stringify(booking('twice'))
    for (const keys of [['one', 'two'], ['"one"', '"two"'], ['one, two']]) {
      const head = bookingHead(service.partner, body.length, ...keys.map((key) => `Idempotency-Key: ${key}`))
      const answer = await sendRaw(service.baseUrl, head, body)
      expectRefusal(answer, { status: 400, kind: 'field_invalid', path: 'Idempotency-Key' })
      expect(answer.body.message).toBe('Idempotency-Key: must not be repeated')
    }
  })

  test('is ignored by a GET even if it is invalid', async () => {
    const headers = { Authorization: `Bearer ${service.partner.token}`, 'Idempotency-Key': '' }
    const answer = await service.send(`${paths.regions}?country_code=CA`, { headers })
    expect(answer.status).toBe(200)
  })
})

test('contract: a retry with an Idempotency-Key counts against the rate limit', async () => {
  const limited = await startService({ limits: { bookings: perMinute(3) } })
  const answers: Sent[] = []
  for (let round = 0; round < 4; round++) answers.push(await send('dear', booking('dear'), limited))
  expect(answers.map(({ status, replayed }) => [status, replayed])).toEqual([
    [201, null],
    [201, 'true'],
    [201, 'true'],
    [429, null],
  ])
  await limited.stop()
})

test('contract: stopping the service does not wait until all expired replays are removed', async () => {
  const every = spyOn(globalThis, 'setInterval')
  const stopping = await startService()
  const [lookThrough] = every.mock.calls.find(([, millis]) => millis === 60_000) ?? []
  every.mockRestore()
  const backlog = 3_000
  let rounds = 0
  const { store } = stopping.context
  store.read = async () => (rounds < backlog ? [1] : []) as never
  store.change = async () => {
    await nextTurn()
    rounds++
    return 100 as never
  }
  ;(lookThrough as () => void)()
  await until(() => rounds > 0)
  await stopping.stop()
  expect(rounds).toBeLessThan(backlog)
})

// These tests run last because they move the clock.
describe('contract: the response to an Idempotency-Key', () => {
  const now = Date.parse(defaultNow)
  const kept = () => countRows(service.storage, 'replays')

  test('is replayed for 24 hours, and then the key can be used again', async () => {
    const { replay, id } = await first('day', booking('day'))
    service.setNow(now + dayMillis - 1)
    expect(await send('day', booking('day'))).toEqual(replay)
    service.setNow(now + dayMillis)
    const next = await first('day', booking('another-day'))
    expect(next.id).not.toBe(id)
  })

  test('is removed after 24 hours even if no more keys are sent', async () => {
    service.setNow(now + 2 * dayMillis - 1)
    const everyMinute = timers.filter(([millis]) => millis === 60_000)
    expect(everyMinute).toHaveLength(1)
    const lookThrough = () => everyMinute[0]?.[1]()
    lookThrough()
    await until(async () => (await kept()) === 1)
    service.setNow(now + 2 * dayMillis)
    lookThrough()
    await until(async () => (await kept()) === 0)
  })
})
