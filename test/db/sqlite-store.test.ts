import { Database } from 'bun:sqlite'
import { describe, expect, test } from 'bun:test'
import { act, everything, furnish } from './furniture'
import { storeDoesWhatTheOperatorAsks } from './operator.contract'
import { openPlace } from './place'
import { storeKnowsRetries } from './retries.contract'
import { storeKeepsItsPromises } from './store.contract'

describe('the Store on SQLite', () => {
  storeKeepsItsPromises(openPlace)
  storeDoesWhatTheOperatorAsks(openPlace)
  storeKnowsRetries(openPlace)
})

test('the record of changes does not grow for ever: 10,000 are kept, and who is further behind reads everything', async () => {
  await using place = await openPlace()
  const { organization } = await furnish(place)
  const { version } = await everything(place)
  using database = new Database(place.path)
  const kept = () => database.query('SELECT version FROM changes WHERE version > 9000').values().flat()
  const changeNumbered = async (number: number) => {
    database.run("UPDATE sqlite_sequence SET seq = ? WHERE name = 'changes'", [number - 1])
    await place.store.setOrganizationActive(organization.id, true, act)
  }
  for (const number of [10_000, 10_001]) await changeNumbered(number)
  expect(kept()).toEqual([10_000, 10_001])
  expect(await place.feed.changesSince(version, 0)).toMatchObject({ regions: null, providers: [] })
  await changeNumbered(20_000)
  expect(kept()).toEqual([10_001, 20_000])
  expect(await place.feed.changesSince(version, 0)).toEqual(await everything(place))
})
