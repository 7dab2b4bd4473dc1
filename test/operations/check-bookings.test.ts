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

/**
 * A provider in Toronto with two bookings. The first booking was stored with the offset UTC-4, the second
 * with UTC-5. With the current zone data, both offsets are UTC-5.
 */
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
          .map((slot) => ({ ...slot, memberId: 1, providerId: provider.id })),
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

test('operations: a booking whose local time has changed is listed until it begins', async () => {
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

test('operations: acknowledging a changed local time stores the new offset, and is refused if nothing changed', async () => {
  const { context, written } = recordsOf()
  await acknowledgeShift(context, booking.id, act)
  const acknowledged = { set: 'request', id: booking.id, to: { localOffsetMinutes: -300 } }
  expect(written).toEqual([[act, [acknowledged]]] as never)
  await expect(acknowledgeShift(context, booking.id + 1, act)).rejects.toMatchObject({ kind: 'move_unknown' })
  expect(written).toHaveLength(1)
})
