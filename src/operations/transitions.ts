import type { Directory } from '../directory/directory'
import { type Listing, localOffsetAt, withTaken } from '../directory/listing'
import type { Act } from '../domain/audit'
import { newAuthorizationNumber, type RequestRecord } from '../domain/booking-request'
import {
  type AssignmentDraft,
  decideAssignment,
  decideClosing,
  decideMove,
  decideReopening,
  decideReopeningInSlot,
  type PlacementFacts,
  refuseAssignment,
  refuseMoving,
  refuseReopening,
} from '../domain/decisions/transitions'
import { Refusal } from '../domain/errors'
import type { Member } from '../domain/member'
import type { Placed, Store } from '../domain/ports/store'
import type { Decision } from '../domain/ports/writes'
import type { Provider } from '../domain/provider'
import { regionRef } from '../domain/region'
import { formatInstant } from '../scheduling/calendar'
import { type Context, decideOnFreshSnapshot, type Records } from './context'
import { requireRequest } from './find-records'
import { whereaboutsOf } from './members'

type PlacementDraft = Omit<AssignmentDraft, 'authorizationNumber'>

/**
 * Assigns a provider to a request, and a slot if `startsAt` (ms) is not null. Partners must be able to book the slot. The
 * request's own slot counts as free.
 * @param refuse checks the request, before the provider and the slot are checked
 * @param decide runs in the transaction; returns `stale` to ask for a newer snapshot of the directory
 * @throws Refusal record_unknown, move_unknown for a deactivated provider, slot_unavailable, storage_busy, and refusals of
 *   `refuse` and `decide`
 */
async function placeRequest(
  context: Context,
  requestId: number,
  provider: Provider,
  startsAt: number | null,
  act: Act,
  refuse: (request: RequestRecord) => Refusal | null,
  decide: (draft: PlacementDraft, facts: PlacementFacts) => 'stale' | Decision,
): Promise<RequestRecord> {
  const { directory, store } = context
  try {
    await decideOnFreshSnapshot(context, async () => {
      const request = await requireRequest(context, requestId)
      const refusal = refuse(request)
      if (refusal) throw refusal
      const listing = directory.findListing(provider.id)
      if (!listing) {
        const isListed = directory.findAnyListing(provider.id) !== null
        throw isListed
          ? new Refusal('move_unknown', `provider ${provider.ref} is deactivated`)
          : new Refusal('move_unknown', `provider ${provider.ref} is left out of searches`, {
              action: 'run anteroom doctor',
            })
      }
      if (startsAt !== null && !directory.isOffered(asOwn(listing, request, startsAt), startsAt, act.at)) {
        throw new Refusal('slot_unavailable', 'the slot is not available')
      }
      const localOffsetMinutes = startsAt === null ? null : localOffsetAt(listing, startsAt)
      const draft = { providerId: provider.id, startsAt, localOffsetMinutes, version: directory.version }
      return placeOn(store, requestId, draft, act, (facts) => decide(draft, facts))
    })
  } catch (error) {
    if (startsAt === null || !(error instanceof Refusal) || error.kind !== 'slot_unavailable') throw error
    const why = `anteroom provider why ${provider.ref} ${formatInstant(startsAt)}`
    throw new Refusal('slot_unavailable', 'the slot is not available', { action: `run ${why}` })
  }
  return requireRequest(context, requestId)
}

export function placeOn(
  store: Store,
  requestId: number,
  draft: Placed,
  act: Act,
  decide: (facts: PlacementFacts) => 'stale' | Decision,
): Promise<'done' | 'stale'> {
  return store.change(
    act,
    ({ placement }) => [placement.find(requestId, draft)],
    (facts) => placed(decide(facts)),
    { isAlone: true },
  )
}

/** Converts `stale` to an outcome that changes nothing. */
function placed(decision: 'stale' | Decision): Decision<'done' | 'stale'> {
  if (decision === 'stale') return { writes: [], taken: [], audit: null, answer: () => 'stale' }
  return decision instanceof Refusal ? decision : { ...decision, answer: () => 'done' }
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

/**
 * Assigns a provider to an intake, and a slot if `startsAt` (ms) is not null. Replaces an earlier provider: the intake becomes
 * pending again, and the earlier slot becomes free.
 * @throws Refusal record_unknown, move_unknown if the intake or the provider cannot be assigned, slot_unavailable,
 *   slot_conflicts_with_yours, storage_busy
 */
export function assignProvider(
  context: Context,
  requestId: number,
  provider: Provider,
  startsAt: number | null,
  act: Act,
): Promise<RequestRecord> {
  const authorizationNumber = newAuthorizationNumber()
  return placeRequest(context, requestId, provider, startsAt, act, refuseAssignment, (draft, facts) =>
    decideAssignment({ ...draft, authorizationNumber }, facts),
  )
}

/** @throws Refusal move_unknown for a booking request, a closed intake or an erased member */
export function requireAssignable(
  request: RequestRecord,
): asserts request is RequestRecord & { readonly member: Member } {
  const refusal = refuseAssignment(request)
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
 * Moves a pending or accepted request to another slot (`startsAt`, ms) with the same or another provider. The request
 * becomes pending again and keeps its authorization number. The earlier slot becomes free. The two slots may overlap.
 * @throws Refusal record_unknown, move_unknown, slot_unavailable, slot_conflicts_with_yours, storage_busy
 */
export function moveRequest(
  context: Context,
  requestId: number,
  provider: Provider,
  startsAt: number,
  act: Act,
): Promise<RequestRecord> {
  const to = { providerId: provider.id, startsAt }
  return placeRequest(
    context,
    requestId,
    provider,
    startsAt,
    act,
    (request) => refuseMoving(request, to),
    (draft, facts) =>
      decideMove({ ...draft, startsAt, localOffsetMinutes: draft.localOffsetMinutes as number }, facts),
  )
}

/** Does not check that the slot is free. @throws Refusal move_unknown if the request cannot be moved to the slot */
export function requireMovable(
  request: RequestRecord,
  to: { readonly providerId: number; readonly startsAt: number },
): asserts request is RequestRecord & { readonly member: Member } {
  const refusal = refuseMoving(request, to)
  if (refusal) throw refusal
}

/**
 * Closes an intake without a provider. @param reason for staff only, stored as a note
 * @throws Refusal record_unknown, move_unknown, field_invalid for the length of the reason
 */
export function closeRequest({ store }: Records, id: number, act: Act, reason?: string): Promise<void> {
  return store.change(
    act,
    ({ requests }) => [requests.find(id)],
    (request) => decideClosing(request, act, reason),
  )
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
  const { provider } = listing
  return placeRequest(context, id, provider, startsAt, act, refuseReopening, (draft, facts) =>
    decideReopeningInSlot(
      { ...draft, startsAt, localOffsetMinutes: draft.localOffsetMinutes as number },
      facts,
    ),
  )
}

/** Does not check that the slot is free. @throws Refusal move_unknown if the request cannot be reopened */
export function requireReopenable(request: RequestRecord, now: number): void {
  const refusal = refuseReopening(request)
  if (refusal) throw refusal
  const { startsAt, isIntake } = request
  if (isIntake || startsAt === null || startsAt > now) return
  throw new Refusal('move_unknown', `the slot of the request is past: ${formatInstant(startsAt)}`)
}
