import { expect, spyOn, test } from 'bun:test'
import { Connection } from '../../../db/postgres/client/connection'
import { describeOnPostgres } from '../../support/postgres-databases'
import { entry, load, ontario } from '../furniture'
import { openPostgresPlace } from './place'

/** The same, told the other way round. */
function turned<Told extends object>(told: Told): Told {
  return Object.fromEntries(Object.entries(told).reverse()) as Told
}

const refs = Array.from({ length: 200 }, (_, index) => `on-${index}`)

describeOnPostgres('a load', () => {
  test('of many providers is few statements, in whichever order a file tells of each', async () => {
    await using place = await openPostgresPlace()
    await load(
      place,
      [ontario],
      refs.map((ref) => entry(ref)),
    )
    const changed = refs.map((ref) => entry(ref, { bio: 'Listens.' }))
    const mixed = changed.map((one, index) => (index % 2 === 0 ? one : turned(one)))
    const sent = spyOn(Connection.prototype, 'run')
    await load(place, [ontario], mixed)
    const updates = sent.mock.calls.filter(([text]) => text.startsWith('update "providers"'))
    sent.mockRestore()
    expect(updates.length).toBe(1)
  })

  test('that changes each provider otherwise lets the server hear of it again and again', async () => {
    await using place = await openPostgresPlace()
    const half = refs.filter((_, index) => index % 2 === 0)
    await load(
      place,
      [ontario],
      half.map((ref) => entry(ref)),
    )
    let [waiting, most] = [0, 0]
    const { run } = Connection.prototype
    const sent = spyOn(Connection.prototype, 'run').mockImplementation(async function (
      this: Connection,
      ...told
    ) {
      most = Math.max(most, ++waiting)
      return run.apply(this, told).finally(() => waiting--)
    })
    await load(
      place,
      [ontario],
      refs.map((ref) => entry(ref, { bio: 'Listens.' })),
    )
    sent.mockRestore()
    expect(most).toBeLessThan(60)
  })
})
