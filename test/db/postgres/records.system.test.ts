import { expect, spyOn, test } from 'bun:test'
import { Connection } from '../../../db/postgres/client/connection'
import { describeOnPostgres } from '../../support/postgres-databases'
import { entry, load, ontario } from '../furniture'
import { openPostgresPlace } from './place'

describeOnPostgres('postgres: loading many providers', () => {
  test('a load of 400 providers has fewer than 250 statements in flight at once', async () => {
    await using place = await openPostgresPlace()
    let [waiting, most] = [0, 0]
    const { run } = Connection.prototype
    const sent = spyOn(Connection.prototype, 'run').mockImplementation(async function (
      this: Connection,
      ...statement
    ) {
      most = Math.max(most, ++waiting)
      return run.apply(this, statement).finally(() => waiting--)
    })
    const refs = Array.from({ length: 400 }, (_, index) => `on-${index}`)
    await load(
      place,
      [ontario],
      refs.map((ref) => entry(ref)),
    )
    sent.mockRestore()
    expect(most).toBeLessThan(250)
  })
})
