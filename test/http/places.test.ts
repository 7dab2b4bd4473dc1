import { expect, test } from 'bun:test'
import { Places } from '../../src/http/admission'

const overloaded = expect.objectContaining({ kind: 'overloaded', retryAfterSeconds: 1 })

function refusalOf(work: () => unknown): unknown {
  try {
    return work()
  } catch (error) {
    return error
  }
}

test('one partner has its share and no more, and leaves the rest to others', () => {
  const places = new Places(5, 2)
  places.take(1)
  places.take(1)
  expect(refusalOf(() => places.take(1))).toEqual(overloaded)
  places.take(2)
  places.leave(1)
  places.take(1)
  expect(refusalOf(() => places.take(1))).toEqual(overloaded)
})

test('all partners together have so many, and a place that was left is there for whoever comes', () => {
  const places = new Places(3, 2)
  for (const partnerId of [1, 1, 2]) places.take(partnerId)
  expect(refusalOf(() => places.take(3))).toEqual(overloaded)
  places.leave(1)
  places.take(3)
  expect(refusalOf(() => places.take(2))).toEqual(overloaded)
})
