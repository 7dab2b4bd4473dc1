import { Database } from 'bun:sqlite'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { availabilityAt } from '../../src/scheduling/availability'
import { booking, provider, region } from '../support/builders'
import { startSandbox } from '../support/process'
import { startService } from '../support/service'
import { type Load, measure } from './load'

// Prints what the service takes beside a bare server and a bare database in the same run. Machines differ and
// are noisy: the ratios are what can be compared, each the median over rounds that take turns.

const rounds = 5
const roundMillis = 1_000
const connections = 32

const directory = {
  regions: [region()],
  providers: Array.from({ length: 400 }, (_, index) =>
    provider(`bench-${index}`, {
      workingHours: [
        { weekdays: ['monday', 'tuesday', 'wednesday', 'thursday', 'friday'], start: '08:00', end: '18:00' },
      ],
    }),
  ),
}

await benchOverload()

const service = await startService({ directory })
const folder = mkdtempSync(join(tmpdir(), 'anteroom-bench-'))
try {
  await benchReads()
  await benchWrites()
  benchAvailability()
} finally {
  await service.stop()
  rmSync(folder, { recursive: true, force: true })
}

/** What one partner does to another, and what more than can be done does to what is done: in processes of their own. */
async function benchOverload(): Promise<void> {
  await using sandbox = await startSandbox(['--providers', '10000'])
  const { baseUrl, examples } = sandbox.report
  const search = `/partners/v1/providers/?region_id=${examples.regionId}`
  const base = { baseUrl, seconds: 2, perSecond: null, connections: 1 }
  const [flooding, other] = [sandbox.token('active', 0), sandbox.token('active', 1)]

  const { count } = (await sandbox.get(`${search}&page_size=1`)).body
  const pages = Array.from(
    { length: Math.floor(count / 100) },
    (_, page) => `${search}&page_size=100&page=${page + 1}`,
  )
  const small = {
    'region list': '/partners/v1/provider-regions/?country_code=CA',
    'page of 1': `${search}&page_size=1`,
  }
  for (const [name, path] of Object.entries(small)) {
    const probe: Load = { ...base, token: other, paths: [path] }
    const idle = await p50Of(probe)
    for (const [flood, paths] of [
      ['one page', pages.slice(0, 1)],
      ['every page', pages],
    ] as const) {
      const ends = measure({ ...base, token: flooding, paths, connections: 8, seconds: 4 })
      await Bun.sleep(1_000)
      const beside = await p50Of(probe)
      const { perSecond } = (await ends)['200'] ?? { perSecond: 0 }
      const told = `p50 ${idle} -> ${beside} ms, ${perSecond} such pages a second`
      console.log(
        `${name} beside 8 connections that ask for ${flood} of 100 / idle: ${(beside / idle).toFixed(1)} (${told})`,
      )
    }
  }

  const intakes: Load = { ...base, token: flooding, paths: [], connections: 64, seconds: 4 }
  await measure(intakes)
  const capacity = (await measure(intakes))['201']?.perSecond ?? 0
  for (const times of [3, 4]) {
    const { 201: stored, 503: refused } = await measure({
      ...intakes,
      connections: 1_000,
      perSecond: times * capacity,
    })
    const told = `${stored?.perSecond} stored, p99 ${stored?.p99} ms, ${refused?.perSecond} refused, p99 ${refused?.p99} ms`
    const ratio = ((stored?.perSecond ?? 0) / capacity).toFixed(2)
    console.log(
      `intakes stored at ${times} times the capacity (open loop) / capacity: ${ratio} (${capacity}; ${told})`,
    )
  }
}

async function p50Of(load: Load): Promise<number> {
  return (await measure(load))['200']?.p50 ?? Number.NaN
}

async function benchReads(): Promise<void> {
  const path = '/partners/v1/providers/?region_id=1'
  const headers = { Authorization: `Bearer ${service.partner.token}` }
  const page = await (await fetch(service.baseUrl + path, { headers })).bytes()
  const bare = Bun.serve({
    port: 0,
    development: false,
    routes: { '/small': () => Response.json({ id: 1, name: 'small' }) },
    fetch: () => new Response(page, { headers: { 'Content-Type': 'application/json' } }),
  })
  const small = () => fetch(`${bare.url}small`)
  const regions = () => fetch(`${service.baseUrl}/partners/v1/provider-regions/?country_code=CA`, { headers })
  await compare('region list / bare server, small object', regions, small)
  const whole = () => fetch(bare.url)
  await compare(
    'search, 20 providers / bare server, same bytes',
    () => fetch(service.baseUrl + path, { headers }),
    whole,
  )
  await bare.stop(true)
}

async function benchWrites(): Promise<void> {
  const database = new Database(join(folder, 'bare.sqlite'))
  database.run('PRAGMA journal_mode = WAL')
  database.run('PRAGMA synchronous = FULL')
  database.run('CREATE TABLE members (id INTEGER PRIMARY KEY, name TEXT)')
  database.run('CREATE TABLE requests (id INTEGER PRIMARY KEY, member_id INTEGER, body TEXT)')
  const member = database.query('INSERT INTO members (name) VALUES (?)')
  const request = database.query('INSERT INTO requests (member_id, body) VALUES (?, ?)')
  const store = database.transaction((name: string) => {
    request.run(member.run(name).lastInsertRowid, JSON.stringify(booking(name)))
  })
  let next = 0
  const intake = () =>
    fetch(`${service.baseUrl}/partners/v1/booking-request/`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${service.partner.token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify(booking(`bench-${next++}`)),
    })
  const bare = async () => {
    store.immediate(`bench-${next++}`)
    return null
  }
  await compare('intake over HTTP / bare database, a durable transaction each', intake, bare)
  database.close()
}

function benchAvailability(): void {
  const [listing] = service.context.directory.listListings()
  if (!listing) throw new Error('the bench has no provider')
  const licensed = listing.licenses.map(({ interval }) => interval)
  const now = service.context.clock.now()
  const started = performance.now()
  const times = 5_000
  for (let i = 0; i < times; i++) availabilityAt(listing.calendar, licensed, now)
  console.log(
    `availability of a provider for 30 days: ${(((performance.now() - started) * 1000) / times).toFixed(1)} us`,
  )
}

/** Prints how often a second `ours` is answered, as a ratio to `bare`. */
async function compare(name: string, ours: Call, bare: Call): Promise<void> {
  await rate(ours)
  const ratios: number[] = []
  const rates: number[] = []
  for (let round = 0; round < rounds; round++) {
    const [a, b] = [await rate(ours), await rate(bare)]
    ratios.push(a / b)
    rates.push(a)
  }
  console.log(`${name}: ${median(ratios).toFixed(2)} (${Math.round(median(rates))} per second)`)
}

type Call = () => Promise<Response | null>

async function rate(call: Call): Promise<number> {
  const until = performance.now() + roundMillis
  let done = 0
  const worker = async () => {
    while (performance.now() < until) {
      const response = await call()
      if (response && !response.ok) throw new Error(`answered ${response.status}`)
      await response?.arrayBuffer()
      done++
    }
  }
  await Promise.all(Array.from({ length: connections }, worker))
  return (done * 1000) / roundMillis
}

function median(values: number[]): number {
  return values.sort((a, b) => a - b)[Math.floor(values.length / 2)] as number
}
