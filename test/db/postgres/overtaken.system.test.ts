import { expect, test } from 'bun:test'
import { SQL } from 'bun'
import { slotMillis } from '../../../src/domain/booking-request'
import { eventually } from '../../support/eventually'
import { describeOnPostgres, testOnPostgres } from '../../support/postgres-databases'
import { endOf, fill, minutes, nine, stored, takenOf, versionOf } from '../furniture'
import { openPostgresPlace } from './place'

type Furniture = Awaited<ReturnType<typeof fill>>

describeOnPostgres('submissions at two nodes at once', () => {
  /** How two end that are asked for together, each at another node, in each of twelve rounds. */
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
    ['one slot', 0],
    ['slots that overlap', 44],
  ])(
    'of two that want %s under keys, one is stored and the other is rejected',
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
    'of two people under one key, one is stored and the other is told that it was sent before',
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
  'a booking whose slot another program takes meanwhile is rejected, and one of another slot is stored',
  async () => {
    await using place = await openPostgresPlace()
    const { book, first } = await fill(place)
    const zoe = await stored(book('zoe', nine))
    const version = await versionOf(place)
    const [taken, free] = [nine + minutes(60), nine + minutes(120)]
    // As a node whose commit is under way, which none of the others sees.
    await using node = new SQL(place.url, { max: 1 })
    const move = `UPDATE booking_requests SET starts_at = ${taken}, ends_at = ${taken + slotMillis} WHERE id = ${zoe.id}`
    await node.unsafe(`BEGIN; ${move}`).simple()
    const both = Promise.all([
      endOf(book('robin', taken, { version })),
      endOf(book('sam', free, { version })),
    ])
    const waiting = 'SELECT 1 FROM pg_locks WHERE NOT granted'
    await eventually('them to wait for it', async () => (await node.unsafe(waiting)).length > 0)
    await node.unsafe('COMMIT')
    expect(await both).toEqual(['slot_unavailable', 'stored'])
    expect(await takenOf(place, first)).toEqual([taken, free])
  },
  300_000,
)
