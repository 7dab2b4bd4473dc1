import { expect, test } from 'bun:test'
import type { TakenSlot } from '../../src/domain/ports/directory-feed'
import type { Context } from '../../src/operations/context'
import { listTaken } from '../../src/operations/offer-slots'
import { minutes, nine, provider } from '../domain/values'

const slot = (requestId: number, startsAt: number): TakenSlot => ({
  requestId,
  startsAt,
  endsAt: startsAt + minutes(45),
  localOffsetMinutes: -300,
})
const taken = [slot(1, nine), slot(2, nine + minutes(45))]

const takenAt = (now: number) =>
  listTaken({ directory: { findAnyListing: () => ({ taken }) } } as unknown as Context, provider, now)

test('operations: listTaken includes the slot of a session that has begun, until the session is over', () => {
  expect(takenAt(nine + minutes(45) - 1)).toEqual(taken)
  expect(takenAt(nine + minutes(45))).toEqual(taken.slice(1))
  expect(takenAt(nine + minutes(90))).toEqual([])
})
