import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { kidOf } from '../../src/auth/token'
import { type Limits, perMinute } from '../../src/domain/limits'
import { createApp } from '../../src/http/app'
import { actsOf } from '../support/acts'
import { booking, countryWide, provider, region } from '../support/builders'
import { type Answer, startService, type TestPartner } from '../support/service'
import { nextTurn } from '../support/turns'
import {
  bookingHead,
  expectSuccess,
  expectUnauthorized,
  lookUp,
  paths,
  segment,
  sendRaw,
  signed,
} from './contract'

const now = '2026-12-01T12:00:00Z'
const later = (seconds: number) => `${new Date(Date.parse(now) + seconds * 1000).toISOString().slice(0, 19)}Z`

const directory = { regions: [region({ id: 9 }), countryWide('IE', 'Ireland')], providers: [provider('p-1')] }
const regions = `${paths.regions}?country_code=CA`

let service: Awaited<ReturnType<typeof startService>>
const start = async (limits: Partial<Limits>) => {
  service = await startService({ now, directory, limits })
}
let shared: typeof service | undefined
afterEach(async () => {
  if (service !== shared) await service.stop()
})

/** The RateLimit-Policy and RateLimit headers of a response. */
const rateHeadersOf = ({ headers }: Answer) => [headers.get('ratelimit-policy'), headers.get('ratelimit')]

const used = 'the rate limit is exceeded; try again after Retry-After seconds'
const refused = 'too many invalid tokens came from this address; try again after Retry-After seconds'

/** Asserts the status, the body and the headers of a 429 response. */
function expectLimited(answer: Answer, code: string, policy: string, standing: string, seconds: number) {
  const message = code === 'rate_limited' ? used : refused
  expect({ status: answer.status, body: answer.body }).toEqual({
    status: 429,
    body: { message, status: 429 },
  })
  const { headers } = answer
  expect([headers.get('x-error-code'), headers.get('retry-after')]).toEqual([code, String(seconds)])
  expect(rateHeadersOf(answer)).toEqual([policy, standing])
  expect(headers.get('content-type')).toBe('application/json')
  expect([headers.get('www-authenticate'), headers.get('set-cookie')]).toEqual([null, null])
}

const send = ({ token }: Pick<TestPartner, 'token'>, method: string, path: string) =>
  service.send(path, { method, headers: { Authorization: `Bearer ${token}` } })

describe('contract: rate limits on one of four nodes', () => {
  test('a partner gets a quarter of its rate, and at least one call', async () => {
    await start({ nodes: 4, reads: perMinute(10), bookings: perMinute(3) })
    const [first, second, third] = [
      await service.get(regions),
      await service.get(regions),
      await service.get(regions),
    ]
    expect(rateHeadersOf(first)).toEqual(['"reads";q=2;w=60', '"reads";r=1;t=30'])
    expect(rateHeadersOf(second)).toEqual(['"reads";q=2;w=60', '"reads";r=0;t=30'])
    expectLimited(third, 'rate_limited', '"reads";q=2;w=60', '"reads";r=0;t=30', 30)
    expect(rateHeadersOf(await service.post(paths.booking, booking('m-1')))[0]).toBe('"bookings";q=1;w=60')
    const { partner } = service.partner
    const rates = { readsPerMinute: 'off', bookingsPerMinute: 400 } as const
    await actsOf(service.context).setPartnerRates(partner.id, rates, service.act())
    expect(rateHeadersOf(await service.get(regions))).toEqual([null, null])
    expect(rateHeadersOf(await service.post(paths.booking, booking('m-2')))[0]).toBe('"bookings";q=100;w=60')
  })

  test('an address gets a quarter of the limit of failed authentications', async () => {
    await start({ nodes: 4, failedAuthentications: perMinute(5) })
    expect((await service.get(regions, 'none')).status).toBe(401)
    const limited = await service.get(regions, 'none')
    const name = 'failed-authentications'
    expectLimited(limited, 'authentication_limited', `"${name}";q=1;w=60`, `"${name}";r=0;t=60`, 60)
  })
})

describe('contract: the cost of a call', () => {
  let partner: TestPartner
  beforeAll(async () => {
    await start({ reads: perMinute(1_000), bookings: perMinute(50) })
    shared = service
  })
  beforeEach(async () => {
    partner = await service.addPartner(`Partner of ${crypto.randomUUID()}`)
  })
  afterAll(async () => {
    await shared?.stop()
    shared = undefined
  })

  test.each<[call: string, method: string, path: string, status: number, cost: number]>([
    ['a list of regions', 'GET', regions, 200, 1],
    ['a list of regions with page_size 100', 'GET', `${regions}&page_size=100`, 200, 1],
    ['a list of regions without the trailing slash', 'GET', regions.replace('/?', '?'), 200, 1],
    ['a list of regions without a country', 'GET', paths.regions, 400, 1],
    ['a look-up of an unknown member', 'GET', `${paths.user}?external_user_id=nobody`, 404, 1],
    ['a search', 'GET', `${paths.providers}?region_id=9`, 200, 21],
    ['a search with page_size 1', 'GET', `${paths.providers}?region_id=9&page_size=1`, 200, 2],
    ['a search with page_size 100', 'GET', `${paths.providers}?region_id=9&page_size=100`, 200, 101],
    ['a HEAD search with page_size 100', 'HEAD', `${paths.providers}?region_id=9&page_size=100`, 200, 101],
    ['a search past the last page', 'GET', `${paths.providers}?region_id=9&page=2&page_size=50`, 400, 51],
    ['a search of an unknown region', 'GET', `${paths.providers}?region_id=4711&page_size=50`, 400, 51],
    [
      'a search with page_size 101, beyond the maximum',
      'GET',
      `${paths.providers}?region_id=9&page_size=101`,
      400,
      1,
    ],
    ['a search with page_size 0', 'GET', `${paths.providers}?region_id=9&page_size=0`, 400, 1],
    ['a search with a repeated parameter', 'GET', `${paths.providers}?page_size=9&page_size=9`, 400, 1],
    ['a search with broken UTF-8', 'GET', `${paths.providers}?region_id=9&language=%ff`, 400, 1],
    ['a wrong method', 'DELETE', regions, 405, 0],
  ])('%s costs the expected number of reads and no bookings', async (_, method, path, status, cost) => {
    const answer = await send(partner, method, path)
    expect(answer.status).toBe(status)
    const seconds = cost > 0 ? 1 : 0
    expect(rateHeadersOf(answer)).toEqual(['"reads";q=1000;w=60', `"reads";r=${1_000 - cost};t=${seconds}`])
    const wrong = await send(partner, 'GET', paths.booking)
    expect([wrong.status, ...rateHeadersOf(wrong)]).toEqual([
      405,
      '"bookings";q=50;w=60',
      '"bookings";r=50;t=0',
    ])
  })

  test.each<[call: string, body: unknown, status: number]>([
    ['an intake', booking('m-1'), 201],
    ['a POST that is not JSON', '{', 400],
    ['a POST that is too large', ' '.repeat(256 * 1024 + 1), 413],
  ])('%s costs one booking and no reads', async (_, body, status) => {
    const answer = await service.post(paths.booking, body, partner.token)
    expect([answer.status, ...rateHeadersOf(answer)]).toEqual([
      status,
      '"bookings";q=50;w=60',
      '"bookings";r=49;t=2',
    ])
    const read = await send(partner, 'GET', regions)
    expect(rateHeadersOf(read)).toEqual(['"reads";q=1000;w=60', '"reads";r=999;t=1'])
  })

  test.each([
    ['8191 bytes', 8_191, 49],
    ['8192 bytes', 8_192, 48],
    ['256 KiB', 256 * 1024, 17],
  ])('a body of %s costs one booking and one more for each full 8 KiB', async (_, bytes, left) => {
    const body = JSON.stringify(booking(`of-${bytes}`)).padEnd(bytes)
    const chunks = new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode(body))
        controller.close()
      },
    })
    for (const sent of [body, chunks]) {
      const { token } = await service.addPartner(`Partner of ${crypto.randomUUID()}`)
      const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' }
      const answer = await service.send(paths.booking, { method: 'POST', headers, body: sent })
      expect(rateHeadersOf(answer)[1]).toBe(`"bookings";r=${left};t=2`)
    }
  })

  test('a 304 to a search costs one read', async () => {
    const search = `${paths.providers}?region_id=9&page_size=100`
    const { headers } = await send(partner, 'GET', search)
    const conditional = {
      Authorization: `Bearer ${partner.token}`,
      'If-None-Match': `${headers.get('etag')}`,
    }
    const answer = await service.send(search, { headers: conditional })
    expect([answer.status, ...rateHeadersOf(answer)]).toEqual([
      304,
      '"reads";q=1000;w=60',
      '"reads";r=898;t=1',
    ])
  })

  test('a 304 to a search that costs more than the whole budget costs one read, too', async () => {
    const search = `${paths.providers}?region_id=9&page_size=100`
    const { headers } = await send(partner, 'GET', search)
    const limited = await service.addPartner(`Partner of ${crypto.randomUUID()}`)
    await actsOf(service.context).setPartnerRates(limited.partner.id, { readsPerMinute: 60 }, service.act())
    const conditional = {
      Authorization: `Bearer ${limited.token}`,
      'If-None-Match': `${headers.get('etag')}`,
    }
    const answer = await service.send(search, { headers: conditional })
    expect([answer.status, rateHeadersOf(answer)[1]]).toEqual([304, '"reads";r=59;t=1'])
  })

  test('a call of a partner without an organization counts as a read', async () => {
    await start({ reads: perMinute(2) })
    const homeless = await service.addPartner('Homeless', null)
    const statuses: number[] = []
    for (let call = 0; call < 3; call++) statuses.push((await send(homeless, 'GET', regions)).status)
    expect(statuses).toEqual([409, 409, 429])
  })
})

describe('contract: a used-up rate limit', () => {
  test.each([
    [paths.regions, 'GET', 'reads'],
    [paths.providers, 'GET', 'reads'],
    [paths.user, 'GET', 'reads'],
    [paths.booking, 'POST', 'bookings'],
  ])('at %s answers 429 until Retry-After seconds have passed', async (path, method, budget) => {
    await start({ reads: perMinute(1), bookings: perMinute(1) })
    expect((await send(service.partner, method, path)).status).not.toBe(429)
    const policy = `"${budget}";q=1;w=60`
    const answer = await send(service.partner, method, path)
    expectLimited(answer, 'rate_limited', policy, `"${budget}";r=0;t=60`, 60)
    service.setNow(later(59))
    const hasty = await send(service.partner, method, path)
    expectLimited(hasty, 'rate_limited', policy, `"${budget}";r=0;t=60`, 60)
    service.setNow(later(60))
    expect((await send(service.partner, method, path)).status).not.toBe(429)
  })

  test('refuses a booking, and accepts the booking after Retry-After seconds', async () => {
    await start({ bookings: perMinute(1) })
    expect((await service.post(paths.booking, booking('first'))).status).toBe(201)
    const answer = await service.post(paths.booking, booking('second'))
    expect(answer.status).toBe(429)
    expect((await lookUp(service, 'second')).status).toBe(404)
    service.setNow(later(Number(answer.headers.get('retry-after'))))
    expect((await service.post(paths.booking, booking('second'))).status).toBe(201)
    expect((await lookUp(service, 'second')).status).toBe(200)
  })

  test('answers 429 before the body has arrived', async () => {
    await start({ bookings: perMinute(1) })
    await service.post(paths.booking, '{')
    const answer = await sendRaw(service.baseUrl, bookingHead(service.partner, 1000))
    expectLimited(answer, 'rate_limited', '"bookings";q=1;w=60', '"bookings";r=0;t=60', 60)
  })

  test('is checked after 404, 401 and 405 and before 409, 403 and 400', async () => {
    await start({ reads: perMinute(1), bookings: perMinute(1) })
    const homeless = await service.addPartner('Homeless', null)
    const closed = await service.addPartner('Closed')
    await actsOf(service.context).setOrganizationActive(closed.organization?.id ?? 0, false, service.act())
    for (const partner of [homeless, closed, service.partner]) {
      await send(partner, 'GET', regions)
      await send(partner, 'POST', paths.booking)
      expect((await send(partner, 'GET', regions)).status).toBe(429)
      expect((await send(partner, 'GET', paths.providers)).status).toBe(429)
      expect((await send(partner, 'POST', paths.booking)).status).toBe(429)
      expect((await send(partner, 'DELETE', regions)).status).toBe(405)
      expect((await send(partner, 'GET', '/partners/v1/nothing/')).status).toBe(404)
    }
    expectUnauthorized(await service.get(regions, `${service.partner.token}x`), 'token_invalid')
  })
})

test('contract: without limits there are no RateLimit headers and no 429', async () => {
  await start({})
  const answers = [
    await service.get(regions),
    await service.get(`${paths.providers}?region_id=9&page_size=100`),
    await service.post(paths.booking, booking('m-1')),
    await service.get(regions, 'none'),
    await send(service.partner, 'PUT', regions),
  ]
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 201, 401, 405])
  for (const answer of answers) expect(rateHeadersOf(answer)).toEqual([null, null])
  for (let call = 0; call < 300; call++) expect((await service.get(regions, 'none')).status).toBe(401)
})

test('contract: a rate set for one partner applies to the next call of that partner only', async () => {
  await start({ reads: perMinute(30) })
  const store = actsOf(service.context)
  const other = await service.addPartner('Other')
  const { id } = service.partner.partner
  const ratesOf = async (partner: TestPartner) => rateHeadersOf(await send(partner, 'GET', regions))
  expect(await ratesOf(service.partner)).toEqual(['"reads";q=30;w=60', '"reads";r=29;t=2'])
  await store.setPartnerRates(id, { readsPerMinute: 2, bookingsPerMinute: 1 }, service.act())
  expect(await ratesOf(service.partner)).toEqual(['"reads";q=2;w=60', '"reads";r=0;t=30'])
  expect((await send(service.partner, 'GET', regions)).status).toBe(429)
  expect(await ratesOf(other)).toEqual(['"reads";q=30;w=60', '"reads";r=29;t=2'])
  const submitted = await service.post(paths.booking, booking('m-1'))
  expect(rateHeadersOf(submitted)).toEqual(['"bookings";q=1;w=60', '"bookings";r=0;t=60'])
  await store.setPartnerRates(id, { readsPerMinute: 'off' }, service.act())
  expect(await ratesOf(service.partner)).toEqual([null, null])
  expect((await service.post(paths.booking, booking('m-1'))).status).toBe(429)
  await store.setPartnerRates(id, { readsPerMinute: null, bookingsPerMinute: null }, service.act())
  expect(await ratesOf(service.partner)).toEqual(['"reads";q=30;w=60', '"reads";r=27;t=2'])
  expectSuccess(await service.post(paths.booking, booking('m-1')), 201, expect.anything())
})

describe('contract: the limit of failed authentications', () => {
  const none = '"failed-authentications";r=0;t=30'
  const policy = '"failed-authentications";q=2;w=60'

  test.each<[request: string, headers: Record<string, string>, code: string]>([
    ['no Authorization header', {}, 'token_invalid'],
    ['another scheme', { Authorization: 'Basic YTpi' }, 'token_invalid'],
    ['a malformed token', { Authorization: 'Bearer none' }, 'token_invalid'],
    ['a token without a kid', { Authorization: `Bearer ${signed({ alg: 'HS256' })}` }, 'missing_claim'],
    [
      'a token with an unknown kid',
      { Authorization: `Bearer ${signed({ alg: 'HS256', kid: 'nobody' })}` },
      'partner_not_found',
    ],
    ['a token without a signature', { Authorization: `Bearer ${segment('{}')}..` }, 'token_invalid'],
  ])('answers %s with 429 until Retry-After seconds have passed', async (_, headers, code) => {
    await start({ failedAuthentications: perMinute(2) })
    for (const path of [regions, paths.user]) expectUnauthorized(await service.send(path, { headers }), code)
    const limited = await service.send(regions, { headers })
    expectLimited(limited, 'authentication_limited', policy, none, 30)
    const [post, put] = await Promise.all([
      service.send(paths.booking, { method: 'POST', headers, body: '{' }),
      service.send(regions, { method: 'PUT', headers }),
    ])
    expect([post.status, put.status]).toEqual([429, 429])
    service.setNow(later(30))
    expectUnauthorized(await service.send(regions, { headers }), code)
  })

  test('counts tokens of deactivated partners and does not affect valid tokens', async () => {
    await start({ failedAuthentications: perMinute(2), reads: perMinute(100) })
    const deactivated = await service.addPartner('Deactivated')
    await actsOf(service.context).setPartnerActive(deactivated.partner.id, false, service.act())
    for (let call = 0; call < 2; call++)
      expectUnauthorized(await service.get(regions, deactivated.token), 'partner_inactive')
    for (let call = 0; call < 20; call++) {
      expect((await service.get(regions, deactivated.token)).status).toBe(429)
      const answer = await service.get(regions)
      expect([answer.status, rateHeadersOf(answer)[0]]).toEqual([200, '"reads";q=100;w=60'])
    }
  })

  test('does not affect the 404 of an unknown path or the audit log', async () => {
    await start({ failedAuthentications: perMinute(1) })
    for (let call = 0; call < 3; call++) await service.get(regions, 'none')
    expect((await service.get('/partners/v1/nothing/', 'none')).status).toBe(404)
    const { notebook, store } = service.context
    await notebook.flush(store)
    const [line] = await actsOf(service.context).listAudit(1)
    expect([line?.action, line?.outcome]).toEqual(['authentication.refuse', 'token_invalid'])
  })

  test('the audit log records the claimed partner of each refusal, even beyond the limit', async () => {
    await start({ failedAuthentications: perMinute(1) })
    const others = [await service.addPartner('Other'), await service.addPartner('Third')]
    const statuses: number[] = []
    for (const { token } of [service.partner, ...others]) {
      statuses.push((await service.get(regions, signed({ alg: 'HS256', kid: kidOf(token) }))).status)
    }
    expect(statuses).toEqual([401, 429, 429])
    const { notebook, store } = service.context
    await notebook.flush(store)
    const lines = await actsOf(service.context).listAudit(100)
    const claimed = lines.filter(({ action }) => action === 'authentication.refuse')
    expect(claimed.map(({ record }) => record)).toEqual(
      [service.partner, ...others].map(({ partner }) => `partner ${partner.id}`),
    )
  })

  const leavingClients = () => {
    const asked = new Map<Request, string>()
    const isThere = new Set<Request>()
    const addressOf = (request: Request) =>
      asked.getOrInsertComputed(request, () => (isThere.has(request) ? '192.0.2.1' : 'unknown'))
    const app = createApp(
      { context: service.context, baseUrl: 'http://localhost', isSandbox: true },
      addressOf,
    )
    const handle = (request: Request) => {
      isThere.add(request)
      return app.fetch(request)
    }
    return { handle, leave: () => isThere.clear() }
  }
  const refusedFrom = async () => {
    const { notebook, store } = service.context
    await notebook.flush(store)
    const lines = await actsOf(service.context).listAudit(100)
    return lines.filter(({ action }) => action === 'authentication.refuse').map(({ actor }) => actor)
  }

  test('the audit log contains the address of a client that disconnects while the directory is read', async () => {
    await start({})
    const { directory } = service.context
    const catchUp = directory.catchUp.bind(directory)
    const { handle, leave } = leavingClients()
    const catchUpLate = async () => {
      await nextTurn()
      leave()
      return catchUp()
    }
    Object.assign(directory, { catchUp: catchUpLate })
    const { status } = await handle(new Request(`http://localhost${regions}`))
    expect([status, await refusedFrom()]).toEqual([401, ['192.0.2.1']])
  })

  test('the audit log contains the address of a client that disconnects after sending its body', async () => {
    await start({})
    const { partner, token } = service.partner
    await service.get(regions)
    const { directory } = service.context
    const store = actsOf(service.context)
    const catchUp = directory.catchUp.bind(directory)
    Object.assign(directory, { catchUp: () => {} })
    const { handle, leave } = leavingClients()
    async function* body() {
      yield new TextEncoder().encode('{')
      await store.setPartnerActive(partner.id, false, service.act())
      Object.assign(directory, { catchUp })
      await nextTurn()
      leave()
    }
    const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' }
    const url = `http://localhost${paths.booking}`
    const request = new Request(url, { method: 'POST', headers, body: new Response(body()).body })
    expect([(await handle(request)).status, await refusedFrom()]).toEqual([401, ['192.0.2.1']])
  })

  test('applies to each IPv4 address and to each /64 network of IPv6', async () => {
    await start({ failedAuthentications: perMinute(1) })
    let address = ''
    const app = createApp(
      { context: service.context, baseUrl: 'http://localhost', isSandbox: true },
      () => address,
    )
    const statusFrom = async (from: string) => {
      address = from
      return (await app.fetch(new Request(`http://localhost${regions}`))).status
    }
    expect(await statusFrom('192.0.2.1')).toBe(401)
    expect(await statusFrom('::ffff:192.0.2.1')).toBe(429)
    expect(await statusFrom('192.0.2.2')).toBe(401)
    expect(await statusFrom('2001:db8:1:2:3:4:5:6')).toBe(401)
    expect(await statusFrom('2001:db8:1:2::1')).toBe(429)
    expect(await statusFrom('2001:db8:1:3::1')).toBe(401)
  })
})
