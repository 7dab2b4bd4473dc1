import type { RequestRecord, RequestState } from './booking-request'
import { Refusal } from './errors'

/** The states from which a request can make each move (decisions, States). */
const movesFrom = {
  accepted: ['pending'],
  declined: ['pending', 'accepted'],
  // An intake alone.
  assigned: ['unassigned', 'pending', 'accepted', 'declined'],
  // An intake too: no booking request is ever unassigned.
  closed: ['unassigned'],
  moved: ['pending', 'accepted'],
} as const satisfies Record<string, readonly RequestState[]>

/** Whether requests of a state hold their slot, where they have one. */
export function holdsSlot(state: RequestState): boolean {
  return state === 'pending' || state === 'accepted'
}

/** Why a request cannot make a move; null if its state lets it. */
export function refuseMove({ state }: RequestRecord, name: keyof typeof movesFrom): Refusal | null {
  const from: readonly RequestState[] = movesFrom[name]
  if (from.includes(state)) return null
  return new Refusal('move_unknown', `a request that is ${state} cannot be ${name}`)
}

/** Why nothing more can be done for the person of a request; null if they are still known. */
export function refuseErased({ member }: RequestRecord): Refusal | null {
  return member ? null : new Refusal('move_unknown', 'the person of this request was erased')
}

/** The provider of a request, if it has one, for those who are told whose slots have changed. */
export function providersOf({ providerId }: RequestRecord): number[] {
  return providerId === null ? [] : [providerId]
}
