import { expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { paths } from '../contract/contract'
import { booking } from '../support/builders'
import { isLong, printFigure, times } from '../support/long'
import { newDatabase, testOnPostgres } from '../support/postgres-databases'
import { eventually, Folder } from '../support/process'
import { ask } from '../support/storage'
import { type Entry, type Following, readPages, type StoredPage } from './changes-consumer'
import { Nodes } from './nodes'

// A partner's consumer of the list of changes is killed again and again while clients and staff change requests.
setDefaultTimeout(isLong ? 3_600_000 : 300_000)

const [kills, clientCount] = [times(10, 100), 64]

test(`nodes: a consumer of the changes that is killed ${kills} times misses nothing at one server on a file`, async () => {
  using folder = new Folder()
  await expectNothingMissed('one server', [folder.file('changes.sqlite')])
})

testOnPostgres(
  `nodes: a consumer of the changes that is killed ${kills} times misses nothing at four nodes`,
  async () => {
    await using database = await newDatabase()
    await expectNothingMissed('four nodes', Array(4).fill(database.url))
  },
)

async function expectNothingMissed(title: string, addresses: readonly string[]): Promise<void> {
  await using nodes = await Nodes.start(addresses, times(4, 24))
  using folder = new Folder()
  const clients = new Clients(nodes)
  const [killed, fresh] = [folder.file('killed'), folder.file('fresh')]
  try {
    for (let done = 0; done < kills; done++) {
      const before = readPages(killed).length
      const consumer = follow(nodes, killed, false)
      await eventually('a page to be stored', () => readPages(killed).length > before)
      await Bun.sleep(Math.random() * 200)
      consumer.kill('SIGKILL')
      await consumer.exited
    }
  } finally {
    await clients.stop()
  }
  for (const file of [killed, fresh]) expect(await follow(nodes, file, true).exited).toBe(0)

  const stored = await storedIn(addresses[0] as string)
  const pages = readPages(killed)
  const all = readPages(fresh).flatMap(({ results }) => results)
  expect(clients.faults).toEqual([])
  expect(byId(pages.flatMap(({ results }) => results))).toEqual(stored)
  expect(byId(all)).toEqual(stored)
  expect(all).toHaveLength(stored.length)
  expect(positionsOf(pages)).toEqual(positionsOf(pages).toSorted((a, b) => a - b))
  expect(clients.findDisorder(all.map(({ id }) => id))).toEqual([])
  const states = Object.entries(Object.groupBy(stored, ({ state }) => state)).map(
    ([state, of]) => `${of?.length} ${state}`,
  )
  printFigure(
    `changes at ${title}: ${kills} kills, ${pages.length} pages, ${clients.changes} changes of ${stored.length} requests (${states.join(', ')})`,
  )
}

function follow({ nodes, token }: Nodes, file: string, untilEmpty: boolean) {
  const following = { ports: nodes.map(({ port }) => port), token, file, untilEmpty } satisfies Following
  const program = join(import.meta.dir, 'changes-consumer.ts')
  return Bun.spawn([process.execPath, program, JSON.stringify(following)], { stderr: 'inherit' })
}

/** Returns the last entry of each request. */
function byId(entries: readonly Entry[]): Entry[] {
  return [...new Map(entries.map((entry) => [entry.id, entry])).values()].sort((a, b) => a.id - b.id)
}

const positionsOf = (pages: readonly StoredPage[]) =>
  pages.map(({ next }) => Number(/after=(\d+)/.exec(next)?.[1]))

async function storedIn(database: string): Promise<Entry[]> {
  interface Row extends Record<string, number | string | null> {
    id: number
    state: string
  }
  const columns =
    'id, member_id, state, provider_id, authorization_number, starts_at, accepted_at, declined_at, cancelled_at'
  const rows = await ask<Row>({ database } as never, `SELECT ${columns} FROM booking_requests ORDER BY id`)
  const at = (millis: unknown) => (millis === null ? null : new Date(millis as number).toISOString())
  return rows.map((row) => {
    const isErased = row.member_id === null
    const shown = (value: string | number | null | undefined) => (isErased ? null : (value ?? null))
    return {
      id: row.id,
      state: isErased ? 'erased' : row.state,
      providerId: shown(row.provider_id),
      authorizationNumber: shown(row.authorization_number),
      utcStartTime: shown(at(row.starts_at)?.replace('.000', '')),
      acceptedAt: shown(at(row.accepted_at)),
      declinedAt: shown(at(row.declined_at)),
      cancelledAt: shown(at(row.cancelled_at)),
    }
  })
}

interface Call {
  readonly status: number
  readonly code: string | null
  readonly body: { readonly id: number; readonly member: { readonly id: number } }
  readonly askedAt: number
  readonly answeredAt: number
}

/** Book, cancel and reschedule at all nodes until they are stopped, while staff accept, decline and erase some. */
class Clients {
  readonly faults: string[] = []
  changes = 0
  /** The last acknowledged change of each request that staff have not changed. */
  readonly #last = new Map<number, Call>()
  readonly #ofStaff = new Set<number>()
  #booked: Call | undefined
  #submitted = 0
  #sent = 0
  #isStopped = false
  readonly #workers: Promise<unknown>

  constructor(private readonly nodes: Nodes) {
    const clients = Array.from({ length: clientCount }, () => this.#work())
    this.#workers = Promise.all([...clients, this.#staff()])
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#workers
  }

  /** Returns pairs of requests in the wrong order: the change of the first began after that of the second had ended. */
  findDisorder(ids: readonly number[]): [number, number][] {
    let latest: { id: number; askedAt: number } | null = null
    const found: [number, number][] = []
    for (const id of ids) {
      const change = this.#ofStaff.has(id) ? undefined : this.#last.get(id)
      if (!change) continue
      if (latest && change.answeredAt < latest.askedAt) found.push([latest.id, id])
      if (!latest || change.askedAt > latest.askedAt) latest = { id, askedAt: change.askedAt }
    }
    return found
  }

  async #work(): Promise<void> {
    while (!this.#isStopped) {
      const number = this.#submitted++
      const slot = number % 3 ? this.nodes.slots.pop() : undefined
      const submitted = await this.#send(paths.booking, booking(`member-${number}`, slot))
      if (submitted?.status !== 201) continue
      this.#booked = submitted
      if (number % 2) continue
      const to = number % 4 ? this.nodes.slots.pop() : undefined
      const path = paths[to ? 'reschedule' : 'cancel'].replace('{id}', `${submitted.body.id}`)
      await this.#send(path, to ? booking('', to).bookingData : {})
    }
  }

  async #staff(): Promise<void> {
    const { operator } = this.nodes
    for (let act = 0; !this.#isStopped; act++) {
      await Bun.sleep(50)
      if (!this.#booked) continue
      const { id, member } = this.#booked.body
      this.#ofStaff.add(id)
      const acts = [
        ['request', 'accept', `${id}`],
        ['request', 'decline', `${id}`, '--yes'],
        ['member', 'erase', `${member.id}`, '--yes'],
      ]
      const { code, stderr } = await operator.run(acts[act % acts.length] as string[])
      if (code !== 0 && !expected.test(stderr)) this.faults.push(`${act}: ${code} ${stderr}`)
    }
  }

  async #send(path: string, sent: unknown): Promise<Call | null> {
    const { port } = this.nodes.node(this.#sent++)
    const headers = { Authorization: `Bearer ${this.nodes.token}`, 'Content-Type': 'application/json' }
    const askedAt = performance.now()
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(sent),
    })
    const body = (await response.json()) as Call['body']
    const code = response.headers.get('x-error-code')
    const call = { status: response.status, code, body, askedAt, answeredAt: performance.now() }
    if (call.status < 300) {
      this.changes++
      this.#last.set(body.id, call)
    } else if (!allowed.includes(code ?? '')) this.faults.push(`${path}: ${call.status} ${code}`)
    return call
  }
}

/** An intake, or a request that its partner has cancelled. PostgreSQL cannot purge its files while others read. */
const expected = /cannot be (accepted|declined)|still have traces of the erased data/

/** Of requests that staff have changed, and of a busy machine. */
const allowed = ['request_closed', 'request_without_slot', 'request_not_found', 'storage_busy']
