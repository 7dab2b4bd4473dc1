import { Database } from 'bun:sqlite'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { availabilityAt } from '../../src/scheduling/availability'
import { booking, provider, region } from '../support/builders'
import { startService, type TestPartner, type TestService } from '../support/service'
import { median, printRow } from './row'

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

type Service = TestService & { readonly partner: TestPartner }

/** What single requests take beside a bare server and a bare database, in this process. */
export async function benchPlain(): Promise<void> {
  const service = await startService({ directory })
  const folder = mkdtempSync(join(tmpdir(), 'anteroom-bench-'))
  try {
    await benchReads(service)
    await benchWrites(service, folder)
    benchAvailability(service)
  } finally {
    await service.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

async function benchReads(service: Service): Promise<void> {
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

async function benchWrites(service: Service, folder: string): Promise<void> {
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

function benchAvailability(service: Service): void {
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
  const [rates, references]: [number[], number[]] = [[], []]
  for (let round = 0; round < rounds; round++) {
    const [a, b] = [await rate(ours), await rate(bare)]
    ratios.push(a / b)
    rates.push(a)
    references.push(b)
  }
  const [figure, reference] = [rates, references].map((told) => `${Math.round(median(told))} a second`)
  printRow({ name, figure: figure as string, reference: reference as string, ratio: median(ratios) })
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
