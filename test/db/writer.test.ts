import { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import { Writer } from '../../db/sqlite/writer'
import { act } from './furniture'
import { openPlace, openTestEngine } from './place'

test('many writes are several transactions, and others are answered between any two', async () => {
  using database = new Database(':memory:')
  const writer = new Writer(database, () => {})
  let written = 0
  const writes = Array.from({ length: 500 }, () => writer.write(() => ++written))
  const steps: number[] = []
  for (let before = 0; written < writes.length; ) {
    await new Promise((resolve) => setImmediate(resolve))
    steps.push(written - before)
    before = written
  }
  expect(await Promise.all(writes)).toEqual(writes.map((_, index) => index + 1))
  expect(Math.max(...steps)).toBeLessThanOrEqual(128)
})

test('an engine that is closed writes first what was asked for by whoever is gone', async () => {
  await using place = await openPlace()
  const engine = openTestEngine(`${place.path}-other`)
  const writes = Array.from({ length: 200 }, (_, index) =>
    engine.store.addPartner(`Partner ${index}`, null, act),
  )
  await engine.close()
  expect((await Promise.allSettled(writes)).filter(({ status }) => status === 'rejected')).toEqual([])
  const again = openTestEngine(`${place.path}-other`)
  expect(await again.store.listPartners()).toHaveLength(200)
  await again.close()
})
