import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { connect, type Socket } from 'node:net'
import type { Reply } from '../../src/http/endpoints/endpoint'
import { providers } from '../../src/http/endpoints/providers'
import type { Representation } from '../../src/http/representation'
import { booking, provider, region } from '../support/builders'
import { startService, type TestPartner } from '../support/service'
import { until } from '../support/turns'
import { bookingHead, daily, expectReadsGoOn, lookUp, paths, submitSlowly } from './contract'

/** Maximum number of bookings in flight for one partner. */
const share = 256

let service: Awaited<ReturnType<typeof startService>>
let other: TestPartner
beforeAll(async () => {
  service = await startService({
    directory: {
      regions: [region({ id: 31 })],
      // With this many slots, a page is sent in several writes.
      providers: Array.from({ length: 100 }, (_, index) =>
        provider(`p-${index}`, { timeZone: 'Etc/UTC', workingHours: [daily('00:00', '24:00')] }),
      ),
    },
  })
  other = await service.addPartner('Other')
})
afterAll(() => service.stop())

describe('contract: half-sent bodies', () => {
  test('use up only the share of the sending partner', async () => {
    const body = JSON.stringify(booking('half'))
    const half = `${bookingHead(service.partner, body.length).join('\r\n')}\r\n\r\n${body.slice(0, body.length / 2)}`
    const { hostname, port } = new URL(service.baseUrl)
    const sockets = new Set<Socket>()
    let isOver = false
    const hold = () => {
      const socket = connect({ host: hostname, port: Number(port) })
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('data', () => socket.destroy())
      socket.on('close', () => {
        sockets.delete(socket)
        if (!isOver) hold()
      })
      socket.write(half)
    }
    for (let held = 0; held < share; held++) hold()
    const isRefused = async () => (await submitSlowly(service, 'whole', service.partner)).status === 503
    await until(isRefused)
    expect((await submitSlowly(service, 'whole-other', other)).status).toBe(201)
    await expectReadsGoOn(service, [service.partner, other])
    isOver = true
    for (const socket of sockets) socket.destroy()
    await until(async () => !(await isRefused()))
    expect((await lookUp(service, 'half')).status).toBe(404)
  })
})

describe('contract: a large page of search', () => {
  const query = `${paths.providers}?region_id=31&page_size=100`

  test('shows one snapshot even if a slot is booked meanwhile', async () => {
    const before = await service.get(query)
    const booked = Promise.withResolvers<void>()
    let turns = 0
    const call = {
      caller: service.partner,
      now: service.context.clock.now(),
      params: {},
      body: {},
      authenticated: {},
      turn: () => (++turns === 11 ? booked.promise : undefined),
    }
    const made = providers.handler(
      service.context,
      service.baseUrl,
    )({
      ...call,
      query: { region_id: 31, page_size: 100 },
    } as never) as Promise<Reply<Representation>>
    const last = before.body.results.at(-1)
    const [slot] = last.availability
    const answer = await service.post(paths.booking, booking('meanwhile', { ...last, ...slot }))
    expect(answer.status).toBe(201)
    booked.resolve()
    const { body } = await made
    expect(await (body as Representation).plain.body?.json()).toEqual(before.body)
    expect(turns).toBeGreaterThan(11)
    const after = await service.get(query)
    expect(after.body.results.at(-1).availability).toEqual(last.availability.slice(1))
  })

  test('is complete for each of four concurrent requests', async () => {
    const pages = await Promise.all(Array.from({ length: 4 }, () => service.get(query)))
    for (const { status, headers, body } of pages) {
      expect(status).toBe(200)
      expect(headers.get('content-type')).toBe('application/json')
      expect(body.results.length).toBe(100)
    }
  })

  test('is still sent after another client disconnects early or sends HEAD', async () => {
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
