import { expect } from 'bun:test'
import { connect, createServer, type Socket } from 'node:net'
import { describeOnPostgres, testOnPostgres } from '../../support/postgres-databases'
import { fill, minutes, nine, stored, versionOf } from '../furniture'
import { openPostgresPlace } from './place'

const delayMillis = 10

/** A proxy in front of a server. It delays both directions and counts the round trips of each connection. */
async function delayingProxy(port: number) {
  const trips = new Map<Socket, number>()
  const server = createServer((client) => {
    const upstream = connect(port, '127.0.0.1')
    let isAsking = false
    client.on('data', (data) => {
      if (!isAsking) trips.set(client, (trips.get(client) ?? 0) + 1)
      isAsking = true
      setTimeout(() => upstream.write(data), delayMillis)
    })
    upstream.on('data', (data) => {
      isAsking = false
      setTimeout(() => client.write(data), delayMillis)
    })
    client.on('close', () => upstream.destroy()).on('error', () => upstream.destroy())
    upstream.on('close', () => client.destroy()).on('error', () => client.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as { port: number }).port,
    trips,
    [Symbol.dispose]: () => void server.close(),
  }
}

describeOnPostgres('postgres: a slow network', () => {
  testOnPostgres('a booking takes three round trips', async () => {
    await using place = await openPostgresPlace()
    const url = new URL(place.url)
    using proxy = await delayingProxy(Number(url.port))
    url.port = `${proxy.port}`
    const { store } = await place.openAgain(url.href)
    const { book } = await fill({ ...place, store })
    const version = await versionOf(place)
    const trips: number[] = []
    for (let count = 0; count < 5; count++) {
      proxy.trips.clear()
      const retry = { key: `key-${count}`, body: 'sent' }
      await stored(book(`robin-${count}`, nine + minutes(60 * count), { version, retry }))
      trips.push(Math.max(...proxy.trips.values()))
    }
    // The first two bookings prepare their statements.
    expect(trips.slice(2)).toEqual([3, 3, 3])
  })
})
