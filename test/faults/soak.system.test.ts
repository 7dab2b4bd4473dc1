import { expect, setDefaultTimeout, test } from 'bun:test'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { paths } from '../contract/contract'
import { booking, provider, region } from '../support/builders'
import { printFigure, times } from '../support/long'
import { Operator, type Served } from '../support/operator'
import { eventually } from '../support/process'

// A mixed load on the real program, at a rate well within its capacity. A leak for each request shows as growing
// memory, descriptors or log. With TEST_LONG=1, the load runs for ten minutes.
const seconds = times(12, 600)
const perSecond = times(25, 80)
const samples = times(6, 30)
setDefaultTimeout((seconds + 120) * 1_000)

const providers = 1_000
const mebibyte = 2 ** 20

/** The limits of a soak. A leak of one descriptor or a few kilobytes for each request exceeds these limits. */
const bounds = {
  memoryGrowth: times(64, 96) * mebibyte,
  /** The size of the write-ahead log in bytes. This is four times the size at which SQLite makes a checkpoint. */
  log: 16 * mebibyte,
  descriptors: 4,
}

interface Slot {
  readonly providerId: number
  readonly utcStartTime: string
}

interface Sample {
  readonly memory: number
  readonly descriptors: number
  readonly log: number
}

async function start(operator: Operator) {
  await operator.do('init')
  const file = operator.folder.file('directory.json')
  const everybody = Array.from({ length: providers }, (_, place) => provider(`soak-${place}`))
  await Bun.write(file, JSON.stringify({ regions: [region()], providers: everybody }))
  await operator.do('directory', 'load', file)
  const token = await operator.onboard('Lantern', 'North Care')
  // One partner sends everything, so rate limits would refuse most requests.
  const off = ['--reads-per-minute', '--bookings-per-minute', '--failed-authentications-per-minute']
  const service = await operator.serve(
    ...[...off, '--email-conflicts-per-hour'].flatMap((flag) => [flag, 'off']),
  )
  return { service, token }
}

/** All offered slots: the first of each provider, then the second, and so on. */
async function offeredBy(service: Served, token: string): Promise<Slot[]> {
  const found: { providerId: number; availability: Slot[] }[] = []
  for (let page = 1; page <= providers / 100; page++) {
    const { body } = await service.get(`${paths.providers}?region_id=1&page=${page}&page_size=100`, token)
    found.push(...body.results)
  }
  // Skips early slots, which may start during the soak.
  return Array.from({ length: 20 }, (_, place) =>
    found.map(({ providerId, availability }) => ({
      providerId,
      utcStartTime: availability[place + 8]?.utcStartTime as string,
    })),
  ).flat()
}

/** Sends a mix of requests and checks the status of each. */
class Load {
  readonly unexpected: string[] = []
  /** The booked slots. The newest is the last. */
  readonly held: { readonly id: number; readonly slot: Slot }[] = []
  #count = 0
  #members = 0

  constructor(
    private readonly service: Served,
    private readonly token: string,
    readonly slots: Slot[],
  ) {}

  /** Creates the member that all look-ups ask for. */
  async begin(): Promise<void> {
    await this.#post(booking('soak-known'), 201)
  }

  /** Sends the next request of the mix and waits for its answer. */
  async next(): Promise<void> {
    const count = this.#count++
    const place = count % 12
    if (place < 4)
      await this.#get(`${paths.providers}?region_id=1&page=${1 + (count % 200)}&page_size=5`, 200)
    else if (place === 4) await this.#get(`${paths.regions}?country_code=CA`, 200)
    else if (place === 5) await this.#get(`${paths.user}?external_user_id=soak-known`, 200)
    else if (place < 9) await this.#book()
    else if (place === 9) await this.#post(booking(this.#somebody()), 201)
    else await this.#refused(count)
  }

  #somebody(): string {
    return `soak-${this.#members++}`
  }

  async #book(): Promise<void> {
    const slot = this.slots.shift() as Slot
    const body = await this.#post(booking(this.#somebody(), slot), 201)
    this.held.push({ id: body.id, slot })
  }

  async #refused(count: number): Promise<void> {
    const [first] = this.held
    if (count % 2 && first) await this.#post(booking('soak-late', first.slot), 400)
    else if (count % 3 === 0) await this.#get(`${paths.user}?external_user_id=nobody`, 404)
    else if (count % 3 === 1) await this.#get(`${paths.regions}?country_code=CA`, 401, 'not-a-token')
    else await this.#post(booking('soak-other', undefined, { email: 'SOAK-KNOWN@example.com' }), 409)
  }

  #get(path: string, expected: number, token = this.token) {
    return this.#send(path, { headers: { Authorization: `Bearer ${token}` } }, expected)
  }

  #post(body: unknown, expected: number) {
    const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${this.token}` }
    return this.#send(paths.booking, { method: 'POST', headers, body: JSON.stringify(body) }, expected)
  }

  /** Uses a new connection for each request, so that a leaked descriptor shows. */
  async #send(path: string, init: RequestInit, expected: number) {
    const response = await fetch(`http://127.0.0.1:${this.service.port}${path}`, {
      ...init,
      keepalive: false,
    })
    const text = await response.text()
    if (response.status !== expected)
      this.unexpected.push(`${init.method ?? 'GET'} ${path}: ${response.status} ${text.slice(0, 200)}`)
    return JSON.parse(text)
  }
}

const descriptorsOf = ({ pid }: Served): number => readdirSync(`/proc/${pid}/fd`).length

function memoryOf({ pid }: Served): number {
  const [, kibibytes] = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kibibytes) * 1_024
}

function sampleOf(operator: Operator, service: Served): Sample {
  return {
    memory: memoryOf(service),
    descriptors: descriptorsOf(service),
    log: statSync(`${operator.database}-wal`).size,
  }
}

/** Sends at a steady rate for some ms, without waiting for answers. */
async function sendFor(millis: number, load: Load): Promise<void> {
  const startedAt = performance.now()
  const underWay: Promise<void>[] = []
  for (let sent = 0; performance.now() - startedAt < millis; sent++) {
    underWay.push(load.next())
    await Bun.sleep(Math.max(0, startedAt + (sent * 1_000) / perSecond - performance.now()))
  }
  await Promise.all(underWay)
}

/** Declines the newest booking as the operator does. Its slot can be booked again. */
async function decline(operator: Operator, load: Load): Promise<void> {
  const { id, slot } = load.held.pop() as (typeof load.held)[number]
  await operator.do('request', 'decline', String(id), '--yes')
  load.slots.unshift(slot)
}

const mean = (numbers: readonly number[]) => numbers.reduce((sum, one) => sum + one, 0) / numbers.length

/** The mean of a value in the first, second or last third of the samples. */
function inThird(taken: readonly Sample[], third: 0 | 1 | 2, of: keyof Sample): number {
  const size = taken.length / 3
  return mean(taken.slice(third * size, (third + 1) * size).map((sample) => sample[of]))
}

test(`faults: memory, descriptors and log do not grow in ${seconds} s of a mixed load`, async () => {
  using operator = new Operator()
  const { service, token } = await start(operator)
  await using _ = service
  const load = new Load(service, token, await offeredBy(service, token))
  await load.begin()
  await eventually('the connections of the start to be closed', () => descriptorsOf(service) < 32)
  const before = descriptorsOf(service)
  const taken: Sample[] = []
  for (let sample = 1; sample <= samples; sample++) {
    const sending = sendFor((seconds * 1_000) / samples, load)
    if (load.held.length > 0) await decline(operator, load)
    await sending
    const found = sampleOf(operator, service)
    taken.push(found)
    const [memory, log] = [found.memory, found.log].map((bytes) => `${Math.round(bytes / mebibyte)} MiB`)
    const at = Math.round((sample * seconds) / samples)
    printFigure(`soak, ${at} s: memory ${memory}, ${found.descriptors} descriptors, log ${log}`)
  }
  expect(load.unexpected).toEqual([])
  const growth = inThird(taken, 2, 'memory') - inThird(taken, 1, 'memory')
  expect(growth).toBeLessThan(bounds.memoryGrowth)
  expect(Math.max(...taken.map(({ log }) => log))).toBeLessThan(bounds.log)
  await eventually(
    'the descriptors to be closed',
    () => descriptorsOf(service) <= before + bounds.descriptors,
  )
  expect((await service.stop()).code).toBe(0)
})
