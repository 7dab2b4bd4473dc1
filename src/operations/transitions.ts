import type { Directory } from '../directory/directory'
import { type Listing, localOffsetAt, withTaken } from '../directory/listing'
import type { Act } from '../domain/audit'
import {
  newAuthorizationNumber,
  type OwnRequest,
  type RequestedSlot,
  type RequestRecord,
} from '../domain/booking-request'
import {
  decideCancellation,
  decideRescheduling,
  isCancelled,
  isHolding,
  type PartnerCall,
  requireOwn,
} from '../domain/decisions/partner-requests'
import {
  decidePlacement,
  decideReopening,
  type Placement,
  type PlacementDraft,
  refusePlacement,
} from '../domain/decisions/transitions'
import { Refusal } from '../domain/errors'
import type { Member } from '../domain/member'
import type { Store } from '../domain/ports/store'
import type { Decision } from '../domain/ports/writes'
import type { Provider } from '../domain/provider'
import { regionRef } from '../domain/region'
import { formatInstant } from '../scheduling/calendar'
import { type Context, decideOnFreshSnapshot } from './context'
import { requireListing, requireRequest } from './find-records'
import { whereaboutsOf } from './members'
import { type Authenticated, locateSlot } from './requests'

/**
 * Assigns a provider to an intake, moves a request, or reopens a declined one. The request becomes pending again and keeps
 * its authorization number. An earlier slot becomes free. The two slots may overlap. Partners must be able to book the slot.
 * @param startsAt ms; null only for an assignment without a slot
 * @throws Refusal record_unknown, move_unknown if the request or the provider cannot be placed, slot_unavailable,
 *   slot_conflicts_with_yours, storage_busy
 */
export async function placeRequest(
  context: Context,
  kind: Placement,
  requestId: number,
  provider: Provider,
  startsAt: number | null,
  act: Act,
): Promise<RequestRecord> {
  const { directory, store } = context
  const authorizationNumber = newAuthorizationNumber(context.random)
  const place = { providerId: provider.id, startsAt }
  try {
    await decideOnFreshSnapshot(context, async () => {
      const request = await requireRequest(context, requestId)
      requirePlaceable(kind, request, place)
      const listing = directory.findListing(provider.id)
      if (!listing) {
        requireListing(context, provider)
        throw new Refusal('move_unknown', `provider ${provider.ref} is deactivated`)
      }
      if (startsAt !== null && !directory.isOffered(asOwn(listing, request, startsAt), startsAt, act.at)) {
        throw new Refusal('slot_unavailable', 'the slot is not available')
      }
      const localOffsetMinutes = startsAt === null ? null : localOffsetAt(listing, startsAt)
      const draft = { ...place, localOffsetMinutes, authorizationNumber, version: directory.version }
      return placeOn(store, kind, requestId, draft, act)
    })
  } catch (error) {
    if (startsAt === null || !(error instanceof Refusal) || error.kind !== 'slot_unavailable') throw error
    const why = `anteroom provider why ${provider.ref} ${formatInstant(startsAt)}`
    throw new Refusal('slot_unavailable', 'the slot is not available', { action: `run ${why}` })
  }
  return requireRequest(context, requestId)
}

/** Returns `stale` and changes nothing if the directory has changed since the draft. */
export function placeOn(store: Store, kind: Placement, requestId: number, draft: PlacementDraft, act: Act) {
  return store.change(
    act,
    ({ placement }) => [placement.find(requestId, draft)],
    (facts) => orStale(decidePlacement(kind, draft, facts)),
    { isAlone: true },
  )
}

function orStale<T>(decided: 'stale' | Decision<T>): Decision<T | 'stale'> {
  if (decided !== 'stale') return decided
  return { writes: [], taken: [], audit: null, answer: () => 'stale' }
}

/**
 * Cancels a partner's request, and returns it. A cancelled request is returned as it is.
 * @throws Refusal request_not_found, member_deactivated, request_changed, request_closed, request_started
 */
export function cancelOwnRequest(context: Context, call: PartnerCall, authenticated: Authenticated) {
  const { requestId, act } = call
  return onOwnRequest(context, call, isCancelled, authenticated, (_, version) =>
    context.store.change(
      act,
      ({ requests, changes, audit }) => [
        requests.find(requestId),
        changes.sinceExceptTaken(version),
        requests.readableAnswers([requestId]),
        audit.listReviewed([requestId]),
        requests.countUnreadRisks(call.partnerId),
      ],
      (request, since, answers, reviewed, unread) =>
        orStale(decideCancellation(call, request, since, { answers, reviewed }, unread)),
    ),
  )
}

/**
 * Moves a partner's request to another slot, and returns it. The request becomes pending. A request that has the slot already
 * is returned as it is.
 * @throws Refusal those of cancelOwnRequest, request_without_slot, provider_unknown, slot_unavailable, slot_conflicts_with_yours
 */
export function rescheduleOwnRequest(
  context: Context,
  call: PartnerCall,
  slot: RequestedSlot,
  authenticated: Authenticated,
) {
  const { requestId, act } = call
  const isHeld = (request: OwnRequest) => isHolding(request, slot)
  return onOwnRequest(context, call, isHeld, authenticated, (request, version) => {
    const own = (listing: Listing) => asOwn(listing, request, slot.startsAt)
    const draft = { ...slot, ...locateSlot(context.directory, slot, act.at, own), version }
    return context.store.change(
      act,
      ({ placement }) => [placement.find(requestId, draft)],
      (facts) => orStale(decideRescheduling(call, draft, facts)),
      { isAlone: true },
    )
  })
}

/**
 * Reads the request first, so that another partner's and an unknown id are refused in the same time, and a repeated call takes
 * no lock.
 */
function onOwnRequest(
  context: Context,
  { partnerId, requestId, act }: PartnerCall,
  isDone: (request: OwnRequest) => boolean,
  authenticated: Authenticated,
  attempt: (request: OwnRequest, version: Authenticated['version']) => Promise<OwnRequest | 'stale'>,
): Promise<OwnRequest> {
  return decideOnFreshSnapshot(context, async (round) => {
    const { version } = round === 0 ? authenticated : await authenticated.again()
    const found = await context.store.read(({ requests }) => requests.findOwn(partnerId, requestId))
    const request = requireOwn(found, partnerId)
    if (!isDone(request)) return attempt(request, version)
    // Nothing changes, but the answer shows the member.
    context.notebook.noteLookUp(partnerId, request.member.id, act.at)
    return request
  })
}

/** A request's own slot does not block the request, and the provider's notice has been given for it. */
function asOwn(listing: Listing, { id, providerId, startsAt }: RequestRecord, at: number): Listing {
  const others = listing.taken.filter(({ requestId }) => requestId !== id)
  const free = others.length === listing.taken.length ? listing : withTaken(listing, others)
  if (providerId !== listing.provider.id || startsAt !== at) return free
  return { ...free, calendar: { ...free.calendar, minimumNoticeMinutes: 0 } }
}

/** A warning for staff to check before they assign a provider. The assignment is still allowed. */
export type AssignmentWarning =
  | { readonly about: 'unlicensed'; readonly region: string }
  | { readonly about: 'region unknown'; readonly country: string }

/** Does not check that the slot is free. @param to null for any place @throws Refusal move_unknown */
export function requirePlaceable(
  kind: Placement,
  request: RequestRecord,
  to: Pick<PlacementDraft, 'providerId' | 'startsAt'> | null,
): asserts request is RequestRecord & { readonly member: Member } {
  const refusal = refusePlacement(kind, request, to)
  if (refusal) throw refusal
}

/** Returns a warning if the member's region is unknown, or if the provider has no license for the region at `at` (ms). */
export function findAssignmentWarning(
  directory: Directory,
  { profile }: Member,
  provider: Provider,
  at: number,
): AssignmentWarning | null {
  const { region } = whereaboutsOf(directory, profile)
  if (!region) return { about: 'region unknown', country: profile.country }
  const isLicensed = directory.listLicensed(region.id, at).some((found) => found.provider.id === provider.id)
  return isLicensed ? null : { about: 'unlicensed', region: regionRef(region) }
}

/**
 * Undoes the decline of a booking request, while its slot is free and to come, or the closing of an intake.
 * @throws Refusal record_unknown, move_unknown, slot_unavailable, slot_conflicts_with_yours, storage_busy
 */
export async function reopenRequest(context: Context, id: number, act: Act): Promise<RequestRecord> {
  const request = await requireRequest(context, id)
  requireReopenable(request, act.at)
  const { isIntake, providerId, startsAt } = request
  if (isIntake || providerId === null || startsAt === null) {
    await context.store.change(act, ({ requests }) => [requests.find(id)], decideReopening)
    return requireRequest(context, id)
  }
  const listing = context.directory.findAnyListing(providerId)
  if (!listing) {
    const why = 'the provider of the request is left out of searches'
    throw new Refusal('move_unknown', why, { action: 'run anteroom doctor' })
  }
  return placeRequest(context, 'reopen', id, listing.provider, startsAt, act)
}

/** Does not check that the slot is free. @throws Refusal move_unknown if the request cannot be reopened */
export function requireReopenable(request: RequestRecord, now: number): void {
  requirePlaceable('reopen', request, null)
  const { startsAt, isIntake } = request
  if (isIntake || startsAt === null || startsAt > now) return
  throw new Refusal('move_unknown', `the slot of the request is past: ${formatInstant(startsAt)}`)
}
