import { type Directory, type Listing, localOffsetAt, withTaken } from '../directory/directory'
import type { Act } from '../domain/audit'
import { newAuthorizationNumber, type RequestRecord } from '../domain/booking-request'
import { refuseAssignment } from '../domain/decide-move'
import { Refusal } from '../domain/errors'
import type { Member } from '../domain/member'
import type { Provider } from '../domain/provider'
import { regionRef } from '../domain/region'
import { formatInstant } from '../scheduling/calendar'
import type { Context } from './context'
import { requireRequest } from './find-records'
import { decideOnFreshSnapshot } from './fresh-snapshot'
import { whereaboutsOf } from './member-region'

/** What of an intake's provider a person should look at before they are assigned; nothing is refused for it. */
export type AssignmentConcern =
  | { readonly about: 'unlicensed'; readonly region: string }
  | { readonly about: 'region unknown'; readonly country: string }

/**
 * Attaches a provider to an intake, with a slot of theirs (`startsAt`, ms) or without one (null). An intake
 * that has a provider already gets the new one in their place: it is pending again and its earlier slot free.
 *
 * @throws Refusal record_unknown, move_unknown for what is no intake that can be assigned or for a provider
 *   who is deactivated, slot_unavailable, slot_conflicts_with_yours, storage_busy
 */
export async function assignProvider(
  context: Context,
  requestId: number,
  provider: Provider,
  startsAt: number | null,
  act: Act,
): Promise<RequestRecord> {
  const { directory, store } = context
  try {
    await decideOnFreshSnapshot(context, async () => {
      const request = await requireRequest(context, requestId)
      requireAssignable(request)
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
      const draft = {
        providerId: provider.id,
        startsAt,
        localOffsetMinutes: startsAt === null ? null : localOffsetAt(listing, startsAt),
        version: directory.version,
        authorizationNumber: newAuthorizationNumber(),
      }
      return store.assign(requestId, draft, act)
    })
  } catch (error) {
    if (startsAt === null || !(error instanceof Refusal) || error.kind !== 'slot_unavailable') throw error
    const why = `anteroom provider why ${provider.ref} ${formatInstant(startsAt)}`
    throw new Refusal('slot_unavailable', `the slot is not available; the reason: ${why}`)
  }
  return requireRequest(context, requestId)
}

/** @throws Refusal move_unknown for a booking request, and for an intake of a person who was erased */
export function requireAssignable(
  request: RequestRecord,
): asserts request is RequestRecord & { readonly member: Member } {
  const refusal = refuseAssignment(request)
  if (refusal) throw refusal
}

/** Whether the provider may practise where the member is, at an instant (ms); null if nothing speaks against it. */
export function concernOf(
  directory: Directory,
  { profile }: Member,
  provider: Provider,
  at: number,
): AssignmentConcern | null {
  const { region } = whereaboutsOf(directory, profile)
  if (!region) return { about: 'region unknown', country: profile.country }
  const isLicensed = directory.listLicensed(region.id, at).some((found) => found.provider.id === provider.id)
  return isLicensed ? null : { about: 'unlicensed', region: regionRef(region) }
}

/** The slot that a request holds is no hindrance to the same request: assigning it again frees it. */
function withoutOwnSlot(listing: Listing, { id }: RequestRecord): Listing {
  if (!listing.taken.some(({ requestId }) => requestId === id)) return listing
  const others = listing.taken.filter(({ requestId }) => requestId !== id)
  return withTaken(listing, others)
}
