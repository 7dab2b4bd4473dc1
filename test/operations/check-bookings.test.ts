import { expect, test } from 'bun:test'
import type { TakenSlot } from '../../src/domain/ports/directory-feed'
import {
  acknowledgeShift,
  countShiftedBookings,
  listShiftedBookings,
} from '../../src/operations/check-bookings'
import type { Context } from '../../src/operations/context'
import { builtInZones } from '../../src/zones/packed'
import { act, booking, member, minutes, nine, provider } from '../domain/values'
import { factsStore } from '../support/facts-store'

const zones = builtInZones()

const slot = (requestId: number, startsAt: number, localOffsetMinutes: number): TakenSlot => ({
  requestId,
  startsAt,
  endsAt: startsAt + minutes(45),
  localOffsetMinutes,
})

/** One provider in Toronto: the clock was to be four hours behind at the first of two booked times, and five at both it is. */
function recordsOf() {
  const taken = [slot(booking.id, nine, -240), slot(booking.id + 1, nine + minutes(45), -300)]
  const listing = {
    provider,
    calendar: { schedule: { zone: zones.find(provider.timeZone) } },
    taken,
  }
  const store = factsStore({
    requests: {
      find: (id) => ({ ...booking, id }),
      slotsBetween: (from) =>
        taken
          .filter(({ startsAt }) => startsAt >= from)
          .map((slot) => ({ ...slot, providerId: provider.id })),
    },
    directory: { findProviders: () => ({ providers: [provider], unreadable: [] }) },
  })
  const context = {
    directory: {
      listProviders: () => [provider],
      findAnyListing: () => listing,
      catchUp: () => undefined,
    },
    store,
  } as unknown as Context
  return { context, written: store.written }
}

test('a booked time at which the clock will show another is told until it has come', async () => {
  const { context } = recordsOf()
  expect(await listShiftedBookings(context, zones, nine - 1)).toEqual([
    {
      requestId: booking.id,
      provider,
      member,
      from: 'Wed 2026-12-02 05:00',
      to: 'Wed 2026-12-02 04:00',
    },
  ])
  expect(await listShiftedBookings(context, zones, nine)).toEqual([])
  expect(await countShiftedBookings(context, zones, nine - 1)).toBe(1)
  expect(await countShiftedBookings(context, zones, nine)).toBe(0)
})

test('it is acknowledged as the clock will show it, and what has not moved is not', async () => {
  const { context, written } = recordsOf()
  await acknowledgeShift(context, booking.id, act)
  const acknowledged = { set: 'request', id: booking.id, to: { localOffsetMinutes: -300 } }
  expect(written).toEqual([[act, [acknowledged]]] as never)
  await expect(acknowledgeShift(context, booking.id + 1, act)).rejects.toMatchObject({ kind: 'move_unknown' })
  expect(written).toHaveLength(1)
})
