import { Database } from 'bun:sqlite'
import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { followUpContract } from './follow-up.contract'
import { act, entry, everything, fill, load, minutes, now, ontario, stored } from './furniture'
import { operatorContract } from './operator.contract'
import { openPlace } from './place'
import { retriesContract } from './retries.contract'
import { bookingFeedContract, storeContract } from './store.contract'

describe('db: SQLite store', () => {
  storeContract(openPlace)
  bookingFeedContract(openPlace)
  operatorContract(openPlace)
  retriesContract(openPlace)
  followUpContract(openPlace, async ({ path }) => {
    using database = new Database(path, { readonly: true })
    return database.query('SELECT * FROM unread_risks').values().flat()
  })
})

test('db: a reader that missed more than 10,000 changes gets the complete directory', async () => {
  await using place = await openPlace()
  const { organization } = await fill(place)
  const { version } = await everything(place)
  using database = new Database(place.path)
  const kept = () => database.query('SELECT version FROM changes WHERE version > 9000').values().flat()
  const changeNumbered = async (number: number) => {
    database.run("UPDATE sqlite_sequence SET seq = ? WHERE name = 'changes'", [number - 1])
    await place.store.setOrganizationActive(organization.id, true, act)
  }
  for (const number of [10_000, 10_001]) await changeNumbered(number)
  await place.maintenance?.forgetChanges()
  expect(kept()).toEqual([10_000, 10_001])
  expect(await place.feed.changesSince(version, 0)).toMatchObject({ regions: null, providers: [] })
  await changeNumbered(20_000)
  await place.maintenance?.forgetChanges()
  expect(kept()).toEqual([10_001, 20_000])
  expect(await place.feed.changesSince(version, 0)).toEqual(await everything(place))
})

test('db: reading a large directory yields to the event loop', async () => {
  await using place = await openPlace()
  const entries = Array.from({ length: 1_200 }, (_, index) => entry(`p-${index}`))
  await load(place, [ontario], entries)
  let turns = 0
  let isDone = false
  const count = () => {
    turns++
    if (!isDone) setImmediate(count)
  }
  setImmediate(count)
  const { providers, taken } = await everything(place)
  isDone = true
  expect(turns).toBeGreaterThanOrEqual(2 * Math.floor(1_200 / 500))
  expect(providers.map(({ ref }) => ref)).toEqual(entries.map(({ ref }) => ref))
  expect([taken.size, new Set(taken.values()).size]).toEqual([1_200, 1])
  for (const name of ['languagesSpoken', 'modalities', 'workingHours', 'licenses'] as const) {
    expect(new Set(providers.map((provider) => provider[name])).size).toBe(1)
  }
})

test('db: expired receipts for retries, and those of erased members, are overwritten in the file', async () => {
  await using place = await openPlace()
  const { store, maintenance, path } = place
  const { intake } = await fill(place)
  const { member } = await stored(intake('erased', { retry: { key: 'one', body: '' } }))
  await stored(intake('expired', { retry: { key: 'two', body: '' } }))
  using database = new Database(path)
  const kept = database
    .query<{ sealed: Uint8Array }, []>('SELECT sealed_receipt AS sealed FROM replays')
    .all()
  const traces = () => {
    const files = Buffer.concat([path, `${path}-wal`].map((name) => readFileSync(name)))
    return kept.filter(({ sealed }) => files.includes(sealed)).length
  }
  expect(traces()).toBe(2)
  await store.eraseMember(member.id, act)
  expect(await maintenance?.purge()).toBe(true)
  expect(traces()).toBe(1)
  expect(await store.forgetReplays(now + minutes(24 * 60), 9)).toBe(1)
  await maintenance?.purge()
  expect(traces()).toBe(0)
})

test('db: hashes of idempotency keys and bodies cannot be compared between partners or keys', async () => {
  await using place = await openPlace()
  const { store, path } = place
  const { intake } = await fill(place)
  const other = await store.addPartner('Willow', null, act)
  const retry = { key: 'one', body: 'the same' }
  await stored(intake('robin', { retry }))
  await stored(intake('robin', { retry: { ...retry, key: 'two' } }))
  await stored(intake('kim', { retry, partnerId: other.id }))
  using database = new Database(path)
  const hashes = database
    .query<{ hash: string }, []>(
      'SELECT hex(key_hash) AS hash FROM replays UNION ALL SELECT hex(body_hash) FROM replays',
    )
    .all()
  expect(new Set(hashes.map(({ hash }) => hash)).size).toBe(6)
})
