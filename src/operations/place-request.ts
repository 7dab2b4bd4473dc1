import { type Listing, localOffsetAt, withTaken } from '../directory/directory'
import type { Act } from '../domain/audit'
import type { RequestRecord } from '../domain/booking-request'
import type { AssignmentDraft, PlacementFacts } from '../domain/decide-placement'
import { Refusal } from '../domain/errors'
import type { Placed } from '../domain/facts'
import type { Provider } from '../domain/provider'
import type { Store } from '../domain/store'
import type { Decision } from '../domain/writes'
import { formatInstant } from '../scheduling/calendar'
import type { Context } from './context'
import { requireRequest } from './find-records'
import { decideOnFreshSnapshot } from './fresh-snapshot'

/** A provider for a request, and a slot of theirs or none, on a version of the directory. */
type PlacementDraft = Omit<AssignmentDraft, 'authorizationNumber'>

/**
 * Gives a request a provider, and a slot of theirs where one is named (`startsAt`, ms), which must be offered as it would
 * have to be to a partner; but the request's own slot is no hindrance to it.
 *
 * @param refuse why the request can have none, whoever it is
 * @param decide on what is stored at the moment of writing; `stale` asks for a newer snapshot of the directory
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
        const why = directory.findAnyListing(provider.id)
          ? 'is deactivated'
          : 'is left out of searches; doctor says why'
        throw new Refusal('move_unknown', `provider ${provider.ref} ${why}`)
      }
      if (startsAt !== null && !directory.isOffered(withoutOwnSlot(listing, request), startsAt, act.at)) {
        throw new Refusal('slot_unavailable', 'the slot is not available')
      }
      const localOffsetMinutes = startsAt === null ? null : localOffsetAt(listing, startsAt)
      const draft = { providerId: provider.id, startsAt, localOffsetMinutes, version: directory.version }
      return placeOn(store, requestId, draft, act, (facts) => decide(draft, facts))
    })
  } catch (error) {
    if (startsAt === null || !(error instanceof Refusal) || error.kind !== 'slot_unavailable') throw error
    const why = `anteroom provider why ${provider.ref} ${formatInstant(startsAt)}`
    throw new Refusal('slot_unavailable', `the slot is not available; the reason: ${why}`)
  }
  return requireRequest(context, requestId)
}

/** Writes what is decided on the draft, unless that is stale. */
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

/** A stale decision changes nothing. */
function placed(decision: 'stale' | Decision): Decision<'done' | 'stale'> {
  if (decision === 'stale') return { writes: [], taken: [], audit: null, answer: () => 'stale' }
  return decision instanceof Refusal ? decision : { ...decision, answer: () => 'done' }
}

/** The slot that a request holds is no hindrance to the same request, which gives it back. */
function withoutOwnSlot(listing: Listing, { id }: RequestRecord): Listing {
  if (!listing.taken.some(({ requestId }) => requestId === id)) return listing
  const others = listing.taken.filter(({ requestId }) => requestId !== id)
  return withTaken(listing, others)
}
