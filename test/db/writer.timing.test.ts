import { Database } from 'bun:sqlite'
import { describe, expect, test } from 'bun:test'
import { Writer } from '../../db/sqlite/writer'
import { millisOf } from '../support/standstill'

describe('db: fairness of the SQLite writer', () => {
  const busyFor = (millis: number) => {
    for (const until = performance.now() + millis; performance.now() < until; );
  }

  test('other tasks get as much time as the groups of writes', async () => {
    using database = new Database(':memory:')
    const writer = new Writer(database)
    const groups = 20
    let written = 0
    let turns = 0
    // Sends each write as soon as the previous write is done.
    const write = async () => {
      for (; written < groups; written++) await writer.write(() => busyFor(5))
    }
    const writing = write()
    while (written < groups) {
      await new Promise((resolve) => setImmediate(resolve))
      busyFor(0.2)
      turns++
    }
    await writing
    expect(turns / groups).toBeGreaterThan(5)
  })

  test('a write does not wait if nothing else is running', async () => {
    using database = new Database(':memory:')
    const writer = new Writer(database)
    await writer.write(() => busyFor(300))
    expect(await millisOf(() => writer.write(() => {}))).toBeLessThan(150)
  })
})
