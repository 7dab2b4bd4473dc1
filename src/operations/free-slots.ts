import type { RequestedSlot } from '../domain/booking-request'
import type { TakenSlot } from '../domain/directory-feed'
import { Refusal } from '../domain/errors'
import type { Provider } from '../domain/provider'
import type { Region } from '../domain/region'
import { formatInstant, minuteMillis } from '../scheduling/calendar'
import { formatLocal } from '../scheduling/time-zone'
import type { Context } from './context'

/** A start as commands tell it: in UTC, and as the provider's clock shows it. */
export interface LocalStart {
  readonly utcStartTime: string
  /** `Tue 2026-12-01 09:00`. */
  readonly local: string
  readonly timeZone: string
}

/**
 * The starts, in ms, of the slots of a provider that can be booked at `now` (ms); with a region, of those that
 * a search there shows.
 */
export function listFreeSlots({ directory }: Context, { id }: Provider, region: Region | null, now: number) {
  const listing = directory.findListing(id)
  if (!listing) return []
  if (region && !(region.active && directory.listLicensed(region.id, now).includes(listing))) return []
  const { slots } = region
    ? directory.availabilityIn(listing, region.id, now)
    : directory.availabilityAnywhere(listing, now)
  return slots.map((start) => start * minuteMillis)
}

/** The slots of a provider that requests hold and that are not over at `now` (ms). */
export function listTaken({ directory }: Context, { id }: Pick<Provider, 'id'>, now: number): TakenSlot[] {
  return (directory.findAnyListing(id)?.taken ?? []).filter(({ endsAt }) => endsAt > now)
}

/** A start (ms) on the clock of a provider. @throws Refusal move_unknown for one who is left out of searches */
export function presentStart({ directory }: Context, provider: Provider, startsAt: number): LocalStart {
  const { id, ref, timeZone } = provider
  const listing = directory.findAnyListing(id)
  if (!listing) throw new Refusal('move_unknown', `provider ${ref} is left out of searches; doctor says why`)
  const local = formatLocal(listing.calendar.schedule.zone, startsAt / minuteMillis)
  return { utcStartTime: formatInstant(startsAt), local, timeZone }
}

// Not a provider's very first: whoever is shown it may take a while to book it.
const place = 5

/** A slot that can be booked, and a region in which a search shows it; null where there is none. @param now ms */
export function findExampleSlot(
  { directory }: Context,
  now: number,
): (RequestedSlot & { readonly region: Region }) | null {
  for (const listing of directory.listListings()) {
    for (const { regionId } of listing.licenses) {
      const region = directory.findRegion(regionId)
      const start = region && directory.availabilityIn(listing, regionId, now).slots[place]
      if (region && start) return { region, providerId: listing.provider.id, startsAt: start * minuteMillis }
    }
  }
  return null
}
