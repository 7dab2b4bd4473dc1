import type { TakenSlot, UnreadableProvider } from '../domain/ports/directory-feed'
import { isWorking, type Provider } from '../domain/provider'
import type { Calendar } from '../scheduling/availability'
import { minuteMillis } from '../scheduling/calendar'
import type { Interval } from '../scheduling/interval'
import { offsetAt, type TimeZone } from '../scheduling/time-zone'
import type { CompiledOnce, LicensedTime } from './compile'

/** A provider in the directory. Immutable, so derived values can be cached by object. */
export interface Listing {
  readonly provider: Provider
  readonly calendar: Calendar
  /** The calendar's taken slots, with their requests. */
  readonly taken: readonly TakenSlot[]
  readonly licenses: readonly LicensedTime[]
}

/** A provider left out of searches, with the reason. */
export interface UnlistedProvider extends UnreadableProvider {
  readonly fault: string
}

export const nothingTaken: readonly never[] = []

/** Returns true if searches return the same results with both listings. */
export function isFoundBySameSearches(one: Listing, other: Listing): boolean {
  const comparedText = ({ licenses, provider }: Listing) => {
    const { languagesSpoken, modalities, inPersonRegionIds } = provider
    return JSON.stringify([licenses, isWorking(provider), languagesSpoken, modalities, inPersonRegionIds])
  }
  return comparedText(one) === comparedText(other)
}

/** Returns when a provider's licenses for a region are valid. */
export function licensesIn(regionId: number, { licenses }: Listing): Interval[] {
  return licenses.filter((license) => license.regionId === regionId).map(({ interval }) => interval)
}

/** Returns when a provider's licenses are valid, by region. */
export function heldByRegion(listing: Listing | undefined): Map<number, Interval[]> {
  const times = new Map<number, Interval[]>()
  for (const { regionId, interval } of listing?.licenses ?? []) {
    const known = times.get(regionId)
    if (known) known.push(interval)
    else times.set(regionId, [interval])
  }
  return times
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

/** Returns the offset of a provider's clock at an instant (ms), in minutes east of UTC. */
export function localOffsetAt({ calendar }: Listing, at: number): number {
  return offsetAt(calendar.schedule.zone, Math.floor(at / minuteMillis))
}

/** Returns the listing with its taken slots replaced. */
export function withTaken(listing: Listing, taken: readonly TakenSlot[]): Listing {
  const calendar = { ...listing.calendar, taken: toIntervals(taken) }
  return { ...listing, calendar, taken }
}

/** Adds bookings and sorts all slots by start. A booking replaces the earlier slot of its request. */
export function withBooked(taken: readonly TakenSlot[], booked: readonly TakenSlot[]): readonly TakenSlot[] {
  const ids = new Set(booked.map(({ requestId }) => requestId))
  const unchanged = taken.filter(({ requestId }) => !ids.has(requestId))
  return [...unchanged, ...booked].sort((a, b) => a.startsAt - b.startsAt)
}

function toIntervals(taken: readonly TakenSlot[]): readonly Interval[] {
  return taken.length > 0 ? taken.map(toInterval) : nothingTaken
}

export function toInterval({ startsAt, endsAt }: TakenSlot): Interval {
  return { start: startsAt / minuteMillis, end: endsAt / minuteMillis }
}
