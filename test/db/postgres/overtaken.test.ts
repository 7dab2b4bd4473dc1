import { expect, test } from 'bun:test'
import { describeOnPostgres } from '../../support/postgres-databases'
import { endOf, furnish, minutes, nine } from '../furniture'
import { openPostgresPlace } from './place'

describeOnPostgres('submissions at two nodes at once', () => {
  test('of two that want one slot under keys, one is stored and the other is told that it is taken', async () => {
    await using place = await openPostgresPlace()
    const other = await place.openAgain()
    const stores = [place.store, other.store]
    let turn = 0
    const { book } = await furnish({
      ...place,
      store: { ...place.store, submit: (draft) => stores[turn++ % 2]?.submit(draft) as never },
    })
    const ends: string[][] = []
    for (let round = 0; round < 12; round++) {
      const ask = (name: string) =>
        endOf(
          book(`${name}-${round}`, nine + minutes(60 * round), {
            retry: { key: `${name}-${round}`, body: 'sent' },
          }),
        )
      ends.push((await Promise.all(['robin', 'sam'].map(ask))).sort())
    }
    expect(ends).toEqual(ends.map(() => ['slot_unavailable', 'stored']))
  }, 300_000)
})
