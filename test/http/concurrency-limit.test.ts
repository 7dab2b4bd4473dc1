import { expect, test } from 'bun:test'
import { ConcurrencyLimit } from '../../src/http/admission'

const overloaded = expect.objectContaining({ kind: 'overloaded', retryAfterSeconds: 1 })

function refusalOf(work: () => unknown): unknown {
  try {
    return work()
  } catch (error) {
    return error
  }
}

test('one partner has its share and no more, and leaves the rest to others', () => {
  const places = new ConcurrencyLimit(5, 2)
  places.acquire(1)
  places.acquire(1)
  expect(refusalOf(() => places.acquire(1))).toEqual(overloaded)
  places.acquire(2)
  places.release(1)
  places.acquire(1)
  expect(refusalOf(() => places.acquire(1))).toEqual(overloaded)
})

test('all partners together have so many, and a place that was left is there for whoever comes', () => {
  const places = new ConcurrencyLimit(3, 2)
  for (const partnerId of [1, 1, 2]) places.acquire(partnerId)
  expect(refusalOf(() => places.acquire(3))).toEqual(overloaded)
  places.release(1)
  places.acquire(3)
  expect(refusalOf(() => places.acquire(2))).toEqual(overloaded)
})
