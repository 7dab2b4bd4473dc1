import { localOffsetAt } from '../directory/directory'
import type { RequestRecord } from '../domain/booking-request'
import type { Context } from './context'

/**
 * The requests that hold a slot after `now` (ms) at which the provider's clock will not show what it was to show
 * when the slot was taken: zone data has changed since, or the provider's zone.
 */
export async function requestsMoved({ store, directory }: Context, now: number): Promise<RequestRecord[]> {
  const requests = await store.listRequests({ intakesOnly: false, unassignedOnly: false })
  return requests.filter(({ state, startsAt, providerId, localOffsetMinutes }) => {
    if (startsAt === null || startsAt <= now || state === 'declined') return false
    const listing = directory.findAnyListing(providerId as number)
    return listing !== null && localOffsetAt(listing, startsAt) !== localOffsetMinutes
  })
}
