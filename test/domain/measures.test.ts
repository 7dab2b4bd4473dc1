import { expect, test } from 'bun:test'
import { Distribution, durationBounds } from '../../src/domain/measures'

test('a measure is counted at the first bound that it does not lie above, and beyond all at the end', () => {
  const spread = new Distribution([1, 10])
  for (const measure of [0, 1, 1.5, 10, 10.5, 400]) spread.note(measure)
  expect([spread.counts, spread.sum]).toEqual([[2, 2, 2], 423])
})

test('durations are told apart from a tenth of a millisecond to ten seconds', () => {
  expect([durationBounds[0], durationBounds.at(-1)]).toEqual([0.1, 10_000])
  expect(durationBounds).toEqual(durationBounds.toSorted((a, b) => a - b))
})
