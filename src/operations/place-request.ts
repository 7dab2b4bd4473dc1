import { type Listing, localOffsetAt, withTaken } from '../directory/directory'
import type { Act } from '../domain/audit'
import type { RequestRecord } from '../domain/booking-request'
import { Refusal } from '../domain/errors'
import type { Provider } from '../domain/provider'
import { formatInstant } from '../scheduling/calendar'
import type { Context } from './context'
import { requireRequest } from './find-records'
import { decideOnFreshSnapshot } from './fresh-snapshot'

/**
 * Gives a request a provider, and a slot of theirs where one is named (`startsAt`, ms), which must be offered as it would
 * have to be to a partner; but the request's own slot is no hindrance to it.
 *
 * @param refuse why the request can have none, whoever it is
 * @param write is told minutes east of UTC of the provider's clock at the slot
 * @throws Refusal record_unknown, move_unknown for a provider who is deactivated, slot_unavailable, storage_busy, and what
 *   the two tell
 */
export async function placeRequest(
  context: Context,
  requestId: number,
  provider: Provider,
  startsAt: number | null,
  act: Act,
  refuse: (request: RequestRecord) => Refusal | null,
  write: (localOffsetMinutes: number | null) => Promise<'done' | 'stale'>,
): Promise<RequestRecord> {
  const { directory } = context
  try {
    await decideOnFreshSnapshot(context, async () => {
      const request = await requireRequest(context, requestId)
      const refusal = refuse(request)
      if (refusal) throw refusal
      const listing = directory.findListing(provider.id)
      if (!listing) {
        const why = directory.findAnyListing(provider.id)
          ? 'is deactivated'
          : 'is left out of searches; doctor says why'
        throw new Refusal('move_unknown', `provider ${provider.ref} ${why}`)
      }
      if (startsAt !== null && !directory.isOffered(withoutOwnSlot(listing, request), startsAt, act.at)) {
        throw new Refusal('slot_unavailable', 'the slot is not available')
      }
      return write(startsAt === null ? null : localOffsetAt(listing, startsAt))
    })
  } catch (error) {
    if (startsAt === null || !(error instanceof Refusal) || error.kind !== 'slot_unavailable') throw error
    const why = `anteroom provider why ${provider.ref} ${formatInstant(startsAt)}`
    throw new Refusal('slot_unavailable', `the slot is not available; the reason: ${why}`)
  }
  return requireRequest(context, requestId)
}

/** The slot that a request holds is no hindrance to the same request, which gives it back. */
function withoutOwnSlot(listing: Listing, { id }: RequestRecord): Listing {
  if (!listing.taken.some(({ requestId }) => requestId === id)) return listing
  const others = listing.taken.filter(({ requestId }) => requestId !== id)
  return withTaken(listing, others)
}
