import type { Act } from '../domain/audit'
import type { RequestRecord } from '../domain/booking-request'
import { decideMove, refuseMoving } from '../domain/decide-placement'
import type { Member } from '../domain/member'
import type { Provider } from '../domain/provider'
import type { Context } from './context'
import { placeRequest } from './place-request'

/**
 * Moves a pending or accepted request to another slot (`startsAt`, ms), of the provider whom it is with or of another: it
 * is pending again, its earlier slot free, its number the same. The earlier slot may overlap with the new one.
 *
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

/** @throws Refusal move_unknown for what cannot be moved to that slot, free or not */
export function requireMovable(
  request: RequestRecord,
  to: { readonly providerId: number; readonly startsAt: number },
): asserts request is RequestRecord & { readonly member: Member } {
  const refusal = refuseMoving(request, to)
  if (refusal) throw refusal
}
