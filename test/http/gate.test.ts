import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createApp } from '../../src/http/app'
import { placesInFlight } from '../../src/http/places'
import { type Seen, watched } from '../../src/http/seen'
import { paths } from '../contract/contract'
import { testOfFile } from '../support/engine'
import { startService } from '../support/service'

let service: Awaited<ReturnType<typeof startService>>
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.stop())

test("a booking for which there is no place is seen as its partner's, and its reason told", async () => {
  const { context, baseUrl } = service
  const { partner, token } = service.partner
  const places = placesInFlight()
  for (let other = 1; other <= 512; other++) places.bookings.take(partner.id + other)
  const seen: Seen[] = []
  const serving = { context, baseUrl, isSandbox: true, places }
  const fetch = watched(createApp(serving, () => '127.0.0.1').fetch, [(sight) => void seen.push(sight)])
  const headers = { Authorization: `Bearer ${token}` }
  // A token is recognized where it was verified before.
  await fetch(new Request(`${baseUrl}${paths.regions}?country_code=CA`, { headers }))
  await fetch(new Request(`${baseUrl}${paths.booking}`, { method: 'POST', headers, body: '{}' }))
  expect(seen).toMatchObject([
    { partnerId: partner.id, status: 200 },
    { partnerId: partner.id, status: 503, refusedFor: 'overloaded', route: paths.booking },
  ])
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
      const request = new Request(`${baseUrl}${paths.regions}?country_code=CA`, {
        headers: { Authorization: `Bearer ${token}` },
      })
      const { status, headers } = await app.fetch(request)
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
