import type { Directory } from '../directory/directory'
import { type Listing, localOffsetAt } from '../directory/listing'
import type { Act } from '../domain/audit'
import type { RequestRecord } from '../domain/booking-request'
import type { DirectoryComparison } from '../domain/decisions/compare-directory'
import { decideAcknowledgement } from '../domain/decisions/transitions'
import { Refusal } from '../domain/errors'
import type { TakenSlot } from '../domain/ports/directory-feed'
import { isWorking, type Provider } from '../domain/provider'
import { minuteMillis } from '../scheduling/calendar'
import { type Absence, sessionObstacleAt } from '../scheduling/obstacle'
import { formatLocal, offsetAt, type TimeZone } from '../scheduling/time-zone'
import { type Context, type Records, thenShow } from './context'
import { readProviders, requireRequest } from './find-records'
import type { Clocks } from './members'

export type AbsenceReason = 'provider_suspended' | 'provider_deactivated' | Absence['step']

/**
 * Returns the reason why a provider cannot hold a session at `startsAt` (ms), or null. If `startsAt` is null, checks only
 * that the provider is active.
 */
function absenceAt(
  { provider, calendar, licenses }: Listing,
  isActive: (regionId: number) => boolean,
  startsAt: number | null,
): AbsenceReason | null {
  if (!isWorking(provider)) return provider.suspended ? 'provider_suspended' : 'provider_deactivated'
  if (startsAt === null) return null
  const licensed = licenses.filter(({ regionId }) => isActive(regionId)).map(({ interval }) => interval)
  return sessionObstacleAt(calendar, licensed, startsAt / minuteMillis)?.step ?? null
}

/** A future session that the provider cannot hold. The session stays booked. */
export type UnavailableBooking = ReturnType<typeof describeBooking>

/** Returns the future sessions that a provider cannot hold, sorted by provider and time. @param now ms */
export function listUnavailableBookings({ directory }: Context, now: number): UnavailableBooking[] {
  return directory.listProviders().flatMap(({ id }) => {
    const listing = directory.findAnyListing(id)
    const coming = listing?.taken.filter(({ startsAt }) => startsAt > now) ?? []
    return coming.flatMap((slot) => {
      const reason = absenceAt(listing as Listing, isActiveIn(directory), slot.startsAt)
      return reason ? describeBooking(listing as Listing, slot, reason) : []
    })
  })
}

/** Returns the reason why a provider cannot hold a request's future session, or null. @param now ms */
export function absenceOfRequest(
  { directory }: Context,
  { providerId, startsAt }: RequestRecord,
  now: number,
): AbsenceReason | null {
  const listing = providerId === null ? null : directory.findAnyListing(providerId)
  if (!listing || (startsAt !== null && startsAt <= now)) return null
  return absenceAt(listing, isActiveIn(directory), startsAt)
}

function isActiveIn(directory: Directory) {
  return (regionId: number) => directory.findRegion(regionId) !== null
}

/** Returns the bookings that a directory load would make impossible. Omits sessions that are over. @param now ms */
export function listDisplacedBookings({ directory }: Context, { changes }: DirectoryComparison, now: number) {
  const regions = directory.listAllRegions()
  const changed = changes.flatMap((change) => (change.noun === 'region' ? change.after : []))
  const [open, openAfter] = [activeIds(regions), activeIds([...regions, ...changed])]
  const areRegionsLost = open.difference(openAfter).size > 0
  const providers = new Map(
    changes.flatMap((change) => (change.noun === 'provider' ? [[change.after.id, change.after]] : [])),
  )
  return directory.listProviders().flatMap((provider) => {
    const after = providers.get(provider.id) ?? (areRegionsLost ? provider : null)
    const listing = after && directory.findAnyListing(provider.id)
    const taken = listing?.taken.filter(({ endsAt }) => endsAt > now) ?? []
    // Most providers have no bookings, so only the others are compiled.
    const listed = taken.length > 0 ? directory.asListed(after as Provider) : null
    if (!listing || !listed) return []
    return taken.flatMap((slot) => {
      const reason = absenceAt(listed, (id) => openAfter.has(id), slot.startsAt)
      return reason && !absenceAt(listing, (id) => open.has(id), slot.startsAt)
        ? describeBooking(listed, slot, reason)
        : []
    })
  })
}

/** Returns the ids of active regions. If a region is listed twice, the last entry counts. */
function activeIds(regions: readonly { readonly id: number; readonly active: boolean }[]): Set<number> {
  const states = new Map(regions.map(({ id, active }) => [id, active]))
  return new Set([...states.keys()].filter((id) => states.get(id)))
}

/** `local` is the provider's time, for example `Tue 2026-12-01 09:00`. */
function describeBooking(
  { provider, calendar }: Listing,
  { requestId, startsAt }: TakenSlot,
  reason: AbsenceReason,
) {
  const { zone } = calendar.schedule
  const local = formatLocal(zone, startsAt / minuteMillis)
  return { requestId, provider: provider.ref, startsAt, local, timeZone: zone.name, reason }
}

/** A future session with its local time as booked (`from`), and its current local time (`to`). */
export type ShiftedBooking = Awaited<ReturnType<typeof describeShifted>>

/** Returns the future bookings with a changed local time, after a change of zone data or time zone. @param now ms */
export async function listShiftedBookings(context: Records, clocks: Clocks, now: number) {
  const moved = await movedSlots(context, clocks, now)
  return Promise.all(moved.map((slot) => describeShifted(context, slot)))
}

/** Counts the future bookings with a changed local time. @param now ms */
export async function countShiftedBookings(records: Records, clocks: Clocks, now: number): Promise<number> {
  return (await movedSlots(records, clocks, now)).length
}

async function movedSlots(records: Records, clocks: Clocks, now: number) {
  const { store } = records
  const coming = await store.read(({ requests }) => requests.slotsBetween(now + 1, Number.MAX_SAFE_INTEGER))
  const { providers } = await readProviders(records, coming)
  const known = new Map(providers.map((provider) => [provider.id, provider]))
  return coming.flatMap((slot) => {
    const provider = known.get(slot.providerId)
    const zone = provider && clocks.find(provider.timeZone)
    return provider && zone && isShifted(zone, slot) ? { slot, provider, zone } : []
  })
}

/**
 * Records that staff know the new local time of a booking.
 * @throws Refusal record_unknown, or move_unknown if the local time has not changed
 */
export async function acknowledgeShift(context: Context, requestId: number, act: Act): Promise<void> {
  const { directory, store } = context
  const { providerId } = await requireRequest(context, requestId)
  const listing = providerId === null ? null : directory.findAnyListing(providerId)
  const slot = listing?.taken.find((taken) => taken.requestId === requestId)
  if (!listing || !slot || !isShifted(listing.calendar.schedule.zone, slot)) {
    throw new Refusal('move_unknown', 'the request has no slot with a changed local time')
  }
  const acknowledged = store.change(
    act,
    ({ requests }) => [requests.find(requestId)],
    (request) => decideAcknowledgement(request, localOffsetAt(listing, slot.startsAt)),
  )
  await thenShow(context, acknowledged)
}

function isShifted(zone: TimeZone, { startsAt, localOffsetMinutes }: TakenSlot): boolean {
  return offsetAt(zone, startsAt / minuteMillis) !== localOffsetMinutes
}

async function describeShifted(
  records: Records,
  { slot, provider, zone }: Awaited<ReturnType<typeof movedSlots>>[number],
) {
  const { requestId, startsAt, localOffsetMinutes } = slot
  const expected = { ...zone, transitions: [], offsets: [localOffsetMinutes] }
  return {
    requestId,
    provider,
    /** Null if the member was erased. */
    member: (await requireRequest(records, requestId)).member,
    from: formatLocal(expected, startsAt / minuteMillis),
    to: formatLocal(zone, startsAt / minuteMillis),
  }
}
