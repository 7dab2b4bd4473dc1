import type { Act } from '../domain/audit'
import type { RequestRecord } from '../domain/booking-request'
import { decideClosing } from '../domain/decide-move'
import { refuseMove } from '../domain/request-states'
import type { Records } from './context'

/**
 * Closes an intake to which nobody is assigned: it was withdrawn, or is a duplicate. Nothing opens it again.
 *
 * @param reason for staff alone, kept as a note
 * @throws Refusal record_unknown, move_unknown, field_invalid for the length of the reason
 */
export function closeRequest({ store }: Records, id: number, act: Act, reason?: string): Promise<void> {
  return store.change(
    act,
    ({ requests }) => [requests.find(id)],
    (request) => decideClosing(request, act, reason),
  )
}

/** @throws Refusal move_unknown for what cannot be closed */
export function requireClosable(request: RequestRecord): void {
  const refusal = refuseMove(request, 'closed')
  if (refusal) throw refusal
}
