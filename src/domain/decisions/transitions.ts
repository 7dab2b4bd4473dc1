import type { Act } from '../audit'
import {
  holdsSlot,
  type NoteKind,
  providersOf,
  type RequestRecord,
  type RequestState,
  refuseErased,
  type ScreeningAnswer,
  slotMillis,
} from '../booking-request'
import { Refusal } from '../errors'
import type { Version } from '../ports/directory-feed'
import {
  type Change,
  type Decision,
  isStale,
  type Outcome,
  outcome,
  setting,
  unknownRecord,
  type Write,
  withOutcome,
} from '../ports/writes'
import { isAtRisk, riskOf } from '../screening'
import { type HeldSlot, overlappingWith, type SlotHolder } from './submission'

/** Accepts a pending request. */
export function decideAcceptance(request: RequestRecord | null, { at }: Act): Decision {
  if (!request) return unknownRecord('request')
  const to = { state: 'accepted' as const, acceptedAt: at }
  return refuseTransition(request, 'accepted') ?? setting('request.accept', 'request', request.id, to)
}

const ends = { decline: 'declined', close: 'closed', cancel: 'cancelled' } as const

export type RequestEnd = keyof typeof ends

/** @returns a refusal if the request cannot be ended in this way */
export function refuseEnd(request: RequestRecord, end: RequestEnd): Refusal | null {
  return refuseTransition(request, ends[end])
}

/**
 * Declines a pending or accepted request and frees the slot, closes an unassigned intake, for example a duplicate, or cancels
 * a request for its member. @param reason stored as a note @param screening for a cancellation
 */
export function decideEnd(
  end: RequestEnd,
  request: RequestRecord | null,
  act: Act,
  reason?: string,
  screening: ScreeningFacts = unscreened,
): Decision {
  if (!request) return unknownRecord('request')
  const refusal = refuseEnd(request, end) ?? (reason === undefined ? null : refuseNote(request, reason))
  if (refusal) return refusal
  const { id } = request
  const writes: Write[] =
    end === 'cancel'
      ? cancelling(request, act, screening)
      : [{ set: 'request', id, to: { state: ends[end], declinedAt: act.at } }]
  if (reason !== undefined) writes.push(noteOf(request, end, reason, act))
  return outcome(`request.${end}`, 'request', id, writes, providersOf(request))
}

export interface ScreeningFacts {
  /** Answers by request. Lacks answers that cannot be decrypted. */
  readonly answers: ReadonlyMap<number, readonly ScreeningAnswer[]>
  /** Requests whose answers staff have read. */
  readonly reviewed: readonly number[]
}

export const unscreened: ScreeningFacts = { answers: new Map(), reviewed: [] }

/** Risk outlives a cancellation: a member who withdraws may be the one who most needs help. */
export function cancelling(
  { id, member }: RequestRecord,
  { at }: Act,
  { answers, reviewed }: ScreeningFacts,
): Write[] {
  const isUnread = !reviewed.includes(id) && isAtRisk(riskOf(answers.get(id) ?? null))
  return [
    { set: 'request', id, to: { state: 'cancelled', cancelledAt: at } },
    ...(isUnread && member
      ? [{ add: 'unreadRisk', row: { requestId: id, partnerId: member.partnerId } } as const]
      : []),
  ]
}

/** Ends requests, and skips those that cannot be. Answers the number of ended requests. */
export function decideEnds(
  end: RequestEnd,
  requests: readonly (RequestRecord | null)[],
  act: Act,
  reason?: string,
): Outcome<number> {
  const decisions = requests.map((request) => decideEnd(end, request, act, reason))
  const ended = decisions.flatMap((decision) => (decision instanceof Refusal ? [] : decision))
  return {
    writes: ended.flatMap(({ writes }) => writes),
    taken: [...new Set(ended.flatMap(({ taken }) => taken))],
    audit: ended.flatMap(({ audit }) => audit ?? []),
    answer: () => ended.length,
  }
}

/** Records that staff know the new local time of a slot. New zone data or a new time zone changes local times. */
export function decideAcknowledgement(request: RequestRecord | null, localOffsetMinutes: number): Decision {
  if (!request) return unknownRecord('request')
  const { id, state, startsAt } = request
  if (!holdsSlot(state) || startsAt === null) {
    return new Refusal('move_unknown', 'the request has no slot')
  }
  return setting('request.acknowledge', 'request', id, { localOffsetMinutes }, providersOf(request))
}

/** Allows reading the screening answers. The audit log records the reader. */
export function decideReading(
  request: RequestRecord | null,
  answers: readonly ScreeningAnswer[],
): Decision<readonly ScreeningAnswer[]> {
  if (!request) return unknownRecord('request')
  const read: Write[] = request.state === 'cancelled' ? [{ remove: 'unreadRisk', id: request.id }] : []
  return { ...outcome('request.read-screening', 'request', request.id, read), answer: () => answers }
}

/** A provider and a slot for a request, based on a snapshot of the directory. */
export interface PlacementDraft {
  readonly providerId: number
  /** ms; null for an assignment without a slot. */
  readonly startsAt: number | null
  readonly localOffsetMinutes: number | null
  readonly version: Version
  /** Stored only if an assigned intake has no authorization number yet. */
  readonly authorizationNumber: string
}

export interface PlacementFacts {
  readonly request: RequestRecord | null
  readonly isProviderKnown: boolean
  readonly since: readonly Change[] | null
  /** Requests with an overlapping slot of the same provider. */
  readonly holders: readonly SlotHolder[]
  /** The member's slots with all providers. Slots that end before the new slot may be missing. */
  readonly held: readonly HeldSlot[]
}

type Place = Pick<PlacementDraft, 'providerId' | 'startsAt'>

/** Checks whether a request can be placed. Does not check that the slot is free. @param to null for any place */
const refusals = {
  /** An intake, unless it is closed. Frees an earlier slot, and keeps the authorization number. */
  assign: refuseAssignment,
  /** A pending or accepted request. Frees the earlier slot. */
  move: refuseMoving,
  /** Undoes the decline of a booking request. */
  reopen: refuseReopening,
} satisfies Record<string, (request: RequestRecord, to: Place | null) => Refusal | null>

export type Placement = keyof typeof refusals

export function refusePlacement(kind: Placement, request: RequestRecord, to: Place | null): Refusal | null {
  return refusals[kind](request, to)
}

export function decidePlacement(
  kind: Placement,
  { version: _, authorizationNumber, ...to }: PlacementDraft,
  facts: PlacementFacts,
): 'stale' | Decision<RequestRecord> {
  const { request } = facts
  if (!request) return unknownRecord('request')
  const refusal = refusePlacement(kind, request, to) ?? refusePlace(to, request, facts)
  if (refusal) return refusal
  return placing(`request.${kind}`, request, {
    ...to,
    ...(kind === 'assign' && { authorizationNumber: request.authorizationNumber ?? authorizationNumber }),
  })
}

/** A placed request waits for the provider's answer again. Answers the placed request. */
export function placing<Request extends RequestRecord>(
  action: `request.${Placement | 'reschedule'}`,
  request: Request,
  to: Omit<PlacementDraft, 'version' | 'authorizationNumber'>,
): Outcome<Request> {
  const { providerId, startsAt } = to
  const placed = { ...to, state: 'pending' as const, acceptedAt: null, declinedAt: null }
  const endsAt = startsAt === null ? null : startsAt + slotMillis
  const taken = [...new Set([...providersOf(request), providerId])]
  const decided = setting(action, 'request', request.id, { ...placed, endsAt }, taken)
  const answer = () => ({ ...request, ...placed })
  return { ...withOutcome(decided, `done: provider ${providerId}`), answer }
}

function refuseAssignment(request: RequestRecord): Refusal | null {
  if (!request.isIntake) {
    const why = 'only an intake can be assigned, because a booking request already has a provider and a slot'
    return new Refusal('move_unknown', why)
  }
  return refuseErased(request) ?? refuseTransition(request, 'assigned')
}

function refuseMoving(request: RequestRecord, to: Place | null): Refusal | null {
  const refusal = refuseErased(request) ?? refuseTransition(request, 'moved')
  if (refusal) return refusal
  const isSame = request.providerId === to?.providerId && request.startsAt === to.startsAt
  return isSame ? new Refusal('move_unknown', 'the request already has this slot') : null
}

/** Undoes the closing of an intake. */
export function decideReopening(request: RequestRecord | null): Decision {
  if (!request) return unknownRecord('request')
  const to = { state: 'unassigned' as const, declinedAt: null }
  return refuseReopening(request) ?? setting('request.reopen', 'request', request.id, to)
}

function refuseReopening(request: RequestRecord): Refusal | null {
  const refusal = refuseErased(request) ?? refuseTransition(request, 'reopened')
  if (refusal || !request.isIntake || request.state === 'closed') return refusal
  return new Refusal('move_unknown', 'a declined intake is not reopened but assigned again', {
    action: `run anteroom request assign ${request.id}`,
  })
}

function refusePlace(
  { providerId, startsAt }: Place,
  { id }: RequestRecord,
  { isProviderKnown, since, holders, held }: PlacementFacts,
): 'stale' | Refusal | null {
  if (!isProviderKnown) return unknownRecord('provider')
  // Check the provider even without a slot, because the provider may have been deactivated since the snapshot.
  if (isStale(since, providerId)) return 'stale'
  if (holders.some(({ requestId }) => requestId !== id)) {
    return new Refusal('slot_unavailable', 'the slot is not available')
  }
  const others = held.filter(({ requestId }) => requestId !== id)
  const conflict = startsAt === null ? undefined : overlappingWith(startsAt, others)
  if (!conflict) return null
  const why = `request ${conflict.requestId} of the member already holds an overlapping slot`
  return new Refusal('slot_conflicts_with_yours', why)
}

const transitionsFrom = {
  accepted: ['pending'],
  cancelled: ['unassigned', 'pending', 'accepted'],
  declined: ['pending', 'accepted'],
  assigned: ['unassigned', 'pending', 'accepted', 'declined'],
  // Only an intake can be closed, because a booking request is never unassigned.
  closed: ['unassigned'],
  moved: ['pending', 'accepted'],
  reopened: ['declined', 'closed'],
} as const satisfies Record<string, readonly RequestState[]>

function refuseTransition({ state }: RequestRecord, name: keyof typeof transitionsFrom): Refusal | null {
  const from: readonly RequestState[] = transitionsFrom[name]
  if (from.includes(state)) return null
  return new Refusal('move_unknown', `a request that is ${state} cannot be ${name}`)
}

/** The maximum length of a note, in UTF-16 code units. */
const maxNoteLength = 4_000

/** Adds a staff note, and answers the id of the note. Refuses if the person was erased. */
export function decideNote(request: RequestRecord | null, text: string, act: Act): Decision<number> {
  if (!request) return unknownRecord('request')
  const refusal = refuseNote(request, text)
  if (refusal) return refusal
  const write = noteOf(request, 'note', text, act)
  return { ...outcome('request.note', 'request', request.id, [write]), answer: ([id]) => id as number }
}

function refuseNote(request: RequestRecord, text: string): Refusal | null {
  const erased = refuseErased(request)
  if (erased) return erased
  return refuseText(text)
}

/** Returns a Refusal field_invalid for a note or reason that is empty or too long. */
export function refuseText(text: string): Refusal | null {
  if (text.trim() === '') return new Refusal('field_invalid', 'the text must not be empty')
  if (text.length <= maxNoteLength) return null
  return new Refusal('field_invalid', `the text must have at most ${maxNoteLength} characters`)
}

function noteOf({ id }: RequestRecord, kind: NoteKind, text: string, { at, actor }: Act): Write {
  return { add: 'note', row: { requestId: id, kind, at, actor, text } }
}
