import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { connect } from 'node:net'
import fc from 'fast-check'
import { type Networks, parseNetworks } from '../../src/domain/addresses'
import { perMinute } from '../../src/domain/limits'
import { concurrencyLimits } from '../../src/http/admission'
import { createApp } from '../../src/http/app'
import { routeOf } from '../../src/http/gate'
import { clientAmong, forwarding } from '../../src/http/listening/behind-proxy'
import { paths } from '../contract/contract'
import { actsOf } from '../support/acts'
import { startService } from '../support/service'

const networksIn = (text: string) => parseNetworks(text) as Networks
const proxies = networksIn('10.0.0.0/8,2001:db8:7::/48')
const [proxy, inner, stranger] = ['10.0.0.1', '10.9.9.9', '192.0.2.66']

let service: Awaited<ReturnType<typeof startService>>
beforeAll(async () => {
  service = await startService({ limits: { failedAuthentications: perMinute(2) } })
})
afterAll(() => service.stop())

/** Returns a function that sends requests to the app as the given peer. */
function appFor(peer: string, given: Networks | null = proxies) {
  const serving = {
    context: service.context,
    baseUrl: 'https://api.example',
    isSandbox: false,
    proxies: given,
  }
  const app = createApp(serving, () => peer)
  return async (path: string, headers: Record<string, string> = {}, method = 'GET') => {
    const answer = await app.fetch(new Request(`http://localhost${path}`, { method, headers }))
    return { status: answer.status, headers: answer.headers, text: await answer.text() }
  }
}

const https = { 'X-Forwarded-Proto': 'https' }
const regions = '/partners/v1/provider-regions/?country_code=CA'
const withToken = () => ({ Authorization: `Bearer ${service.partner.token}` })
const refusal = { message: 'HTTPS is required; send the request over HTTPS', status: 403 }

describe('http: behind a proxy', () => {
  test('an overloaded booking gets 403 unless the proxy received it over HTTPS', async () => {
    const places = concurrencyLimits()
    const serving = {
      context: service.context,
      baseUrl: 'https://api.example',
      isSandbox: false,
      proxies,
      places,
    }
    const ask = async (peer: string, method: string, path: string, headers: Record<string, string>) => {
      const sent = new Request(`http://localhost${path}`, { method, headers: { ...withToken(), ...headers } })
      const { status, headers: received } = await createApp(serving, () => peer).fetch(sent)
      return [status, received.get('strict-transport-security')]
    }
    expect(await ask(proxy, 'GET', regions, https)).toEqual([200, 'max-age=31536000'])
    for (let id = 1_001; places.bookings.hasRoomFor(id); id++) places.bookings.acquire(id)
    expect(await ask(proxy, 'POST', paths.booking, https)).toEqual([503, 'max-age=31536000'])
    expect(await ask(proxy, 'POST', paths.booking, {})).toEqual([403, null])
    expect(await ask(stranger, 'POST', paths.booking, https)).toEqual([403, null])
  })

  test('a request over HTTPS through the proxy is answered', async () => {
    const answer = await appFor(proxy)(regions, { ...https, ...withToken() })
    expect([answer.status, answer.text]).toEqual([200, '[]'])
    expect(answer.headers.get('strict-transport-security')).toBe('max-age=31536000')
  })

  test.each<[string, string, Record<string, string>, string[]]>([
    ['a proxy that is not configured', stranger, https, ['add its address to --behind-proxy']],
    ['a proxy that sends no X-Forwarded-Proto', proxy, {}, ['Configure the proxy to set this header']],
    [
      'two proxies that both add X-Forwarded-Proto',
      proxy,
      { 'X-Forwarded-Proto': 'https, https' },
      ['Configure the proxy to set this header'],
    ],
    ['a proxy that was called over HTTP', proxy, { 'X-Forwarded-Proto': 'http' }, []],
    ['a direct client without X-Forwarded-Proto', stranger, {}, []],
  ])(
    'refused requests from %s are reported to the operator at most once',
    async (_, peer, headers, reported) => {
      const lines: string[] = []
      const serving = { context: service.context, baseUrl: 'https://api.example', isSandbox: false, proxies }
      const app = createApp({ ...serving, report: (line) => void lines.push(line) }, () => peer)
      for (const path of [regions, regions, '/nowhere']) {
        const answer = await app.fetch(new Request(`http://localhost${path}`, { headers }))
        expect(answer.status).toBe(403)
      }
      expect(lines).toEqual(reported.map((end) => expect.stringContaining(`${end}. This is logged once.`)))
    },
  )

  test.each([
    ['0123456789abcdef0123456789ABCDEF', true],
    ['7d444840-9dc0-11d1-b245-5ffdce74fad2', true],
    ['robin@example.com', false],
    ['7d444840-9dc0-11d1-b245-5ffdce74fad', false],
    ['7d444840-9dc011d1b2455ffdce74fad2', false],
    ['7d444840-9dc0-11d1-b245-5ffdce74fad2, 7d444840-9dc0-11d1-b245-5ffdce74fad2', false],
    ['', false],
  ])('the X-Request-Id %p from the proxy is used for the response: %p', async (name, isTaken) => {
    for (const path of [regions, '/nowhere']) {
      const { headers } = await appFor(proxy)(path, { ...https, ...withToken(), 'X-Request-Id': name })
      expect(headers.get('x-request-id') === name).toBe(isTaken)
      expect(headers.get('x-request-id')).toMatch(/^[\da-fA-F-]{32,36}$/)
    }
    const direct = await appFor(stranger, null)(regions, { ...withToken(), 'X-Request-Id': name })
    expect(direct.headers.get('x-request-id')).not.toBe(name)
  })

  test.each([
    [proxy, {}],
    [proxy, { 'X-Forwarded-Proto': 'http' }],
    [proxy, { 'X-Forwarded-Proto': 'HTTPS' }],
    [proxy, { 'X-Forwarded-Proto': '' }],
    [proxy, { 'X-Forwarded-Proto': 'https,http' }],
    [proxy, { 'X-Forwarded-Proto': 'http, https' }],
    [proxy, { 'X-Forwarded-Proto': 'https, https' }],
    [proxy, { 'X-Forwarded-Proto': 'https2' }],
    [proxy, { Forwarded: 'proto=https', 'X-Forwarded-Scheme': 'https', 'X-Forwarded-SSL': 'on' }],
    [stranger, https],
    [stranger, { ...https, 'X-Forwarded-For': proxy }],
    ['unknown', https],
    ['', https],
  ])('a request from %s with %o gets 403 even with a valid token', async (peer, headers) => {
    const answer = await appFor(peer)(regions, { ...headers, ...withToken() })
    expect([answer.status, JSON.parse(answer.text)]).toEqual([403, refusal])
    expect(answer.headers.get('x-error-code')).toBe('https_required')
    expect(answer.headers.get('location')).toBeNull()
    expect(answer.headers.get('strict-transport-security')).toBeNull()
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(answer.headers.get('x-request-id')).not.toBeNull()
  })

  test('the 403 precedes the checks of method, token and path', async () => {
    const ask = appFor(stranger)
    for (const path of [
      regions,
      '/nothing/here',
      '/',
      '/docs',
      '/docs/',
      '/docs/start.js',
      '/openapi.json',
    ]) {
      for (const method of ['GET', 'POST', 'DELETE', 'HEAD', 'OPTIONS']) {
        const answer = await ask(path, { Authorization: 'Bearer forged' }, method)
        expect([path, method, answer.status]).toEqual([path, method, 403])
        if (method !== 'HEAD') expect(JSON.parse(answer.text)).toEqual(refusal)
      }
    }
    const through = appFor(proxy)
    const forged = { ...https, Authorization: 'Bearer forged', 'X-Forwarded-For': stranger }
    expect((await through(regions, forged)).status).toBe(401)
  })

  test('refused requests do not count against the rate limit of the docs', async () => {
    const [direct, through] = [appFor(stranger), appFor(proxy)]
    for (let call = 0; call < 700; call++) expect((await direct('/docs')).status).toBe(403)
    expect((await through('/docs', { ...https, 'X-Forwarded-For': stranger })).status).toBe(200)
  })

  test('every route except /livez and /readyz is refused to a direct client', async () => {
    const serving = { context: service.context, baseUrl: 'https://api.example', isSandbox: false, proxies }
    const app = createApp(serving, () => stranger)
    const paths = new Set(app.routes.map(({ path }) => path))
    const open: string[] = []
    for (const path of paths) {
      const answer = await app.fetch(new Request(`http://localhost${path.replace(/:\w+/g, '7')}`))
      if (answer.status !== 403) open.push(path)
    }
    expect(open.sort()).toEqual(['/livez', '/readyz'])
    expect(paths).toContain(routeOf('/partners/v1/booking-request/'))
  })

  test.each(['/livez', '/readyz', '/livez/'])('%s is answered to every peer over HTTP', async (path) => {
    for (const peer of [proxy, stranger, '127.0.0.1']) {
      expect((await appFor(peer)(path)).status).toBe(200)
    }
    expect((await appFor(stranger)(path, {}, 'POST')).status).toBe(405)
  })

  test('failed authentications are counted and logged by the address of the client', async () => {
    const ask = appFor(proxy)
    const from = (forwardedFor: string) =>
      ask(regions, { ...https, Authorization: 'Bearer forged', 'X-Forwarded-For': forwardedFor })
    expect((await from('198.51.100.1')).status).toBe(401)
    expect((await from('203.0.113.9, 198.51.100.1')).status).toBe(401)
    expect((await from(`8.8.8.8, 198.51.100.1:4711, ${inner}`)).status).toBe(429)
    expect((await from('198.51.100.2')).status).toBe(401)
    await service.context.notebook.flush(service.context.store)
    const lines = await actsOf(service.context).listAudit(100)
    const noted = lines.filter(({ action }) => action === 'authentication.refuse').map(({ actor }) => actor)
    expect(noted.sort()).toEqual(['192.0.2.66', '198.51.100.1', '198.51.100.2'])
  })
})

test('http: without a configured proxy, forwarding headers are ignored', async () => {
  const ask = appFor(stranger, null)
  expect((await ask(regions, withToken())).status).toBe(200)
  const statuses: number[] = []
  for (const spoofed of ['203.0.113.1', '203.0.113.2', '203.0.113.3']) {
    const headers = {
      'X-Forwarded-Proto': 'http',
      'X-Forwarded-For': spoofed,
      Authorization: 'Bearer forged',
    }
    statuses.push((await ask(regions, headers)).status)
  }
  expect(statuses).toEqual([401, 401, 429])
})

test('http: whether a peer is a proxy is cached for the last 1,000 peers', () => {
  let asked = 0
  let peer = stranger
  const counting: Networks = { include: (address) => ++asked > 0 && proxies.include(address) }
  const { clientOf } = forwarding(counting, () => peer)
  const request = new Request('http://localhost/', { headers: { 'X-Forwarded-For': '198.51.100.1' } })
  expect([clientOf(request), clientOf(request), asked]).toEqual([stranger, stranger, 1])
  for (let other = 0; other < 1_000; other++) {
    peer = `172.16.${other >> 8}.${other & 255}`
    clientOf(request)
  }
  peer = stranger
  asked = 0
  clientOf(request)
  expect(asked).toBe(1)
})

describe('http: the client in X-Forwarded-For', () => {
  test.each([
    ['198.51.100.1', '198.51.100.1'],
    ['203.0.113.9, 198.51.100.1', '198.51.100.1'],
    ['203.0.113.9,198.51.100.1,10.0.0.2,10.0.0.3', '198.51.100.1'],
    ['198.51.100.1:4711', '198.51.100.1'],
    ['2001:db8::5', '2001:db8::5'],
    ['[2001:db8::5]', '2001:db8::5'],
    ['[2001:db8::5]:4711', '2001:db8::5'],
    ['198.51.100.1, 2001:db8:7::1', '198.51.100.1'],
    ['198.51.100.1, ::ffff:10.0.0.2', '198.51.100.1'],
    ['  198.51.100.1\t,\t10.0.0.2  ', '198.51.100.1'],
    ['10.0.0.9, 10.0.0.8', '10.0.0.9'],
    [null, proxy],
    ['', proxy],
    ['unknown', proxy],
    ['198.51.100.1, unknown', proxy],
    ['198.51.100.1,', proxy],
    ['198.51.100.1, _hidden, 10.0.0.8', '10.0.0.8'],
    ['198.51.100.1, 10.0.0.0/8', proxy],
    ['198.51.100.1, fe80::1%eth0', proxy],
    ['198.51.100.1, 010.0.0.1', proxy],
    ['198.51.100.1:port', proxy],
    ['[198.51.100.1', proxy],
    ['2001:db8::5]:1', proxy],
    ['"198.51.100.1"', proxy],
    ['for=198.51.100.1', proxy],
    [`${'1'.repeat(100_000)}`, proxy],
    [`${' '.repeat(100_000)}198.51.100.1`, proxy],
  ])('%p gives the client %s', (forwardedFor, client) => {
    expect(clientAmong(forwardedFor, proxy, proxies)).toBe(client)
  })

  const addressOutside = fc.oneof(
    fc.ipV4().filter((address) => !proxies.include(address)),
    fc.ipV6().filter((address) => !proxies.include(address)),
  )
  const hop = fc.constantFrom('10.0.0.2', '10.255.255.255', '2001:db8:7::1', '::ffff:10.1.2.3')
  const hostile = fc.oneof(fc.string(), fc.ipV4(), fc.ipV6(), hop, fc.array(hop).map(String))

  test('cannot be changed by addresses that the client adds in front', () => {
    fc.assert(
      fc.property(addressOutside, fc.array(hop, { maxLength: 8 }), hostile, (client, hops, sent) => {
        const added = [client, ...hops].join(', ')
        expect(clientAmong(added, proxy, proxies)).toBe(client)
        expect(clientAmong(`${sent}, ${added}`, proxy, proxies)).toBe(client)
      }),
    )
  })

  test('is always a valid address, and at most 16 entries are checked', () => {
    let asked = 0
    const counting: Networks = { include: (address) => ++asked > 0 && proxies.include(address) }
    fc.assert(
      fc.property(
        fc.oneof(
          hostile,
          fc.array(hostile).map((parts) => parts.join(',')),
        ),
        (text) => {
          asked = 0
          expect(networksIn(clientAmong(text, proxy, counting))).toHaveProperty('include')
          expect(asked).toBeLessThanOrEqual(16)
        },
      ),
    )
    asked = 0
    clientAmong(Array<string>(2_000).fill('10.0.0.2').join(','), proxy, counting)
    expect(asked).toBe(16)
  })
})

test('http: over a real connection, repeated headers and unusual paths do not avoid the 403', async () => {
  await using served = await startBehind('127.0.0.1')
  const lines = (...more: string[]) => [`GET ${regions} HTTP/1.1`, 'Host: x', 'Connection: close', ...more]
  const proto = 'X-Forwarded-Proto: https'
  expect(await served.statusOf(lines(proto))).toBe(401)
  expect(await served.statusOf(lines(proto, 'x-forwarded-proto: http'))).toBe(403)
  expect(await served.statusOf(lines('X-Forwarded-Proto: http', proto))).toBe(403)
  expect(await served.statusOf(lines('X_Forwarded_Proto: https'))).toBe(403)
  expect(await served.statusOf(lines(proto).with(1, 'Host:'))).toBe(401)
  expect(await served.statusOf(lines().with(1, 'Host: x/livez?'))).not.toBe(200)
  expect(await served.statusOf(lines().with(0, 'GET /livez/..%2fdocs HTTP/1.1'))).toBe(403)
  expect(await served.statusOf(lines().with(0, 'GET /livez/../docs HTTP/1.1'))).toBe(403)
  expect(await served.statusOf(lines().with(0, 'GET /docs/../livez HTTP/1.1'))).toBe(200)
})

test('http: over a real connection, a peer that is not a configured proxy gets 403', async () => {
  await using served = await startBehind('10.0.0.0/8')
  const asked = [`GET ${regions} HTTP/1.1`, 'Host: x', 'Connection: close', 'X-Forwarded-Proto: https']
  expect(await served.statusOf(asked)).toBe(403)
  expect(await served.statusOf(asked.with(0, 'GET /readyz HTTP/1.1'))).toBe(200)
})

/** Starts a service behind the given proxies on a real port. */
async function startBehind(proxies: string) {
  const started = await startService({ proxies: networksIn(proxies) })
  const { port } = new URL(started.baseUrl)
  return {
    statusOf(lines: readonly string[]) {
      const { promise, resolve } = Promise.withResolvers<number>()
      const socket = connect({ host: '127.0.0.1', port: Number(port) })
      let answer = ''
      socket.on('data', (data) => {
        answer += data
      })
      socket.on('close', () => resolve(Number(answer.slice(9, 12))))
      socket.write([...lines, '', ''].join('\r\n'))
      return promise
    },
    [Symbol.asyncDispose]: () => started.stop(),
  }
}

// These tests run last, because they add refusals to the audit log.
test.each([
  [regions, withToken, 200],
  [regions, () => ({}), 401],
  ['/nothing', () => ({}), 404],
  ['/openapi.json', () => ({}), 200],
])(
  'http: behind a proxy, %s has Strict-Transport-Security over HTTPS and not over HTTP',
  async (path, headers, status) => {
    const statusAndHsts = async (sent: Record<string, string>) => {
      const answer = await appFor(proxy)(path, { ...sent, ...headers() })
      return [answer.status, answer.headers.get('strict-transport-security')]
    }
    expect(await statusAndHsts({})).toEqual([403, null])
    expect(await statusAndHsts(https)).toEqual([status, 'max-age=31536000'])
    expect(await statusAndHsts({})).toEqual([403, null])
  },
)
