import type { TakenSlot, UnreadableProvider } from '../domain/ports/directory-feed'
import { isWorking, type Provider } from '../domain/provider'
import type { Calendar } from '../scheduling/availability'
import { minuteMillis } from '../scheduling/calendar'
import type { Interval } from '../scheduling/interval'
import { offsetAt, type TimeZone } from '../scheduling/time-zone'
import type { CompiledOnce, LicensedTime } from './compile'

/** A provider as they are listed. Replaced, never changed: what is worked out from one can be kept beside it. */
export interface Listing {
  readonly provider: Provider
  readonly calendar: Calendar
  /** What the calendar has as taken, with the requests that hold it. */
  readonly taken: readonly TakenSlot[]
  readonly licenses: readonly LicensedTime[]
}

/** A provider who is left out of all that partners see, and why. */
export interface UnlistedProvider extends UnreadableProvider {
  readonly fault: string
}

export const nothingTaken: readonly never[] = []

/** Whether whoever finds one of two listings of a provider finds the other. */
export function isFoundAlike(one: Listing, other: Listing): boolean {
  const comparedText = ({ licenses, provider }: Listing) => {
    const { languagesSpoken, modalities, inPersonRegionIds } = provider
    return JSON.stringify([licenses, isWorking(provider), languagesSpoken, modalities, inPersonRegionIds])
  }
  return comparedText(one) === comparedText(other)
}

/** When a provider's licenses of a region hold. */
export function licensesIn(regionId: number, { licenses }: Listing): Interval[] {
  return licenses.filter((license) => license.regionId === regionId).map(({ interval }) => interval)
}

/** The same for each region of which there are any. */
export function heldByRegion(listing: Listing | undefined): Map<number, Interval[]> {
  const held = new Map<number, Interval[]>()
  for (const { regionId, interval } of listing?.licenses ?? []) {
    const others = held.get(regionId)
    if (others) others.push(interval)
    else held.set(regionId, [interval])
  }
  return held
}

export function toListing(
  provider: Provider,
  zone: TimeZone,
  taken: readonly TakenSlot[],
  compiled: CompiledOnce,
): Listing {
  return {
    provider,
    calendar: {
      schedule: compiled.scheduleOf(provider, zone),
      taken: toIntervals(taken),
      minimumNoticeMinutes: provider.minimumNoticeMinutes,
    },
    taken,
    licenses: compiled.licensesOf(provider, zone),
  }
}

/** Minutes east of UTC that a provider's clock is at an instant (ms), by the zone data in use. */
export function localOffsetAt({ calendar }: Listing, at: number): number {
  return offsetAt(calendar.schedule.zone, Math.floor(at / minuteMillis))
}

/** A listing of which these slots are taken, and no others. */
export function withTaken(listing: Listing, taken: readonly TakenSlot[]): Listing {
  const calendar = { ...listing.calendar, taken: toIntervals(taken) }
  return { ...listing, calendar, taken }
}

/** What is taken once these slots are too, in order. */
export function withBooked(taken: readonly TakenSlot[], booked: readonly TakenSlot[]): readonly TakenSlot[] {
  const ids = new Set(booked.map(({ requestId }) => requestId))
  const others = taken.filter(({ requestId }) => !ids.has(requestId))
  return [...others, ...booked].sort((a, b) => a.startsAt - b.startsAt)
}

function toIntervals(taken: readonly TakenSlot[]): readonly Interval[] {
  return taken.length > 0 ? taken.map(toInterval) : nothingTaken
}

/** When a slot is taken, in the engine's minutes. */
export function toInterval({ startsAt, endsAt }: TakenSlot): Interval {
  return { start: startsAt / minuteMillis, end: endsAt / minuteMillis }
}
