import { expect, test } from 'bun:test'
import { SQL } from 'bun'
import { slotMillis } from '../../../src/domain/booking-request'
import { eventually } from '../../support/eventually'
import { describeOnPostgres, testOnPostgres } from '../../support/postgres-databases'
import { endOf, fill, minutes, nine, stored, takenOf, versionOf } from '../furniture'
import { openPostgresPlace } from './place'

type Furniture = Awaited<ReturnType<typeof fill>>

describeOnPostgres('postgres: concurrent submissions at two nodes', () => {
  /** Runs twelve rounds. Each round submits two requests at the same time, at two nodes. */
  async function endsOfTwo(
    ask: (furniture: Furniture, name: string, round: number) => Promise<unknown>,
  ): Promise<string[][]> {
    await using place = await openPostgresPlace()
    const other = await place.openAgain()
    const stores = [place.store, other.store]
    let turn = 0
    const furniture = await fill({
      ...place,
      store: { ...place.store, submit: (draft) => stores[turn++ % 2]?.submit(draft) as never },
    })
    const ends: string[][] = []
    for (let round = 0; round < 12; round++) {
      const both = ['robin', 'sam'].map((name) => endOf(ask(furniture, `${name}-${round}`, round)))
      ends.push((await Promise.all(both)).sort())
    }
    return ends
  }

  test.each([
    ['the same slot', 0],
    ['overlapping slots', 44],
  ])(
    'of two bookings of %s only one is stored',
    async (_, later) => {
      const ends = await endsOfTwo(({ book }, name, round) => {
        const startsAt = nine + minutes(90 * round + (name === 'sam' ? later : 0))
        return book(name, startsAt, { retry: { key: name, body: 'sent' } })
      })
      expect(ends).toEqual(ends.map(() => ['slot_unavailable', 'stored']))
    },
    300_000,
  )

  testOnPostgres(
    'of two intakes with the same idempotency key only one is stored',
    async () => {
      const ends = await endsOfTwo(({ intake }, name, round) =>
        intake(name, { retry: { key: `key-${round}`, body: name } }),
      )
      expect(ends).toEqual(ends.map(() => ['idempotency_key_reused', 'stored']))
    },
    300_000,
  )
})

testOnPostgres(
  'postgres: a booking is refused only if another process takes the same slot during the booking',
  async () => {
    await using place = await openPostgresPlace()
    const { book, first } = await fill(place)
    const zoe = await stored(book('zoe', nine))
    const version = await versionOf(place)
    const [taken, free] = [nine + minutes(60), nine + minutes(120)]
    await using node = new SQL(place.url, { max: 1 })
    const move = `UPDATE booking_requests SET starts_at = ${taken}, ends_at = ${taken + slotMillis} WHERE id = ${zoe.id}`
    await node.unsafe(`BEGIN; ${move}`).simple()
    const both = Promise.all([
      endOf(book('robin', taken, { version })),
      endOf(book('sam', free, { version })),
    ])
    const waiting = 'SELECT 1 FROM pg_locks WHERE NOT granted'
    await eventually('the booking to wait for a lock', async () => (await node.unsafe(waiting)).length > 0)
    await node.unsafe('COMMIT')
    expect(await both).toEqual(['slot_unavailable', 'stored'])
    expect(await takenOf(place, first)).toEqual([taken, free])
  },
  300_000,
)
