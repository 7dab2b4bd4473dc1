import { Database } from 'bun:sqlite'
import { describe, expect, test } from 'bun:test'
import { Writer } from '../../db/sqlite/writer'
import { millisOf } from '../support/standstill'

describe('between two groups', () => {
  const busyFor = (millis: number) => {
    for (const until = performance.now() + millis; performance.now() < until; );
  }

  test('whoever has something else to do has as much of the time as the writes', async () => {
    using database = new Database(':memory:')
    const writer = new Writer(database)
    const groups = 20
    let written = 0
    let turns = 0
    // Each is asked for again as soon as it is done, as by a client that goes on and on.
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
    // Of 25 each; taking turns with the writes it would be one.
    expect(turns / groups).toBeGreaterThan(5)
  })

  test('nobody waits where nothing else is to be done', async () => {
    using database = new Database(':memory:')
    const writer = new Writer(database)
    await writer.write(() => busyFor(300))
    expect(await millisOf(() => writer.write(() => {}))).toBeLessThan(150)
  })
})
