import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { booking } from '../support/builders'
import { isLong, printFigure, times } from '../support/long'
import { Operator, type Served } from '../support/operator'

setDefaultTimeout(isLong ? 600_000 : 300_000)

const operator = new Operator()
const file = (name: string) => operator.folder.file(name)
const megabytes = times(6, 320)
let token = ''

/** Adds member rows for the backup to copy. No test decrypts these rows. */
function grow(): void {
  using database = new Database(operator.database)
  const insert = database.query(
    `INSERT INTO members (record_key, partner_id, external_user_id_hash, active, sealed_external_user_id, sealed_profile,
       created_at, updated_at) VALUES (?, 1, randomblob(32), 1, randomblob(60), randomblob(900), 0, 0)`,
  )
  database.transaction(() => {
    for (let row = 0; row < megabytes * 850; row++) insert.run(`filler-${row}`)
  })()
}

beforeAll(async () => {
  await operator.do('init')
  token = await operator.onboard('Lantern', 'North Care')
  await operator.loadDirectory()
  grow()
})
afterAll(() => operator[Symbol.dispose]())

/** Books and searches continuously on some connections. Returns a function that stops and reports. */
function startLoad(service: Served, connections: number) {
  let [isOver, booked] = [false, 0]
  const statuses = new Set<number>()
  const bookingMillis: number[] = []
  const work = async (isBooking: boolean) => {
    while (!isOver) {
      const startedAt = performance.now()
      const { status } = isBooking
        ? await service.post(booking(`m-${booked++}`), token)
        : await service.get('/partners/v1/providers/?region_id=1', token)
      statuses.add(status)
      if (isBooking) bookingMillis.push(performance.now() - startedAt)
      await Bun.sleep(2)
    }
  }
  const working = Array.from({ length: connections }, (_, place) => work(place % 2 === 0))
  return async () => {
    isOver = true
    await Promise.all(working)
    return { booked, statuses: [...statuses].sort(), slowestMillis: Math.max(...bookingMillis) }
  }
}

test('faults: during a backup all bookings and searches succeed, and no booking takes four seconds', async () => {
  await using service = await operator.serve('--bookings-per-minute', 'off', '--reads-per-minute', 'off')
  const stop = startLoad(service, 8)
  await operator.do('backup', file('backup.age'))
  const { booked, statuses, slowestMillis } = await stop()
  printFigure(
    `backup of ${megabytes} MB: ${booked} bookings, the slowest took ${Math.round(slowestMillis)} ms`,
  )
  expect(statuses).toEqual([200, 201])
  // A backup that locked the database for long would delay a booking.
  expect(slowestMillis).toBeLessThan(4_000)
  const key = ['--master-key-file', `${operator.database}.key`]
  const to = ['--to', file('restored.sqlite'), '--yes']
  expect(await operator.do('restore', file('backup.age'), ...to, ...key)).toStartWith('Created the database')
  expect(JSON.parse(await operator.do('request', 'list', '--limit', '10000', '--json'))).toHaveLength(booked)
  await service.stop()
})
