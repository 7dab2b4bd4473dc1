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

test('http: the concurrency limit refuses a partner beyond its share and leaves room for others', () => {
  const places = new ConcurrencyLimit(5, 2)
  places.acquire(1)
  places.acquire(1)
  expect(refusalOf(() => places.acquire(1))).toEqual(overloaded)
  places.acquire(2)
  places.release(1)
  places.acquire(1)
  expect(refusalOf(() => places.acquire(1))).toEqual(overloaded)
})

test('http: the concurrency limit of all partners together has room again after a release', () => {
  const places = new ConcurrencyLimit(3, 2)
  for (const partnerId of [1, 1, 2]) places.acquire(partnerId)
  expect(refusalOf(() => places.acquire(3))).toEqual(overloaded)
  places.release(1)
  places.acquire(3)
  expect(refusalOf(() => places.acquire(2))).toEqual(overloaded)
})
