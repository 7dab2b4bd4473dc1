import { localOffsetAt } from '../directory/directory'
import { newAuthorizationNumber, type Submission } from '../domain/booking-request'
import type { Context } from './context'
import { decideOnFreshSnapshot } from './fresh-snapshot'

/**
 * Finds or creates the member and submits a booking request, or an intake where no slot is asked for. A
 * refusal changes nothing.
 *
 * @param now ms
 * @throws Refusal member_deactivated, slot_already_yours, provider_unknown, slot_unavailable or email_taken, the first
 *   that applies in this order
 */
export function submitBookingRequest(context: Context, submission: Submission, now: number) {
  const { directory, store } = context
  const { slot } = submission
  return decideOnFreshSnapshot(context, () => {
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
    })
  })
}
