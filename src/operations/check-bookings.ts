import { type Listing, localOffsetAt } from '../directory/directory'
import type { Act } from '../domain/audit'
import { decideAcknowledgement } from '../domain/decide-move'
import type { TakenSlot } from '../domain/directory-feed'
import { Refusal } from '../domain/errors'
import type { Member } from '../domain/member'
import type { Provider } from '../domain/provider'
import { minuteMillis } from '../scheduling/calendar'
import { formatLocal } from '../scheduling/time-zone'
import { type Context, thenShow } from './context'
import { requireRequest } from './find-records'

/** A booked time that the provider's clock will show otherwise than it was to be. */
export interface MovedBooking {
  readonly requestId: number
  readonly provider: Provider
  /** Null once the person has been erased. */
  readonly member: Member | null
  /** As `Tue 2026-12-01 09:00`: what the provider's clock was to show, and what it will. */
  readonly from: string
  readonly to: string
}

/**
 * The bookings after `now` (ms) at which the provider's clock will not show what it was to show when the slot was taken:
 * zone data has changed since, or the provider's zone.
 */
export function listMovedBookings(context: Context, now: number): Promise<MovedBooking[]> {
  const moved = [...movedSlots(context, now)]
  return Promise.all(moved.map(({ listing, slot }) => describe(context, listing, slot)))
}

/** How many those are. */
export function countMovedBookings(context: Context, now: number): number {
  return [...movedSlots(context, now)].length
}

function* movedSlots({ directory }: Context, now: number) {
  for (const { id } of directory.listProviders()) {
    const listing = directory.findAnyListing(id)
    for (const slot of listing?.taken ?? []) {
      if (listing && slot.startsAt > now && isMoved(listing, slot)) yield { listing, slot }
    }
  }
}

/**
 * Notes that those concerned know what the provider's clock will show at a booked time.
 *
 * @throws Refusal record_unknown, or move_unknown where the time is what it was to be
 */
export async function acknowledgeMove(context: Context, requestId: number, act: Act): Promise<void> {
  const { directory, store } = context
  const { providerId } = await requireRequest(context, requestId)
  const listing = providerId === null ? null : directory.findAnyListing(providerId)
  const slot = listing?.taken.find((taken) => taken.requestId === requestId)
  if (!listing || !slot || !isMoved(listing, slot)) {
    throw new Refusal('move_unknown', 'the request holds no slot whose local time has changed')
  }
  const acknowledged = store.change(
    act,
    ({ requests }) => [requests.find(requestId)],
    (request) => decideAcknowledgement(request, localOffsetAt(listing, slot.startsAt)),
  )
  await thenShow(context, acknowledged)
}

function isMoved(listing: Listing, { startsAt, localOffsetMinutes }: TakenSlot): boolean {
  return localOffsetAt(listing, startsAt) !== localOffsetMinutes
}

async function describe(context: Context, listing: Listing, slot: TakenSlot): Promise<MovedBooking> {
  const { requestId, startsAt, localOffsetMinutes } = slot
  const { zone } = listing.calendar.schedule
  const expected = { ...zone, transitions: [], offsets: [localOffsetMinutes] }
  return {
    requestId,
    provider: listing.provider,
    member: (await requireRequest(context, requestId)).member,
    from: formatLocal(expected, startsAt / minuteMillis),
    to: formatLocal(zone, startsAt / minuteMillis),
  }
}
