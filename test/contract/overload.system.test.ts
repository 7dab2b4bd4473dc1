import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { connect, type Socket } from 'node:net'
import type { Reply } from '../../src/http/endpoint'
import { providers } from '../../src/http/providers'
import type { Representation } from '../../src/http/representation'
import type { Steps } from '../../src/http/turns'
import { booking, provider, region } from '../support/builders'
import { eventually } from '../support/eventually'
import { type Answer, startService, type TestPartner } from '../support/service'
import { holdWrites } from '../support/storage'
import { daily, expectRefusal, lookUp, paths, sendSlowly } from './contract'

/** The bookings of one partner that are in flight at a time. */
const share = 256

let service: Awaited<ReturnType<typeof startService>>
let other: TestPartner
beforeAll(async () => {
  service = await startService({
    directory: {
      regions: [region({ id: 31 })],
      // Slots enough for a page that is not sent in one piece.
      providers: Array.from({ length: 100 }, (_, index) =>
        provider(`p-${index}`, { timeZone: 'Etc/UTC', workingHours: [daily('00:00', '24:00')] }),
      ),
    },
  })
  other = await service.addPartner('Other')
})
afterAll(() => service.stop())

const headOf = (body: string, { token }: TestPartner) => [
  `POST ${paths.booking} HTTP/1.1`,
  'Host: localhost',
  `Authorization: Bearer ${token}`,
  'Content-Type: application/json',
  `Content-Length: ${body.length}`,
]

/** An intake on a connection of its own: a client library has only so many. */
function submit(externalUserId: string, partner: TestPartner): Promise<Answer> {
  const body = JSON.stringify(booking(externalUserId))
  return sendSlowly(service.baseUrl, headOf(body, partner), body)
}

/** The statuses of requests that are sent on one connection, each once the one before it was answered. */
async function statusesOnOneConnection(requests: readonly string[]): Promise<number[]> {
  const { hostname, port } = new URL(service.baseUrl)
  const socket = connect({ host: hostname, port: Number(port) })
  const statuses: number[] = []
  try {
    for (const request of requests) {
      const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
      socket.once('data', resolve).once('error', reject).once('close', reject)
      socket.write(request)
      statuses.push(Number((await promise).toString('latin1', 9, 12)))
    }
  } finally {
    socket.destroy()
  }
  return statuses
}

async function expectReadsGoOn(): Promise<void> {
  for (const { token } of [service.partner, other]) {
    expect((await service.get(`${paths.regions}?country_code=CA`, token)).status).toBe(200)
    expect((await service.get(`${paths.providers}?region_id=31&page_size=1`, token)).status).toBe(200)
    expect((await lookUp(service, 'nobody', token)).status).toBe(404)
  }
}

describe('while writes wait for the lock that another process holds', () => {
  test('what finds no place is 503 overloaded at once, reads go on, and then all that waited is stored', async () => {
    // For so long the writes of the set-up show that there can be more.
    await Bun.sleep(1_000)
    await using held = await holdWrites(service.storage)
    const names = Array.from({ length: share + 20 }, (_, index) => `waiting-${index}`)
    const answers = new Map<string, Answer>()
    const waiting = names.map(async (name) => answers.set(name, await submit(name, service.partner)))
    await eventually('the share of one partner to be used up', () => answers.size === names.length - share)
    const refused = [...answers.keys()]
    for (const answer of answers.values()) {
      expectRefusal(answer, { status: 503, kind: 'overloaded' })
      expect(answer.headers.get('retry-after')).toBe('1')
    }
    await expectReadsGoOn()
    const healthOf = async (path: string) => (await fetch(`${service.baseUrl}${path}`)).status
    expect([await healthOf('/livez'), await healthOf('/readyz')]).toEqual([200, 503])
    const large = JSON.stringify({ ...booking('large'), unknown: 'x'.repeat(200_000) })
    const [post, get] = [headOf(large, service.partner), headOf('', other).slice(1, 3)]
    const list = [`GET ${paths.regions}?country_code=CA HTTP/1.1`, ...get]
    expect(
      await statusesOnOneConnection([`${post.join('\r\n')}\r\n\r\n${large}`, `${list.join('\r\n')}\r\n\r\n`]),
    ).toEqual([503, 200])
    const fromOther = submit('waiting-other', other)
    await held[Symbol.asyncDispose]()
    await Promise.all(waiting)
    expect((await fromOther).status).toBe(201)
    for (const [name, { status }] of answers) {
      // A machine that is busy otherwise may take longer than a write waits for the lock.
      const isStored = !refused.includes(name) && status !== 503
      expect((await lookUp(service, name)).status).toBe(isStored ? 200 : 404)
    }
    for (const name of refused) expect((await submit(name, service.partner)).status).toBe(201)
  })
})

describe('while bodies are only half there', () => {
  test('their sender alone finds no place, and again has one once they have gone', async () => {
    const body = JSON.stringify(booking('half'))
    const half = `${headOf(body, service.partner).join('\r\n')}\r\n\r\n${body.slice(0, body.length / 2)}`
    const { hostname, port } = new URL(service.baseUrl)
    const sockets = await Promise.all(
      Array.from({ length: share }, () => {
        const { promise, resolve } = Promise.withResolvers<Socket>()
        const socket = connect({ host: hostname, port: Number(port) }, () => resolve(socket))
        socket.write(half)
        return promise
      }),
    )
    const isRefused = async () => (await submit('whole', service.partner)).status === 503
    await eventually('the share of one partner to be used up', isRefused)
    expect((await submit('whole-other', other)).status).toBe(201)
    await expectReadsGoOn()
    for (const socket of sockets) socket.destroy()
    await eventually('the places to be free', async () => !(await isRefused()))
    expect((await lookUp(service, 'half')).status).toBe(404)
  })
})

describe('a large page', () => {
  const query = `${paths.providers}?region_id=31&page_size=100`

  test('is of one moment, whatever is booked while it is made', async () => {
    const before = await service.get(query)
    const call = {
      caller: service.partner,
      now: service.context.clock.now(),
      params: {},
      body: {},
      letIn: {},
    }
    const steps = providers.handler(
      service.context,
      service.baseUrl,
    )({
      ...call,
      query: { region_id: 31, page_size: 100 },
    } as never) as Steps<Reply<Representation>>
    for (let times = 0; times < 10; times++) steps.next()
    const last = before.body.results.at(-1)
    const [slot] = last.availability
    const answer = await service.post(paths.booking, booking('meanwhile', { ...last, ...slot }))
    expect(answer.status).toBe(201)
    let step = steps.next()
    while (!step.done) step = steps.next()
    const made = await (step.value.body as Representation).plain.body?.json()
    expect(made).toEqual(before.body)
    const after = await service.get(query)
    expect(after.body.results.at(-1).availability).toEqual(last.availability.slice(1))
  })

  test('is sent whole in parts, beside others', async () => {
    const pages = await Promise.all(Array.from({ length: 4 }, () => service.get(query)))
    for (const { status, headers, body } of pages) {
      expect(status).toBe(200)
      expect(headers.get('content-type')).toBe('application/json')
      expect(body.results.length).toBe(100)
    }
  })

  test('is no trouble where the client goes in the middle of it, or asks for the head alone', async () => {
    const { hostname, port } = new URL(service.baseUrl)
    const lines = [
      `GET ${query} HTTP/1.1`,
      'Host: localhost',
      `Authorization: Bearer ${service.partner.token}`,
    ]
    await new Promise<void>((resolve, reject) => {
      const socket = connect({ host: hostname, port: Number(port) })
      socket.on('error', reject)
      socket.once('data', () => {
        socket.destroy()
        resolve()
      })
      socket.write(`${lines.join('\r\n')}\r\n\r\n`)
    })
    const headers = { Authorization: `Bearer ${service.partner.token}` }
    expect(await service.send(query, { method: 'HEAD', headers })).toMatchObject({ status: 200, body: '' })
    expect((await service.get(query)).body.results.length).toBe(100)
  })
})
