import { localOffsetAt } from '../directory/directory'
import { newAuthorizationNumber, type Submission } from '../domain/booking-request'
import type { Context } from './context'
import { decideOnFreshSnapshot } from './fresh-snapshot'

/** Asks for the caller again. @throws Refusal if the token, the partner or the organization is no longer in order */
export type StillInForce = () => Promise<unknown>

/**
 * Finds or creates the member and submits a booking request, or an intake where no slot is asked for. A retry gets the
 * first answer. A refusal changes nothing.
 *
 * @param now ms
 * @throws Refusal idempotency_key_reused, member_deactivated, slot_already_yours, provider_unknown, slot_unavailable,
 *   slot_conflicts_with_yours, too_many_open_requests, email_conflicts_limited or email_taken, the first that applies in
 *   this order
 */
export function submitBookingRequest(
  context: Context,
  submission: Submission,
  now: number,
  stillInForce: StillInForce = async () => {},
) {
  const { directory, store, limits } = context
  const { slot } = submission
  return decideOnFreshSnapshot(context, async (round) => {
    if (round > 0) await stillInForce()
    const listing = slot && directory.findListing(slot.providerId)
    const isOffered = slot && listing && directory.isOffered(listing, slot.startsAt, now)
    const slotState = listing ? (isOffered ? 'offered' : 'not offered') : 'provider unknown'
    return store.submit({
      ...submission,
      version: directory.version,
      slotState: slot && slotState,
      localOffsetMinutes: slot && listing && localOffsetAt(listing, slot.startsAt),
      authorizationNumber: slot && newAuthorizationNumber(),
      submittedAt: now,
      limits,
    })
  })
}
