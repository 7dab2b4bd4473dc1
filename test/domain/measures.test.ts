import { expect, test } from 'bun:test'
import { Distribution, durationBounds } from '../../src/domain/measures'

test('domain: a value is counted in the first bucket with an equal or higher bound, or in the last bucket', () => {
  const spread = new Distribution([1, 10])
  for (const measure of [0, 1, 1.5, 10, 10.5, 400]) spread.note(measure)
  expect([spread.counts, spread.sum]).toEqual([[2, 2, 2], 423])
})

test('domain: the duration buckets range from 0.1 ms to 10 s', () => {
  expect([durationBounds[0], durationBounds.at(-1)]).toEqual([0.1, 10_000])
  expect(durationBounds).toEqual(durationBounds.toSorted((a, b) => a - b))
})
