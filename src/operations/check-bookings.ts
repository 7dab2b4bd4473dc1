import { type Listing, localOffsetAt } from '../directory/directory'
import type { Act } from '../domain/audit'
import type { TakenSlot } from '../domain/directory-feed'
import type { Provider } from '../domain/provider'
import type { Context } from './context'

/** A slot that is taken, and of whom. */
export interface MovedSlot {
  readonly provider: Provider
  readonly slot: TakenSlot
}

/** Notes that those concerned know what the provider's clock will show at a booked time. */
export async function acknowledgeMove(
  { store, directory }: Context,
  { provider, slot }: MovedSlot,
  act: Act,
): Promise<void> {
  const listing = directory.findAnyListing(provider.id) as Listing
  await store.acknowledge(slot.requestId, localOffsetAt(listing, slot.startsAt), act)
  await directory.catchUp()
}

/**
 * The taken slots after `now` (ms) at which the provider's clock will not show what it was to show when the slot was
 * taken: zone data has changed since, or the provider's zone.
 */
export function slotsMoved({ directory }: Context, now: number): MovedSlot[] {
  return directory.listProviders().flatMap((provider) => {
    const listing = directory.findAnyListing(provider.id)
    if (!listing) return []
    return listing.taken
      .filter(({ startsAt }) => startsAt > now)
      .filter(({ startsAt, localOffsetMinutes }) => localOffsetAt(listing, startsAt) !== localOffsetMinutes)
      .map((slot) => ({ provider, slot }))
  })
}
