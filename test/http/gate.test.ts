import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { perMinute } from '../../src/domain/limits'
import { concurrencyLimits } from '../../src/http/admission'
import { createApp } from '../../src/http/app'
import { goneClient } from '../../src/http/listening/behind-proxy'
import { type LogEntry, withLogEntries } from '../../src/http/log'
import { paths } from '../contract/contract'
import { booking } from '../support/builders'
import { testOfFile } from '../support/engine'
import { startService } from '../support/service'

let service: Awaited<ReturnType<typeof startService>>
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.stop())

const request = (path: string, token: string) =>
  new Request(`${service.baseUrl}${path}`, { headers: { Authorization: `Bearer ${token}` } })

test('http: an overloaded booking is logged with its partner and the reason', async () => {
  const { context, baseUrl } = service
  const { partner, token } = service.partner
  const places = concurrencyLimits()
  for (let other = 1; other <= 512; other++) places.bookings.acquire(partner.id + other)
  const entry: LogEntry[] = []
  const serving = { context, baseUrl, isSandbox: true, places }
  const fetch = withLogEntries(createApp(serving, () => '127.0.0.1').fetch, [
    (sight) => void entry.push(sight),
  ])
  await fetch(request(`${paths.regions}?country_code=CA`, token))
  const cancel = paths.cancel.replace('{id}', '7')
  for (const path of [paths.booking, cancel, `${cancel.slice(0, -1)}?x=1`])
    await fetch(new Request(request(path, token), { method: 'POST', body: '{}' }))
  expect(entry).toMatchObject([
    { partnerId: partner.id, status: 200 },
    { partnerId: partner.id, status: 503, refusedFor: 'overloaded', route: paths.booking },
    ...Array(2).fill({ partnerId: partner.id, status: 503, refusedFor: 'overloaded', route: paths.cancel }),
  ])
})

test('http: a call of a client that is gone stores nothing, because its address is unknown', async () => {
  const { context, baseUrl } = service
  const { token } = service.partner
  const app = createApp({ context, baseUrl, isSandbox: true }, () => goneClient)
  const body = JSON.stringify(booking('gone'))
  const headers = { 'Content-Type': 'application/json' }
  const answer = await app.fetch(
    new Request(request(paths.booking, token), { method: 'POST', body, headers }),
  )
  expect(answer.status).toBe(503)
  expect((await service.get(`${paths.user}?external_user_id=gone`, token)).status).toBe(404)
})

test('http: a call beyond the rate limit gets 429 even under overload', async () => {
  const { context, baseUrl } = service
  const { partner, token } = service.partner
  const places = concurrencyLimits()
  const limited = { ...context, limits: { ...context.limits, reads: perMinute(1) } }
  const app = createApp({ context: limited, baseUrl, isSandbox: true, places }, () => '127.0.0.1')
  const ask = async () => {
    const { status } = await app.fetch(request(`${paths.regions}?country_code=CA`, token))
    return { status, taken: places.reads.inFlight }
  }
  expect(await ask()).toEqual({ status: 200, taken: 0 })
  expect(await ask()).toEqual({ status: 429, taken: 0 })
  while (places.reads.hasRoomFor(partner.id)) places.reads.acquire(partner.id)
  const { inFlight: taken } = places.reads
  expect(await ask()).toEqual({ status: 429, taken })
})

// Runs on SQLite only: on PostgreSQL no commit can happen within one turn of the event loop.
testOfFile(
  'http: a request sees a change that was committed in the same turn of the event loop',
  async () => {
    const { context, baseUrl, storage } = service
    const { partner, token } = service.partner
    const app = createApp(
      { context, baseUrl, isSandbox: true },
      () => '127.0.0.1',
      async () => true,
    )
    const ask = async () => {
      const { status, headers } = await app.fetch(request(`${paths.regions}?country_code=CA`, token))
      return [status, headers.get('x-error-code')]
    }
    expect(await ask()).toEqual([200, null])
    using other = new Database(storage.database)
    const setActive = other.transaction((active: boolean) => {
      other.run('UPDATE partners SET active = ? WHERE id = ?', [active, partner.id])
      other.run("INSERT INTO changes (noun, record_id) VALUES ('partner', ?)", [partner.id])
    })
    const answers = [ask()]
    setActive(false)
    answers.push(ask())
    expect(await Promise.all(answers)).toEqual([
      [200, null],
      [401, 'partner_inactive'],
    ])
  },
)
