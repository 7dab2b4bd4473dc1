import { expect, test } from 'bun:test'
import type { Context } from '../../src/operations/context'
import { forgetReplays } from '../../src/operations/forget-replays'
import { now } from '../domain/values'

test('all that has expired is removed, a hundred at a time, and nothing is asked for beyond it', async () => {
  let left = 250
  const asked: [at: number, most: number][] = []
  const store = {
    async forgetReplays(at: number, most: number) {
      asked.push([at, most])
      const removed = Math.min(left, most)
      left -= removed
      return removed
    },
  }
  const context = { store, clock: { now: () => now } } as unknown as Context
  await forgetReplays(context, new AbortController().signal)
  expect(left).toBe(0)
  expect(asked).toEqual(Array(3).fill([now, 100]))
})
