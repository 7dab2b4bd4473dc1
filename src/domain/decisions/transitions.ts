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
import { type HeldSlot, overlappingWith, type SlotHolder } from './submission'

/** Accepts a pending request. */
export function decideAcceptance(request: RequestRecord | null, { at }: Act): Decision {
  if (!request) return unknownRecord('request')
  const to = { state: 'accepted' as const, acceptedAt: at }
  return refuseTransition(request, 'accepted') ?? setting('request.accept', 'request', request.id, to)
}

/** Declines a pending or accepted request, and frees the slot. @param reason stored as a note */
export function decideDecline(request: RequestRecord | null, act: Act, reason?: string): Decision {
  return ending('decline', request, act, reason)
}

/** Closes an unassigned intake, for example a duplicate. @param reason stored as a note */
export function decideClosing(request: RequestRecord | null, act: Act, reason?: string): Decision {
  return ending('close', request, act, reason)
}

const ends = {
  decline: { action: 'request.decline', state: 'declined' },
  close: { action: 'request.close', state: 'closed' },
} as const

export type RequestEnd = keyof typeof ends

function ending(
  end: RequestEnd,
  request: RequestRecord | null,
  act: Act,
  reason: string | undefined,
): Decision {
  if (!request) return unknownRecord('request')
  const { action, state } = ends[end]
  const refusal = refuseTransition(request, state) ?? refuseReason(request, reason)
  if (refusal) return refusal
  const to = { state, declinedAt: act.at }
  const write: Write = { set: 'request', id: request.id, to }
  const note = reasonNote(request, end, act, reason)
  return outcome(action, 'request', request.id, [write, ...note], providersOf(request))
}

/** Declines or closes requests, and skips those that cannot be. Answers the number of ended requests. */
export function decideEnds(
  end: RequestEnd,
  requests: readonly (RequestRecord | null)[],
  act: Act,
  reason?: string,
): Outcome<number> {
  const decisions = requests.map((request) => ending(end, request, act, reason))
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
  return { ...outcome('request.read-screening', 'request', request.id, []), answer: () => answers }
}

/** A move to another slot, based on a snapshot of the directory. */
export interface MoveDraft {
  readonly providerId: number
  readonly startsAt: number
  readonly localOffsetMinutes: number
  readonly version: Version
}

/** An assignment of an intake to a provider, based on a snapshot of the directory. */
export interface AssignmentDraft extends Omit<MoveDraft, 'startsAt' | 'localOffsetMinutes'> {
  /** ms; null for an assignment without a slot. */
  readonly startsAt: number | null
  readonly localOffsetMinutes: number | null
  /** Stored only if the intake has no authorization number yet. */
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

/** Assigns an intake, unless the intake is closed. Frees an earlier slot, and keeps the authorization number. */
export function decideAssignment(draft: AssignmentDraft, facts: PlacementFacts): 'stale' | Decision {
  const { request } = facts
  if (!request) return unknownRecord('request')
  const refusal = refuseAssignment(request) ?? refusePlacement(draft, request, facts)
  if (refusal) return refusal
  const authorizationNumber = request.authorizationNumber ?? draft.authorizationNumber
  return placementOutcome('request.assign', request, { ...draft, authorizationNumber })
}

export function refuseAssignment(request: RequestRecord): Refusal | null {
  if (!request.isIntake) {
    const why = 'only an intake can be assigned, because a booking request already has a provider and a slot'
    return new Refusal('move_unknown', why)
  }
  return refuseErased(request) ?? refuseTransition(request, 'assigned')
}

/** Moves a pending or accepted request to another slot, and frees the earlier slot. */
export function decideMove(draft: MoveDraft, facts: PlacementFacts): 'stale' | Decision {
  const { request } = facts
  if (!request) return unknownRecord('request')
  const refusal = refuseMoving(request, draft) ?? refusePlacement(draft, request, facts)
  return refusal ?? placementOutcome('request.move', request, draft)
}

/** Checks whether a request can be moved. Does not check that the new slot is free. */
export function refuseMoving(
  request: RequestRecord,
  { providerId, startsAt }: Pick<MoveDraft, 'providerId' | 'startsAt'>,
): Refusal | null {
  const refusal = refuseErased(request) ?? refuseTransition(request, 'moved')
  if (refusal) return refusal
  const isSame = request.providerId === providerId && request.startsAt === startsAt
  return isSame ? new Refusal('move_unknown', 'the request already has this slot') : null
}

/** Undoes the closing of an intake. */
export function decideReopening(request: RequestRecord | null): Decision {
  if (!request) return unknownRecord('request')
  const to = { state: 'unassigned' as const, declinedAt: null }
  return refuseReopening(request) ?? setting('request.reopen', 'request', request.id, to)
}

/** Undoes the decline of a booking request, if its slot is still free. */
export function decideReopeningInSlot(draft: MoveDraft, facts: PlacementFacts): 'stale' | Decision {
  const { request } = facts
  if (!request) return unknownRecord('request')
  const refusal = refuseReopening(request) ?? refusePlacement(draft, request, facts)
  return refusal ?? placementOutcome('request.reopen', request, draft)
}

/** Does not check that the slot is free. */
export function refuseReopening(request: RequestRecord): Refusal | null {
  const refusal = refuseErased(request) ?? refuseTransition(request, 'reopened')
  if (refusal || !request.isIntake || request.state === 'closed') return refusal
  return new Refusal('move_unknown', 'a declined intake is not reopened but assigned again', {
    action: `run anteroom request assign ${request.id}`,
  })
}

function refusePlacement(
  { providerId, startsAt }: Pick<AssignmentDraft, 'providerId' | 'startsAt'>,
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

/** A moved request waits for the provider's answer again. */
function placementOutcome(
  action: 'request.assign' | 'request.move' | 'request.reopen',
  request: RequestRecord,
  {
    version: _,
    ...draft
  }: Omit<AssignmentDraft, 'authorizationNumber'> & { readonly authorizationNumber?: string },
): Outcome<void> {
  const { providerId, startsAt } = draft
  const to = {
    ...draft,
    state: 'pending' as const,
    endsAt: startsAt === null ? null : startsAt + slotMillis,
    acceptedAt: null,
    declinedAt: null,
  }
  const taken = [...new Set([...providersOf(request), providerId])]
  return withOutcome(setting(action, 'request', request.id, to, taken), `done: provider ${providerId}`)
}

const transitionsFrom = {
  accepted: ['pending'],
  declined: ['pending', 'accepted'],
  assigned: ['unassigned', 'pending', 'accepted', 'declined'],
  // Only an intake can be closed, because a booking request is never unassigned.
  closed: ['unassigned'],
  moved: ['pending', 'accepted'],
  reopened: ['declined', 'closed'],
} as const satisfies Record<string, readonly RequestState[]>

export function refuseTransition(
  { state }: RequestRecord,
  name: keyof typeof transitionsFrom,
): Refusal | null {
  const from: readonly RequestState[] = transitionsFrom[name]
  if (from.includes(state)) return null
  return new Refusal('move_unknown', `a request that is ${state} cannot be ${name}`)
}

/** The maximum length of a note, in UTF-16 code units. */
const maxNoteLength = 4_000

/** Adds a staff note, and answers the id of the note. Refuses if the person was erased. */
export function decideNote(request: RequestRecord | null, text: string, act: Act): Decision<number> {
  if (!request) return unknownRecord('request')
  const refusal = refuseErased(request) ?? refuseText(text)
  if (refusal) return refusal
  const write = noteOf(request, 'note', text, act)
  return { ...outcome('request.note', 'request', request.id, [write]), answer: ([id]) => id as number }
}

function refuseText(text: string): Refusal | null {
  if (text.trim() === '') return new Refusal('field_invalid', 'the text must not be empty')
  if (text.length <= maxNoteLength) return null
  return new Refusal('field_invalid', `the text must have at most ${maxNoteLength} characters`)
}

function refuseReason(request: RequestRecord, reason: string | undefined): Refusal | null {
  return reason === undefined ? null : (refuseErased(request) ?? refuseText(reason))
}

function reasonNote(request: RequestRecord, kind: NoteKind, act: Act, reason: string | undefined): Write[] {
  return reason === undefined ? [] : [noteOf(request, kind, reason, act)]
}

function noteOf({ id }: RequestRecord, kind: NoteKind, text: string, { at, actor }: Act): Write {
  return { add: 'note', row: { requestId: id, kind, at, actor, text } }
}
