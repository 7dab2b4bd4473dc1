import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { perMinute } from '../../src/domain/limits'
import { placesInFlight } from '../../src/http/admission'
import { createApp } from '../../src/http/app'
import { type Seen, watched } from '../../src/http/request-log'
import { paths } from '../contract/contract'
import { testOfFile } from '../support/engine'
import { startService } from '../support/service'

let service: Awaited<ReturnType<typeof startService>>
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.stop())

const request = (path: string, token: string) =>
  new Request(`${service.baseUrl}${path}`, { headers: { Authorization: `Bearer ${token}` } })

test("a booking for which there is no place is seen as its partner's, and its reason told", async () => {
  const { context, baseUrl } = service
  const { partner, token } = service.partner
  const places = placesInFlight()
  for (let other = 1; other <= 512; other++) places.bookings.take(partner.id + other)
  const seen: Seen[] = []
  const serving = { context, baseUrl, isSandbox: true, places }
  const fetch = watched(createApp(serving, () => '127.0.0.1').fetch, [(sight) => void seen.push(sight)])
  // A token is recognized where it was verified before.
  await fetch(request(`${paths.regions}?country_code=CA`, token))
  await fetch(new Request(request(paths.booking, token), { method: 'POST', body: '{}' }))
  expect(seen).toMatchObject([
    { partnerId: partner.id, status: 200 },
    { partnerId: partner.id, status: 503, refusedFor: 'overloaded', route: paths.booking },
  ])
})

test('what is beyond the rate is told so where there is no place either, and holds none', async () => {
  const { context, baseUrl } = service
  const { partner, token } = service.partner
  const places = placesInFlight()
  const limited = { ...context, limits: { ...context.limits, reads: perMinute(1) } }
  const app = createApp({ context: limited, baseUrl, isSandbox: true, places }, () => '127.0.0.1')
  const ask = async () => {
    const { status } = await app.fetch(request(`${paths.regions}?country_code=CA`, token))
    return { status, taken: places.reads.taken }
  }
  expect(await ask()).toEqual({ status: 200, taken: 0 })
  expect(await ask()).toEqual({ status: 429, taken: 0 })
  while (places.reads.hasPlaceFor(partner.id)) places.reads.take(partner.id)
  const { taken } = places.reads
  expect(await ask()).toEqual({ status: 429, taken })
})

// Of what another machine does nothing is committed in one turn.
testOfFile(
  'a request shows what was committed after another of the same turn of the event loop was answered',
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
    // Verifies the token: from then on an answer is there at once.
    expect(await ask()).toEqual([200, null])
    using other = new Database(storage.database)
    const setActive = other.transaction((active: boolean) => {
      other.run('UPDATE partners SET active = ? WHERE id = ?', [active, partner.id])
      other.run("INSERT INTO changes (noun, record_id) VALUES ('partner', ?)", [partner.id])
    })
    // Connections of which all were heard in one turn: a client who has seen one answer may well send the other request.
    const answers = [ask()]
    setActive(false)
    answers.push(ask())
    expect(await Promise.all(answers)).toEqual([
      [200, null],
      [401, 'partner_inactive'],
    ])
  },
)
