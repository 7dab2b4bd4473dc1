import { afterAll, beforeAll, expect, test } from 'bun:test'
import { connect } from 'node:net'
import { booking, provider, region } from '../support/builders'
import { eventually } from '../support/eventually'
import { type Answer, startService, type TestPartner } from '../support/service'
import { blockWrites } from '../support/storage'
import { bookingHead, daily, expectReadsGoOn, expectRefusal, lookUp, paths, submitSlowly } from './contract'

// In these tests, another process holds the write lock of the database.

/** Maximum number of bookings in flight for one partner. */
const share = 256

let service: Awaited<ReturnType<typeof startService>>
let other: TestPartner
beforeAll(async () => {
  service = await startService({
    directory: {
      regions: [region({ id: 31 })],
      providers: [provider('p', { timeZone: 'Etc/UTC', workingHours: [daily('00:00', '24:00')] })],
    },
  })
  other = await service.addPartner('Other')
})
afterAll(() => service.stop())

/** Sends requests one after another on one connection and returns their statuses. */
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

test('contract: while another process locks the database, excess bookings get 503 and other bookings wait', async () => {
  // Without this pause, /readyz would count the recent writes as proof that storage works.
  await Bun.sleep(1_000)
  await using held = await blockWrites(service.storage)
  const names = Array.from({ length: share + 20 }, (_, index) => `waiting-${index}`)
  const answers = new Map<string, Answer>()
  const waiting = names.map(async (name) =>
    answers.set(name, await submitSlowly(service, name, service.partner)),
  )
  await eventually('the share of one partner to be used up', () => answers.size === names.length - share)
  const refused = [...answers.keys()]
  for (const answer of answers.values()) {
    expectRefusal(answer, { status: 503, kind: 'overloaded' })
    expect(answer.headers.get('retry-after')).toBe('1')
  }
  await expectReadsGoOn(service, [service.partner, other])
  const healthOf = async (path: string) => (await fetch(`${service.baseUrl}${path}`)).status
  expect([await healthOf('/livez'), await healthOf('/readyz')]).toEqual([200, 503])
  const large = JSON.stringify({ ...booking('large'), unknown: 'x'.repeat(200_000) })
  const [post, get] = [bookingHead(service.partner, large.length), bookingHead(other, 0).slice(1, 3)]
  const list = [`GET ${paths.regions}?country_code=CA HTTP/1.1`, ...get]
  expect(
    await statusesOnOneConnection([`${post.join('\r\n')}\r\n\r\n${large}`, `${list.join('\r\n')}\r\n\r\n`]),
  ).toEqual([503, 200])
  const fromOther = submitSlowly(service, 'waiting-other', other)
  await held[Symbol.asyncDispose]()
  await Promise.all(waiting)
  expect((await fromOther).status).toBe(201)
  for (const [name, { status }] of answers) {
    // On a busy machine, a booking can time out with 503 while it waits for the lock.
    const isStored = !refused.includes(name) && status !== 503
    expect((await lookUp(service, name)).status).toBe(isStored ? 200 : 404)
  }
  for (const name of refused) expect((await submitSlowly(service, name, service.partner)).status).toBe(201)
})

test('contract: a booking that waits for the database lock can get a slot that was freed meanwhile', async () => {
  const { body: page } = await service.get(`${paths.providers}?region_id=31`)
  const [{ providerId, availability }] = page.results
  const slot = { providerId, utcStartTime: availability[0].utcStartTime }
  const { body } = await service.post(paths.booking, booking('returning', slot))
  await using held = await blockWrites(service.storage)
  const asked = service.post(paths.booking, booking('returning', slot))
  // Gives the booking time to wait for the lock.
  await Bun.sleep(300)
  await held.run(`UPDATE booking_requests SET state = 'declined', declined_at = 1 WHERE id = ${body.id}`)
  await held.run(`INSERT INTO changes (noun, record_id) VALUES ('taken', ${providerId})`)
  await held.commit()
  const answer = await asked
  expect([answer.status, answer.body.utcStartTime]).toEqual([201, slot.utcStartTime])
})
