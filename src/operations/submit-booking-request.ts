import { localOffsetAt } from '../directory/directory'
import { type BookingRequest, newAuthorizationNumber, type Submission } from '../domain/booking-request'
import { Refusal } from '../domain/errors'
import type { SubmissionOutcome } from '../domain/store'
import type { Context } from './context'

// Each round means that the operator changed the provider between the judgement and the write.
const mostRounds = 10

/**
 * Finds or creates the member and submits a booking request, or an intake where no slot is asked for. A
 * refusal changes nothing.
 *
 * @param now ms
 * @throws Refusal member_deactivated, email_taken, provider_unknown, slot_unavailable or
 *   slot_already_yours, the first that applies in this order
 */
export async function submitBookingRequest(
  context: Context,
  submission: Submission,
  now: number,
): Promise<BookingRequest> {
  const { directory, store } = context
  for (let round = 0; round < mostRounds; round++) {
    const { slot } = submission
    const listing = slot && directory.findListing(slot.providerId)
    const outcome = await store.submit({
      ...submission,
      version: directory.version,
      slotOffered: slot && listing !== null && directory.isOffered(listing, slot.startsAt, now),
      localOffsetMinutes: slot && listing && localOffsetAt(listing, slot.startsAt),
      authorizationNumber: slot && newAuthorizationNumber(),
      submittedAt: now,
    })
    // Before any answer: whoever has it must find the directory as it says.
    await directory.catchUp()
    if (outcome.outcome === 'stored') return outcome.request
    if (outcome.outcome !== 'stale') throw refusalOf(outcome.outcome, listing !== null)
  }
  throw new Refusal('storage_busy', 'the provider is being changed; try again')
}

function refusalOf(
  outcome: Exclude<SubmissionOutcome['outcome'], 'stored' | 'stale'>,
  isProviderKnown: boolean,
): Refusal {
  switch (outcome) {
    case 'member_deactivated':
      return new Refusal('member_deactivated', 'the member is deactivated')
    case 'email_taken':
      return new Refusal('email_taken', 'already belongs to a different member')
    case 'slot_already_yours':
      return new Refusal('slot_already_yours', 'the member already holds this slot')
    case 'slot_taken':
      return isProviderKnown
        ? new Refusal('slot_unavailable', 'the slot is not available')
        : new Refusal('provider_unknown', 'names no provider who can be booked')
  }
}
