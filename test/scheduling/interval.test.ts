import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { contains, type Interval, Reach, touches } from '../../src/scheduling/interval'
import { times } from '../support/long'

const intervals = fc.array(
  fc
    .tuple(
      fc.integer({ min: -300, max: 300 }),
      fc.oneof(fc.integer({ min: 0, max: 200 }), fc.constant(Infinity)),
    )
    .map(([start, length]) => ({ start, end: start + length })),
  { maxLength: 8 },
)
const asked = fc
  .tuple(fc.array(fc.integer({ min: -350, max: 550 }), { maxLength: 20 }), fc.integer({ min: 1, max: 60 }))
  .map(([starts, length]) =>
    starts.sort((a, b) => a - b).map((start): Interval => ({ start, end: start + length })),
  )

test('scheduling: Reach finds whether any of its intervals overlaps a given interval', () => {
  fc.assert(
    fc.property(intervals, asked, (intervals, asked) => {
      const reach = new Reach(intervals)
      expect(asked.map(({ start, end }) => reach.before(end) > start)).toEqual(
        asked.map((inner) => intervals.some((interval) => touches(interval, inner))),
      )
    }),
    { numRuns: times(500, 100_000) },
  )
})

test('scheduling: Reach finds whether a given interval lies within one of its intervals', () => {
  fc.assert(
    fc.property(intervals, asked, (intervals, asked) => {
      const reach = new Reach(intervals)
      expect(asked.map(({ start, end }) => reach.before(start + 1) >= end)).toEqual(
        asked.map((inner) => intervals.some((interval) => contains(interval, inner))),
      )
    }),
    { numRuns: times(500, 100_000) },
  )
})

test('scheduling: Reach reads each interval only a few times during ascending queries', () => {
  let looks = 0
  const counted = Array.from({ length: 1_000 }, (_, index) => ({
    get start() {
      looks++
      return index * 60
    },
    end: index * 60 + 45,
  }))
  const reach = new Reach(counted)
  for (let instant = 0; instant < 60_000; instant += 10) reach.before(instant)
  expect(looks).toBeLessThanOrEqual(1_000 + 1_000 + 6_000)
})
