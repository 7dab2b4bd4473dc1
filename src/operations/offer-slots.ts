import type { Listing } from '../directory/listing'
import type { Member } from '../domain/member'
import type { TakenSlot } from '../domain/ports/directory-feed'
import type { Provider } from '../domain/provider'
import type { Region } from '../domain/region'
import { dayMinutes, formatInstant, minuteMillis } from '../scheduling/calendar'
import type { Interval } from '../scheduling/interval'
import { formatLocal } from '../scheduling/time-zone'
import type { Context } from './context'
import { requireListing } from './find-records'
import { type Clocks, isDaytime, memberZones, type Whereabouts, whereaboutsOf, type Zones } from './members'
import { daytimeFirst, licenseesIn, type Offer, offerAt, suits, wishOf } from './suggest-providers'

/** Returns a provider's bookable starts (ms) at `now` (ms). With a region, returns only the starts that the region's search shows. */
export function listFreeSlots({ directory }: Context, { id }: Provider, region: Region | null, now: number) {
  const listing = directory.findListing(id)
  if (!listing) return []
  if (region && !(region.active && directory.listLicensed(region.id, now).includes(listing))) return []
  const { slots } = region
    ? directory.availabilityIn(listing, region.id, now)
    : directory.availabilityAnywhere(listing, now)
  return slots.map((start) => start * minuteMillis)
}

/** Returns a provider's taken slots that are not over at `now` (ms). */
export function listTaken({ directory }: Context, { id }: Pick<Provider, 'id'>, now: number): TakenSlot[] {
  return (directory.findAnyListing(id)?.taken ?? []).filter(({ endsAt }) => endsAt > now)
}

/** Returns a start (ms) in UTC and in the provider's local time, for example `Tue 2026-12-01 09:00`. */
export function presentStart(context: Context, provider: Provider, startsAt: number) {
  const { zone } = requireListing(context, provider).calendar.schedule
  const local = formatLocal(zone, startsAt / minuteMillis)
  return { utcStartTime: formatInstant(startsAt), local, timeZone: provider.timeZone }
}

// A later slot, because the first slot may start before the reader books it.
const exampleIndex = 5

/** Finds a bookable slot, and a region in which searches show the slot. Returns null if there is no slot. @param now ms */
export function findExampleSlot({ directory }: Context, now: number) {
  for (const listing of directory.listListings()) {
    for (const { regionId } of listing.licenses) {
      const region = directory.findRegion(regionId)
      const start = region && directory.availabilityIn(listing, regionId, now).slots[exampleIndex]
      if (region && start) return { region, providerId: listing.provider.id, startsAt: start * minuteMillis }
    }
  }
  return null
}

/** The alternatives for a member whose provider is away. Slots outside the member's daytime come last. */
export type Offers = ReturnType<ReturnType<typeof offersOn>>

/** A provider's absence (minutes) and the appointments in it. */
interface Replacement {
  readonly absent: Listing
  readonly away: Interval
  /** The first and the last start of the appointments, in minutes. */
  readonly starts: Interval
  /** ms */
  readonly now: number
}

/** A provider who can take appointments of the absent provider. */
interface Substitute {
  readonly listing: Listing
  /** The starts of the free slots, in minutes since 1970-01-01T00:00Z. */
  readonly slots: readonly number[]
}

/** The maximum number of alternatives of each kind for one member. */
const maxOffered = 3

/** Returns a function that offers alternatives to one member at a time. No slot is offered twice. */
export function offersOn(context: Context, clocks: Clocks, replacement: Replacement) {
  const { absent, away, now } = replacement
  const offered = new Set<string>()
  const substitutesOf = cachedSubstitutes(context, replacement)
  const isNotOffered = ({ provider }: Listing, start: number) => !offered.has(`${provider.id} ${start}`)

  function offer({ provider, calendar }: Listing, start: number, zones: Zones): Offer {
    offered.add(`${provider.id} ${start}`)
    return offerAt(start, provider, calendar.schedule.zone, zones)
  }

  /** @param from the start of the appointment, in minutes */
  return (member: Member, from: number) => {
    const whereabouts = whereaboutsOf(context.directory, member.profile)
    const { region } = whereabouts
    const zones = memberZones(clocks, member.profile)
    const isLicensed = region === null || absent.licenses.some(({ regionId }) => regionId === region.id)
    const back = listFreeSlots(context, absent.provider, isLicensed ? region : null, now)
      .map((startsAt) => startsAt / minuteMillis)
      .filter((start) => start >= away.end && isNotOffered(absent, start))
    const soonest = substitutesOf(member, whereabouts, zones)
      .flatMap(({ listing, slots }) => {
        const open = slots.filter((slot) => slot >= from && isNotOffered(listing, slot))
        const [start] = daytimeFirst(zones, open, 1)
        return start === undefined ? [] : { listing, start, night: isDaytime(zones, start) ? 0 : 1 }
      })
      .sort((a, b) => a.night - b.night || a.start - b.start || a.listing.provider.id - b.listing.provider.id)
    const afterwards = daytimeFirst(zones, back, maxOffered)
    return {
      /** The next slots with the same provider after the absence. */
      afterwards: afterwards.map((start) => offer(absent, start, zones)),
      /** Slots with other suitable providers in the member's region. No slot starts before the appointment. */
      elsewhere: soonest.slice(0, maxOffered).map(({ listing, start }) => offer(listing, start, zones)),
      /** The member's region. If it is null (unknown), the absent provider's regions are searched. */
      region,
      /** True if the absent provider is licensed in the member's region, or if the region is unknown. */
      isLicensed,
    }
  }
}

/** Finds substitutes once for all members with the same location and preferences. */
function cachedSubstitutes(context: Context, replacement: Replacement) {
  const known = new Map<string, readonly Substitute[]>()
  return (member: Member, whereabouts: Whereabouts, zones: Zones): readonly Substitute[] => {
    const place = whereabouts.region?.id ?? member.profile.country
    const key = JSON.stringify([place, wishOf(member)])
    const found = known.get(key) ?? substitutesFor(context, replacement, member, whereabouts, zones)
    known.set(key, found)
    return found
  }
}

/** Searches this many days after the last appointment first. A search of the whole horizon takes ten times as long. */
const nearDays = 3

function substitutesFor(
  context: Context,
  { absent, starts, now }: Replacement,
  member: Member,
  { region, candidates }: Whereabouts,
  zones: Zones,
): Substitute[] {
  const isLicensedIn = (id: number) => absent.licenses.some(({ regionId }) => regionId === id)
  const location = { region, candidates: candidates.filter(({ id }) => isLicensedIn(id)) }
  const wish = wishOf(member)
  const others = licenseesIn(context, location, now).filter(
    (one) => one.listing !== absent && suits(one, wish),
  )
  const freeIn = (stretch: Interval) =>
    others.map(({ listing, places }) => {
      const slots = places.flatMap(({ id }) => context.directory.slotsWithin(listing, id, stretch, now))
      return { listing, slots: [...new Set(slots)].sort((a, b) => a - b) }
    })
  const near = freeIn({ start: starts.start, end: starts.end + nearDays * dayMinutes })
  const isNeeded = (slot: number) => slot >= starts.end && isDaytime(zones, slot)
  const isEnough = near.filter(({ slots }) => slots.some(isNeeded)).length > maxOffered
  return isEnough ? near : freeIn({ start: starts.start, end: Infinity })
}
