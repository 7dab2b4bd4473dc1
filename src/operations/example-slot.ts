import type { RequestedSlot } from '../domain/booking-request'
import type { Region } from '../domain/region'
import { minuteMillis } from '../scheduling/calendar'
import type { Context } from './context'

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
