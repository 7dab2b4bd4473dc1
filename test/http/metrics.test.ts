import { afterAll, beforeAll, describe, expect, spyOn, test } from 'bun:test'
import { connect, type Socket } from 'node:net'
import dashboard from '../../deploy/grafana/anteroom.json'
import { Distribution, type EngineMeasures } from '../../src/domain/measures'
import { systemClock } from '../../src/domain/ports/time'
import { concurrencyLimits } from '../../src/http/admission'
import { errorCodes } from '../../src/http/errors'
import { listenForMetrics, type Measured } from '../../src/http/listening/metrics'
import { RequestMeasures } from '../../src/http/request-measures'
import { openService, readCertificate } from '../../src/service'
import { actsOf } from '../support/acts'
import { booking, provider, region } from '../support/builders'
import { makeCertificate } from '../support/certificates'
import { describeOfFile, testOfFile } from '../support/engine'
import { Folder } from '../support/folder'
import { parseMetrics } from '../support/metrics'
import { startService } from '../support/service'
import { until } from '../support/turns'

/** Every value that these tests send or store contains this marker. No metric may contain the marker. */
const canary = /canary/i

let service: Awaited<ReturnType<typeof startService>>

beforeAll(async () => {
  service = await startService({
    isMeasured: true,
    directory: {
      regions: [region({ id: 31 })],
      providers: [provider('canary-ref', { firstName: 'Canary', lastName: 'Canarylast' })],
    },
  })
})
afterAll(() => service.stop())

/** Expires the cached measurements by moving the clock ahead. */
function expire() {
  ahead += 1_010
}

let ahead = 0
const elapsed = performance.now.bind(performance)
const watch = spyOn(performance, 'now').mockImplementation(() => elapsed() + ahead)
afterAll(() => watch.mockRestore())

const textOf = async (port: number | null) => {
  const answer = await fetch(`http://127.0.0.1:${port}/metrics`)
  expect([answer.status, answer.headers.get('content-type')]).toEqual([
    200,
    'text/plain; version=0.0.4; charset=utf-8',
  ])
  return answer.text()
}

/** Scrapes after the cached measurements have expired. */
async function scrapeAgain() {
  expire()
  return scrape()
}

async function scrape(): Promise<Map<string, number>> {
  const metrics = parseMetrics(await textOf(service.metricsPort))
  return new Map([...metrics.values()].flatMap(({ series }) => [...series]))
}

describe('http: metrics of partner requests', () => {
  let before: Map<string, number>
  let after: Map<string, number>
  let token = ''
  let slow: Socket | undefined
  const grown = (series: string) => (after.get(series) ?? 0) - (before.get(series) ?? 0)
  const search = '/partners/v1/providers/'

  beforeAll(async () => {
    before = await scrape()
    const partner = await service.addPartner('Canary Partner')
    token = partner.token
    const get = (path: string, sent: string = token) => service.get(path, sent)
    const { body } = await get(`${search}?region_id=31&language=en`)
    const [found] = body.results
    await get(`${search}?region_id=31&language=en`)
    await get(`${search}?region_id=31&language=fr`)
    const slot = { providerId: found.providerId, ...found.availability[0] }
    const key = { 'Idempotency-Key': 'canary-key' }
    const booked = booking('canary-booked', slot, { email: 'canary@canary.example', firstName: 'Canary' })
    for (let call = 0; call < 2; call++) {
      expect((await service.post('/partners/v1/booking-request/', booked, token, key)).status).toBe(201)
    }
    const intake = booking('canary-intake', undefined, { email: 'canary.intake@canary.example' })
    expect((await service.post('/partners/v1/booking-request/', intake, token)).status).toBe(201)
    await get('/partners/v1/user/?external_user_id=canary-nobody')
    for (const header of [{ alg: 'HS256', kid: 'canary-kid' }, { alg: 'HS256' }, 'canary']) {
      const forged = `${Buffer.from(JSON.stringify(header)).toString('base64url')}.e30.canary`
      await get(`${search}?region_id=canary`, forged)
    }
    for (let path = 0; path < 5; path++) await fetch(`${service.baseUrl}/canary-${path}?canary=${path}`)
    await fetch(`${service.baseUrl}/partners/v1/user/canary`, { method: 'PURGE' }).catch(() => {})
    const { hostname: host, port } = new URL(service.baseUrl)
    slow = connect({ host, port: Number(port) })
    const head = ['POST /partners/v1/booking-request/ HTTP/1.1', 'Host: x', `Authorization: Bearer ${token}`]
    slow.write([...head, 'Content-Type: application/json', 'Content-Length: 9', '', '{'].join('\r\n'))
    const hasCome = async () => {
      after = await scrapeAgain()
      return after.get('anteroom_requests_in_flight{kind="bookings"}') === 1
    }
    await until(hasCome)
  })
  afterAll(() => {
    slow?.destroy()
  })

  test('count requests by route, method and status', () => {
    const of = (route: string, method: string, status: number) =>
      grown(`anteroom_requests_total{route="${route}",method="${method}",status="${status}"}`)
    expect([of(search, 'GET', 200), of(search, 'GET', 401)]).toEqual([3, 3])
    expect(of('/partners/v1/booking-request/', 'POST', 201)).toBe(3)
    expect(of('/partners/v1/user/', 'GET', 404)).toBe(1)
    expect(of('none', 'GET', 404)).toBe(5)
  })

  test('count refusals by reason, including failed authentications', () => {
    const of = (reason: keyof typeof errorCodes) =>
      grown(`anteroom_refusals_total{reason="${reason}",status="${errorCodes[reason].status}"}`)
    expect([of('partner_not_found'), of('missing_claim'), of('token_invalid')]).toEqual([1, 1, 1])
    expect([of('member_not_found'), of('email_taken')]).toEqual([1, 0])
  })

  test('measure durations separately for answered and refused requests', () => {
    const of = (outcome: string) =>
      grown(`anteroom_request_duration_seconds_count{route="${search}",outcome="${outcome}"}`)
    expect([of('answered'), of('refused')]).toEqual([3, 3])
  })

  test('count authenticated requests by partner number', () => {
    const of = (outcome: string) => grown(`anteroom_partner_requests_total{partner="2",outcome="${outcome}"}`)
    expect([of('answered'), of('refused'), of('failed')]).toEqual([6, 1, 0])
  })

  test('count the slots of each sent page, and searches with and without slots', async () => {
    const of = (slots: string) => grown(`anteroom_searches_total{slots="${slots}"}`)
    expect([of('some'), of('none')]).toEqual([2, 1])
    const { body } = await service.get(`${search}?region_id=31`, token)
    const slots = body.results[0].availability.length + 1
    expect(grown('anteroom_slots_shown_total')).toBe(2 * slots)
  })

  test('count stored requests by kind, and replays separately', () => {
    const of = (kind: string) => grown(`anteroom_stored_requests_total{kind="${kind}"}`)
    expect([of('booking'), of('intake'), grown('anteroom_replays_total')]).toEqual([1, 1, 1])
  })

  test('show requests in flight by kind, including a half-sent booking', () => {
    const of = (kind: string) => after.get(`anteroom_requests_in_flight{kind="${kind}"}`)
    expect([of('reads'), of('bookings')]).toEqual([0, 1])
  })

  test('show the writer’s groups and commits, and readiness', () => {
    expect(grown('anteroom_writer_group_size_sum')).toBeGreaterThanOrEqual(3)
    expect(grown('anteroom_writer_commit_duration_seconds_count')).toBeGreaterThanOrEqual(3)
    expect(after.get('anteroom_ready')).toBe(1)
  })

  testOfFile('show the size of the database and of its write-ahead log', () => {
    expect(after.get('anteroom_database_bytes{file="database"}')).toBeGreaterThan(4_096)
    expect(after.get('anteroom_database_bytes{file="log"}')).toBeGreaterThan(0)
    expect(after.get('anteroom_database_free_bytes')).toBeGreaterThan(4_096)
  })

  test('contain nothing that was sent or stored', async () => {
    expect(await textOf(service.metricsPort)).not.toMatch(canary)
  })

  test('get no new series from unauthenticated requests', async () => {
    const forged = Array.from({ length: 20 }, (_, at) =>
      service.get(`${search}?page=${at}`, `canary.${at}.x`),
    )
    const bare = Array.from({ length: 2 }, () =>
      service.get('/partners/v1/providers?page=1', 'canary.bare.x'),
    )
    const lost = Array.from({ length: 20 }, (_, at) => fetch(`${service.baseUrl}/canary/${at}`))
    await Promise.all([...forged, ...bare, ...lost])
    expect([...(await scrapeAgain()).keys()]).toEqual([...after.keys()])
  })
})

const entry = {
  id: '',
  route: '/x',
  refusedFor: null,
  counted: null,
  bytes: 0,
  millis: 1,
  isLate: false,
  headers: {},
}

test('http: metrics count partners beyond 200 and unknown methods as "other"', () => {
  const measures = new RequestMeasures()
  for (let id = 1; id <= 300; id++)
    measures.observe({ ...entry, status: 200, method: `METHOD${id}`, partnerId: id })
  const samplesOf = (wanted: string) =>
    measures
      .metrics()
      .flatMap((metric) => (metric.name === wanted && 'samples' in metric ? metric.samples : []))
  const partners = samplesOf('anteroom_partner_requests_total')
  expect(partners).toHaveLength(3 * 201)
  expect(partners.at(-3)).toEqual([{ partner: 'other', outcome: 'answered' }, 100])
  expect(samplesOf('anteroom_requests_total')).toEqual([[{ route: '/x', method: 'other', status: 200 }, 300]])
})

test('http: metrics count the stored intakes of each partner, from its first request on', () => {
  const measures = new RequestMeasures()
  const samples = () =>
    measures
      .metrics()
      .flatMap((metric) =>
        metric.name === 'anteroom_partner_intakes_total' && 'samples' in metric ? metric.samples : [],
      )
  const observe = (
    partnerId: number,
    counted: { stored?: 'booking' | 'intake'; isReplay?: boolean } | null,
  ) => measures.observe({ ...entry, status: 200, method: 'POST', partnerId, counted })
  observe(7, { stored: 'booking' })
  expect(samples()).toEqual([[{ partner: 7 }, 0]])
  for (const [partnerId, counted] of [
    [7, { stored: 'intake' }],
    [8, null],
    [7, { stored: 'intake' }],
    [7, { isReplay: true }],
  ] as const) {
    observe(partnerId, counted)
  }
  expect(samples()).toEqual([
    [{ partner: 7 }, 2],
    [{ partner: 8 }, 0],
  ])
})

test('http: metrics separate failed from refused requests of a partner', () => {
  const measures = new RequestMeasures()
  for (const status of [200, 304, 400, 429, 500, 503, 503])
    measures.observe({ ...entry, status, method: 'GET', partnerId: 7 })
  const partners = measures.metrics().find(({ name }) => name === 'anteroom_partner_requests_total')
  expect(partners).toMatchObject({
    samples: [
      [{ partner: 7, outcome: 'answered' }, 2],
      [{ partner: 7, outcome: 'refused' }, 2],
      [{ partner: 7, outcome: 'failed' }, 3],
    ],
  })
})

const engine: EngineMeasures = {
  queueDepth: 3,
  groupSizes: new Distribution([1]),
  commitMillis: new Distribution([1]),
  failedGroups: 1,
  ...{ databaseBytes: 1, logBytes: 0, freeBytes: 2, schema: 8, server: null },
}

const connections = { free: 5, used: 2, waiting: 1 }
const onServer = (databaseBytes: number | null, clockDifferenceMillis: number | null): EngineMeasures => ({
  ...{
    ...engine,
    databaseBytes,
    logBytes: null,
    freeBytes: null,
    server: { connections, clockDifferenceMillis },
  },
})

const none = {
  ...{ backedUpAt: null, drilledAt: null, intakes: 0, oldestIntakeAt: null, behindMillis: 0 },
  unreadRisk: { count: 0, oldestAt: null },
  emailConflicts: [],
}

function measured(different: Partial<Measured> = {}): Measured {
  const unreadRisk = { count: 3, oldestAt: 3_500 }
  const oldest = {
    ...{ backedUpAt: 1_000, drilledAt: 2_000, intakes: 2, oldestIntakeAt: 3_000 },
    ...{ unreadRisk, behindMillis: 1_500 },
    emailConflicts: [{ partner: 'Canary', partnerId: 7, conflicts: 20, limit: 20, refused: 31 }],
  }
  return {
    requests: new RequestMeasures(),
    places: concurrencyLimits(),
    build: { version: '1.0.0' },
    zones: { edition: '2026f', folder: null, age: 'current' },
    engine: () => engine,
    records: async () => oldest,
    isReady: async () => true,
    certificateEndsAt: () => 4_000,
    now: () => 5_000_000,
    ...different,
  }
}

/** Scrapes a server with the given measurements. */
async function metricsOf(different?: Partial<Measured>) {
  const { port, stop } = listenForMetrics(0, measured(different))
  try {
    return await textOf(port)
  } finally {
    await stop()
  }
}

test('http: metrics show instants in seconds and omit unknown instants', async () => {
  const known = await metricsOf()
  for (const line of [
    'anteroom_backup_last_timestamp_seconds 1',
    'anteroom_drill_last_timestamp_seconds 2',
    'anteroom_unread_risk 3',
    'anteroom_unread_risk_oldest_timestamp_seconds 3.5',
    'anteroom_unassigned_intakes 2',
    'anteroom_unassigned_intake_oldest_timestamp_seconds 3',
    'anteroom_certificate_expiry_timestamp_seconds 4',
    'anteroom_clock_behind_seconds 1.5',
    'anteroom_email_conflicts{partner="7"} 20',
    'anteroom_email_conflicts_refused_people{partner="7"} 31',
  ]) {
    expect(known.split('\n')).toContain(line)
  }
  const unknown = await metricsOf({ records: async () => none, certificateEndsAt: () => null })
  expect(unknown).not.toMatch(/_(last|oldest|expiry)_timestamp|anteroom_email/)
  expect(unknown).toContain('\nanteroom_unassigned_intakes 0\n')
  expect(unknown).toContain('\nanteroom_unread_risk 0\n')
  expect(unknown).toContain('\nanteroom_clock_behind_seconds 0\n')
})

test('http: metrics of PostgreSQL show connections and clock difference but no log size', async () => {
  const linesOf = async (measures: EngineMeasures) =>
    Array.from(
      (await metricsOf({ engine: () => measures })).matchAll(/^anteroom_database.*/gm),
      ([line]) => line,
    )
  expect(await linesOf(engine)).toEqual([
    'anteroom_database_bytes{file="database"} 1',
    'anteroom_database_bytes{file="log"} 0',
    'anteroom_database_free_bytes 2',
  ])
  const always = [
    'anteroom_database_connections{state="free"} 5',
    'anteroom_database_connections{state="used"} 2',
    'anteroom_database_connections_awaited 1',
  ]
  expect(await linesOf(onServer(null, null))).toEqual(always)
  expect(await linesOf(onServer(7, -250))).toEqual([
    'anteroom_database_bytes{file="database"} 7',
    ...always,
    'anteroom_database_clock_difference_seconds -0.25',
  ])
})

test('http: metrics show the expiry of the certificate in use', async () => {
  using folder = new Folder()
  const certificateOf = async (days: number) => {
    const made = makeCertificate(folder, `of-${days}-days`, days)
    return readCertificate({ ...made, isCredential: false }, Date.now())
  }
  const [first, next] = [await certificateOf(5), await certificateOf(50)]
  const database = folder.file('https.sqlite')
  const opened = await openService({
    ...{ purpose: 'sandbox', database, masterKey: { file: `${database}.key` }, create: true },
    ...{ clock: systemClock, report: () => {} },
  })
  const server = await opened.listen({ host: '127.0.0.1', port: 0, certificate: first, metricsPort: 0 })
  const endOf = async () => /^anteroom_certificate_\w+ (\d+)$/m.exec(await textOf(server.metricsPort))?.[1]
  expect(await endOf()).toBe(String(first.validUntil / 1_000))
  server.replaceCertificate(next)
  expire()
  expect(await endOf()).toBe(String(next.validUntil / 1_000))
  await server.stop()
  await opened.close()
})

test('http: if storage fails, metrics show the service as not ready and omit stored values', async () => {
  const fail = () => Promise.reject(new Error('the disk is gone'))
  const text = await metricsOf({ records: fail, isReady: fail })
  expect(text).toContain('\nanteroom_ready 0\n')
  expect(text).not.toMatch(/anteroom_(backup|drill|unassigned|clock)/)
  expect(text).toContain('\nanteroom_writer_queue_depth 3\n')
})

test('http: the metrics port answers only GET and HEAD /metrics, and only on 127.0.0.1', async () => {
  const { port, stop } = listenForMetrics(0, measured())
  const statusOf = (path: string, init?: RequestInit) =>
    fetch(`http://127.0.0.1:${port}${path}`, init).then(({ status }) => status)
  expect(await statusOf('/metrics', { method: 'HEAD' })).toBe(200)
  expect(await statusOf('/metrics?name=x')).toBe(200)
  expect(await statusOf('/metrics', { method: 'DELETE' })).toBe(405)
  for (const path of ['/', '/metrics/', '/metrics/x', '/readyz', '/x/metrics']) {
    expect([path, await statusOf(path)]).toEqual([path, 404])
  }
  await expect(fetch(`http://127.0.0.2:${port}/metrics`)).rejects.toThrow()
  const askedAs = (host: string) => statusOf('/metrics', { headers: { Host: host } })
  for (const host of ['localhost', `LOCALHOST:${port}`, `127.0.0.1:${port}`, '[::1]:9471']) {
    expect([host, await askedAs(host)]).toEqual([host, 200])
  }
  for (const host of ['rebound.example', `localhost.example:${port}`, '127.0.0.1.example', 'x/localhost']) {
    expect([host, await askedAs(host)]).toEqual([host, 421])
  }
  await stop()
})

test('http: metrics are measured at most once a second, and records are read at most every 15 seconds', async () => {
  let [reads, looks] = [0, 0]
  const records = async () => {
    reads++
    return none
  }
  const isReady = async () => {
    looks++
    return true
  }
  const { port, stop } = listenForMetrics(0, measured({ records, isReady }))
  await Promise.all(Array.from({ length: 50 }, () => textOf(port)))
  expire()
  await textOf(port)
  await stop()
  expect([reads, looks]).toEqual([1, 2])
})

test('http: an incomplete metrics request delays neither other clients nor the stop', async () => {
  const { port, stop } = listenForMetrics(0, measured())
  const halves = [
    '',
    'GET /metr',
    'GET /metrics HTTP/1.1\r\nHost: x\r\n',
    'GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n',
  ]
  const sockets = halves.map(() =>
    connect({ host: '127.0.0.1', port })
      .on('error', () => {})
      .pause(),
  )
  for (const [at, socket] of sockets.entries()) socket.write(halves[at] as string)
  expect(parseMetrics(await textOf(port)).size).toBeGreaterThan(20)
  await stop()
  for (const socket of sockets) socket.destroy()
})

describeOfFile('http: the dashboard and the alert rules', () => {
  const rulesFile = Bun.file(new URL('../../deploy/prometheus/anteroom-rules.yml', import.meta.url))
  const shown = dashboard.panels.flatMap((panel) => ('targets' in panel ? (panel.targets ?? []) : []))
  const expressions = shown.map(({ expr }) => expr)
  let rules = ''
  let served = ''
  let exposed = ''

  beforeAll(async () => {
    rules = await rulesFile.text()
    using folder = new Folder()
    const { store, maintenance } = service.context
    await maintenance.backUp(folder.file('copy'), null, service.act())
    await maintenance.noteDrill(service.act())
    expect(await actsOf({ store }).countWaiting({ state: 'unassigned' })).toMatchObject({ count: 1 })
    served = await textOf(service.metricsPort)
    exposed = [served, await metricsOf(), await metricsOf({ engine: () => onServer(7, 1) })].join('')
  })

  const alerts = () => rules.split(/^ {6}- alert: /m).slice(1)
  const namesIn = (text: string) => new Set(text.match(/\b(?:anteroom|process)_[a-z_]+/g))

  test('use only metrics, labels and values that the service exposes', () => {
    const asked = [...expressions, ...alerts().map((alert) => alert.split('annotations:')[0] as string)].join(
      '\n',
    )
    const names = namesIn(asked)
    expect(names.size).toBeGreaterThan(25)
    expect([...names].filter((name) => !new RegExp(`^${name}(\\{| )`, 'm').test(exposed))).toEqual([])
    const reasons = asked.matchAll(/reason!?=~?"([^"]+)"/g).flatMap(([, some]) => (some as string).split('|'))
    const isKnown = (reason: string) =>
      Object.keys(errorCodes).some((code) => new RegExp(`^(${reason})$`).test(code))
    expect([...reasons].filter((reason) => !isKnown(reason))).toEqual([])
    const values = [...asked.matchAll(/(kind|slots|outcome|age)!?="([^"]+)"/g)].map(
      ([, name, value]) => `${name}="${value}"`,
    )
    expect([...new Set(values)].filter((value) => !exposed.includes(value))).toEqual([])
    const grouped = asked.matchAll(/by \(([^)]+)\)/g).flatMap(([, labels]) => (labels as string).split(', '))
    const isLabel = (label: string) => label === 'instance' || exposed.includes(`${label}="`)
    expect([...new Set(grouped)].filter((label) => !isLabel(label))).toEqual([])
  })

  test('use every metric that the service exposes', () => {
    const asked = namesIn([...expressions, rules].join('\n'))
    const unasked = [...parseMetrics(served).keys()]
    expect(unasked.filter((name) => ![...asked].some((one) => one.startsWith(name)))).toEqual([])
  })

  test('describe and test each alert', async () => {
    const tests = await Bun.file(
      new URL('../../deploy/prometheus/anteroom-rules.test.yml', import.meta.url),
    ).text()
    expect(alerts().length).toBeGreaterThanOrEqual(14)
    for (const alert of alerts()) {
      const [name = ''] = alert.split('\n')
      for (const part of ['severity', 'summary', 'description', 'action'])
        expect(alert).toContain(` ${part}: `)
      expect(alert).toContain('runbook: docs/monitoring.md#alerts\n')
      for (const tried of ['is raised', 'is not raised']) {
        expect(tests).toMatch(new RegExp(`- name: .${name} ${tried}.$`, 'm'))
      }
    }
  })
})
