import { type Directory, type Listing, localOffsetAt } from '../directory/directory'
import type { Act } from '../domain/audit'
import { newAuthorizationNumber, type RequestRecord, slotMillis } from '../domain/booking-request'
import { Refusal } from '../domain/errors'
import type { Member } from '../domain/member'
import type { Provider } from '../domain/provider'
import { regionRef } from '../domain/region'
import { formatInstant, minuteMillis } from '../scheduling/calendar'
import type { Context } from './context'
import { requireRequest } from './find-records'
import { whereaboutsOf } from './member-region'

// Each round means that the operator changed the provider between the judgement and the write.
const mostRounds = 10

/** What of an intake's provider a person should look at before they are assigned; nothing is refused for it. */
export type AssignmentConcern =
  | { readonly about: 'unlicensed'; readonly region: string }
  | { readonly about: 'region unknown'; readonly country: string }

/**
 * Attaches a provider to an intake, with a slot of theirs (`startsAt`, ms) or without one (null). An intake
 * that has a provider already gets the new one in their place: it is pending again and its earlier slot free.
 *
 * @throws Refusal record_unknown, move_unknown for what is no intake that can be assigned or for a provider
 *   who is deactivated, slot_unavailable, storage_busy
 */
export async function assignProvider(
  context: Context,
  requestId: number,
  provider: Provider,
  startsAt: number | null,
  act: Act,
): Promise<RequestRecord> {
  const { directory, store } = context
  for (let round = 0; round < mostRounds; round++) {
    await directory.catchUp()
    const request = await requireRequest(context, requestId)
    requireAssignable(request)
    const listing = directory.findListing(provider.id)
    if (!listing) throw new Refusal('move_unknown', `provider ${provider.ref} is deactivated`)
    if (startsAt !== null && !directory.isOffered(withoutOwnSlot(listing, request), startsAt, act.at)) {
      throw slotUnavailable(provider, startsAt)
    }
    const outcome = await store.assign(requestId, {
      providerId: provider.id,
      startsAt,
      localOffsetMinutes: startsAt === null ? null : localOffsetAt(listing, startsAt),
      version: directory.version,
      authorizationNumber: newAuthorizationNumber(),
    })
    if (outcome === 'slot_taken') throw slotUnavailable(provider, startsAt as number)
    if (outcome === 'not_an_intake') requireAssignable({ ...request, isIntake: false })
    if (outcome === 'done') {
      await directory.catchUp()
      return requireRequest(context, requestId)
    }
  }
  throw new Refusal('storage_busy', 'the provider is being changed; try again')
}

/** @throws Refusal move_unknown for a booking request, and for an intake of a person who was erased */
export function requireAssignable(
  request: RequestRecord,
): asserts request is RequestRecord & { readonly member: Member } {
  if (!request.isIntake) {
    throw new Refusal(
      'move_unknown',
      'a booking request came with its provider and slot; only an intake can be assigned',
    )
  }
  if (!request.member) {
    throw new Refusal('move_unknown', 'the person of this request was erased; there is nobody to assign to')
  }
}

/**
 * Whether the provider may practise where the member is, at an instant (ms); null if nothing speaks against
 * it.
 */
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
function withoutOwnSlot(listing: Listing, { providerId, state, startsAt }: RequestRecord): Listing {
  const holdsOne = startsAt !== null && providerId === listing.provider.id && state !== 'declined'
  if (!holdsOne) return listing
  const start = startsAt / minuteMillis
  const end = (startsAt + slotMillis) / minuteMillis
  const { calendar } = listing
  const taken = calendar.taken.filter((slot) => slot.start !== start || slot.end !== end)
  return { ...listing, calendar: { ...calendar, taken }, answers: new Map() }
}

function slotUnavailable({ ref }: Provider, startsAt: number): Refusal {
  const why = `anteroom provider why ${ref} ${formatInstant(startsAt)}`
  return new Refusal('slot_unavailable', `the slot is not available; the reason: ${why}`)
}
