import { hourMillis } from '../../scheduling/calendar'
import type { Act } from '../audit'
import {
  holdsSlot,
  type OwnRequest,
  providersOf,
  type RequestedSlot,
  type RequestRecord,
} from '../booking-request'
import { Refusal } from '../errors'
import { type Change, type Decision, isCallerStale, isStale, outcome } from '../ports/writes'
import { overlappingWith, type SubmissionDraft } from './submission'
import {
  cancelling,
  type PlacementDraft,
  type PlacementFacts,
  placing,
  type ScreeningFacts,
} from './transitions'

/** A partner's change of one of its requests. */
export interface PartnerCall {
  readonly partnerId: number
  readonly requestId: number
  readonly act: Act
  /** False if the request is no longer as the partner last saw it (If-Match). */
  readonly isExpected: (request: OwnRequest) => boolean
}

/** @throws Refusal request_not_found, also for an erased person and another partner; member_deactivated */
export function requireOwn(request: RequestRecord | null, partnerId: number): OwnRequest {
  const { member } = request ?? {}
  if (!request || !member || member.partnerId !== partnerId)
    throw new Refusal('request_not_found', 'no request has this id')
  if (!member.active) throw new Refusal('member_deactivated', 'the member is deactivated')
  return { ...request, member }
}

export function isCancelled({ state }: OwnRequest): boolean {
  return state === 'cancelled'
}

export function isHolding(
  { state, ...request }: OwnRequest,
  { providerId, startsAt }: RequestedSlot,
): boolean {
  return holdsSlot(state) && request.providerId === providerId && request.startsAt === startsAt
}

/** With more, staff could not find those who need help. A refused request stays in the queue. */
const mostUnreadRisks = 1_000

/** Cancels an unassigned, pending or accepted request. @throws the refusals of requireOwn */
export function decideCancellation(
  call: PartnerCall,
  found: RequestRecord | null,
  since: readonly Change[] | null,
  screening: ScreeningFacts,
  unreadRisks: number,
): 'stale' | Decision<OwnRequest> {
  if (isCallerStale(since)) return 'stale'
  const request = requireOwn(found, call.partnerId)
  if (isCancelled(request)) return unchanged(request)
  const refusal = refuseChange(request, call)
  if (refusal) return refusal
  const writes = cancelling(request, call.act, screening)
  if (writes.length > 1 && unreadRisks >= mostUnreadRisks) {
    const why = 'too many cancelled requests wait for the staff'
    return new Refusal('rate_limited', why, { retryAfterSeconds: hourMillis / 1000 })
  }
  const decided = outcome('request.cancel', 'request', request.id, writes, providersOf(request))
  return { ...decided, answer: () => ({ ...request, state: 'cancelled', cancelledAt: call.act.at }) }
}

export interface ReschedulingDraft extends Omit<PlacementDraft, 'authorizationNumber'> {
  readonly startsAt: number
  readonly slotState: SubmissionDraft['slotState']
}

/** Moves a pending or accepted request to another slot. @throws the refusals of requireOwn */
export function decideRescheduling(
  call: PartnerCall,
  { version: _, slotState, ...to }: ReschedulingDraft,
  facts: PlacementFacts,
): 'stale' | Decision<OwnRequest> {
  if (isCallerStale(facts.since)) return 'stale'
  const request = requireOwn(facts.request, call.partnerId)
  if (isHolding(request, to)) return unchanged(request)
  const refusal = refuseChange(request, call)
  if (refusal) return refusal
  if (!holdsSlot(request.state) || request.startsAt === null)
    return new Refusal('request_without_slot', 'the request has no slot')
  if (slotState === 'provider unknown' || !facts.isProviderKnown)
    return new Refusal('provider_unknown', 'no provider with this id can be booked')
  if (isStale(facts.since, to.providerId)) return 'stale'
  const holders = facts.holders.filter(({ requestId }) => requestId !== request.id)
  // The slot was released after the draft.
  if (slotState === 'taken' && holders.length === 0) return 'stale'
  const conflict = new Refusal(
    'slot_conflicts_with_yours',
    'the member already has a slot that overlaps with this one',
  )
  if (holders.some(({ memberId }) => memberId === request.member.id)) return conflict
  if (slotState !== 'offered' || holders.length > 0)
    return new Refusal('slot_unavailable', 'the slot is not available')
  const held = facts.held.filter(({ requestId }) => requestId !== request.id)
  if (overlappingWith(to.startsAt, held)) return conflict
  return placing('request.reschedule', request, to)
}

function unchanged(request: OwnRequest): Decision<OwnRequest> {
  return { writes: [], taken: [], audit: null, answer: () => request }
}

function refuseChange(request: OwnRequest, { isExpected, act }: PartnerCall): Refusal | null {
  const { state, startsAt } = request
  if (!isExpected(request)) return new Refusal('request_changed', 'the request has changed since then')
  if (state !== 'unassigned' && !holdsSlot(state))
    return new Refusal('request_closed', `the request is ${state}`)
  const isStarted = startsAt !== null && startsAt <= act.at
  return isStarted ? new Refusal('request_started', 'the session has started') : null
}
