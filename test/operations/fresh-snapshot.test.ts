import { expect, test } from 'bun:test'
import { type Context, decideOnFreshSnapshot } from '../../src/operations/context'

/** Runs a decision whose first `stale` attempts return 'stale'. Every reading of the directory fails. */
async function decideAfter(stale: number) {
  let readings = 0
  const catchUp = () => {
    readings++
    return Promise.reject(new Error('the database cannot be read'))
  }
  const rounds: number[] = []
  const attempt = async (round: number) => {
    rounds.push(round)
    return round < stale ? 'stale' : 'decided'
  }
  const context = { directory: { catchUp } } as unknown as Context
  const end = await decideOnFreshSnapshot(context, attempt).catch(({ kind }) => kind)
  return { end, rounds, readings }
}

test('operations: a stale decision is repeated, up to ten attempts in total', async () => {
  const rounds = Array.from({ length: 10 }, (_, round) => round)
  expect(await decideAfter(0)).toEqual({ end: 'decided', rounds: [0], readings: 1 })
  expect(await decideAfter(9)).toEqual({ end: 'decided', rounds, readings: 10 })
  expect(await decideAfter(10)).toEqual({ end: 'storage_busy', rounds, readings: 10 })
})
