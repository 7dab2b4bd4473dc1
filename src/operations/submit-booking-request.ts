import type { Directory } from '../directory/directory'
import { type Listing, localOffsetAt } from '../directory/listing'
import { newAuthorizationNumber, type Submission, slotMillis } from '../domain/booking-request'
import type { Version } from '../domain/ports/directory-feed'
import { type Context, decideOnFreshSnapshot } from './context'

/** Who submits was let in on a snapshot of the directory, which may have been replaced since. */
export interface Authenticated {
  /** The snapshot's version. */
  readonly version: Version
  /** Asks again, and tells on which. @throws Refusal if the token, the partner or the organization is no longer in order */
  again(): Promise<Version>
}

/**
 * Finds or creates the member and submits a booking request, or an intake where no slot is asked for. A retry gets the
 * first answer. A refusal changes nothing.
 *
 * @param now ms
 * @param authenticated undefined if the service itself submits
 * @throws Refusal idempotency_key_reused, member_deactivated, slot_already_yours, provider_unknown, slot_unavailable,
 *   slot_conflicts_with_yours, too_many_open_requests, email_conflicts_limited or email_taken, the first that applies in
 *   this order
 */
export function submitBookingRequest(
  context: Context,
  submission: Submission,
  now: number,
  authenticated?: Authenticated,
) {
  const { directory, store, limits } = context
  const { slot } = submission
  let version = authenticated?.version
  return decideOnFreshSnapshot(context, async (round) => {
    if (round > 0) version = await authenticated?.again()
    const listing = slot && directory.findListing(slot.providerId)
    return store.submit({
      ...submission,
      // The older of the two that were asked: what was revoked while a token was verified makes this stale.
      version: version ?? directory.version,
      slotState: slot && slotStateOf(directory, listing, slot.startsAt, now),
      localOffsetMinutes: slot && listing && localOffsetAt(listing, slot.startsAt),
      authorizationNumber: slot && newAuthorizationNumber(),
      submittedAt: now,
      limits,
    })
  })
}

function slotStateOf(directory: Directory, listing: Listing | null, startsAt: number, now: number) {
  if (!listing) return 'provider unknown'
  if (directory.isOffered(listing, startsAt, now)) return 'offered'
  const isTaken = listing.taken.some((held) => Math.abs(held.startsAt - startsAt) < slotMillis)
  return isTaken ? 'taken' : 'not offered'
}
