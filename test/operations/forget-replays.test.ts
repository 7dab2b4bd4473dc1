import { expect, test } from 'bun:test'
import type { Context } from '../../src/operations/context'
import { forgetReplays } from '../../src/operations/maintenance'
import { now } from '../domain/values'
import { factsStore } from '../support/facts-store'

test('operations: expired replays are removed in batches of a hundred, and one batch is read at a time', async () => {
  const kept = Array.from({ length: 250 }, (_, index) => index + 1)
  const asked: [until: number, most: number][] = []
  const removed = () => store.written.flatMap(([, writes]) => writes)
  const submittedBy = (until: number, most: number) => {
    asked.push([until, most])
    return kept.slice(removed().length).slice(0, most)
  }
  const store = factsStore({ replays: { submittedBy } })
  let rounds = 0
  const maintenance = { forgetChanges: async () => void rounds++ }
  const context = { store, maintenance, clock: { now: () => now } } as unknown as Context
  await forgetReplays(context, new AbortController().signal)
  expect(rounds).toBe(1)
  expect(removed()).toEqual(kept.map((id) => ({ remove: 'replay', id })))
  expect(asked).toEqual(Array(6).fill([now - 86_400_000, 100]))
})
