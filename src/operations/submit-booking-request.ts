import type { Directory } from '../directory/directory'
import { type Listing, localOffsetAt } from '../directory/listing'
import { newAuthorizationNumber, type Submission, slotMillis } from '../domain/booking-request'
import type { Version } from '../domain/ports/directory-feed'
import { type Context, decideOnFreshSnapshot } from './context'

/** The caller's authentication, and the directory version that contained the token. */
export interface Authenticated {
  readonly version: Version
  /** Authenticates again and returns the new version. @throws Refusal if token, partner or organization became invalid */
  again(): Promise<Version>
}

/**
 * Finds or creates the member and submits a booking request, or an intake if `slot` is null. A retry returns the first answer.
 * A refusal changes nothing.
 * @param now ms
 * @param authenticated undefined if the service itself submits
 * @throws Refusal, the first that applies: idempotency_key_reused, member_deactivated, slot_already_yours, provider_unknown,
 *   slot_unavailable, slot_conflicts_with_yours, too_many_open_requests, email_conflicts_limited, email_taken
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
      // Uses the version from the authentication: if the token was revoked since then, the draft must become stale.
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
