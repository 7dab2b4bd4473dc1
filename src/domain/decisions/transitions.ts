import type { Act } from '../audit'
import {
  holdsSlot,
  type NoteKind,
  providersOf,
  type RequestNote,
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
} from '../ports/writes'
import { type HeldSlot, overlappingWith, type SlotHolder } from './submission'

/** pending -> accepted. */
export function decideAcceptance(request: RequestRecord | null, { at }: Act): Decision {
  if (!request) return unknownRecord('request')
  const to = { state: 'accepted' as const, acceptedAt: at }
  return refuseTransition(request, 'accepted') ?? setting('request.accept', 'request', request.id, to)
}

/** pending or accepted -> declined; the slot is free again. @param reason kept as a note */
export function decideDecline(request: RequestRecord | null, act: Act, reason?: string): Decision {
  return ending('decline', request, act, reason)
}

/** unassigned -> closed: an intake that was withdrawn, or a duplicate. @param reason kept as a note */
export function decideClosing(request: RequestRecord | null, act: Act, reason?: string): Decision {
  return ending('close', request, act, reason)
}

const ends = {
  decline: { action: 'request.decline', state: 'declined' },
  close: { action: 'request.close', state: 'closed' },
} as const

function ending(
  end: keyof typeof ends,
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

/** Those of many requests that can be declined are, and the others stay as they are: the answer is how many were. */
export function decideDeclines(
  requests: readonly (RequestRecord | null)[],
  act: Act,
  reason?: string,
): Outcome<number> {
  const decisions = requests.map((request) => decideDecline(request, act, reason))
  const declined = decisions.flatMap((decision) => (decision instanceof Refusal ? [] : decision))
  return {
    writes: declined.flatMap(({ writes }) => writes),
    taken: [...new Set(declined.flatMap(({ taken }) => taken))],
    audit: declined.flatMap(({ audit }) => audit ?? []),
    answer: () => declined.length,
  }
}

/**
 * A booked time that the provider's clock will show otherwise than it was to be, since time zone data has changed, is
 * known to those concerned: from now on it is expected to show what it will.
 *
 * @param localOffsetMinutes minutes east of UTC of the provider's clock at the slot, by the zone data of now
 */
export function decideAcknowledgement(request: RequestRecord | null, localOffsetMinutes: number): Decision {
  if (!request) return unknownRecord('request')
  const { id, state, startsAt } = request
  if (!holdsSlot(state) || startsAt === null) {
    return new Refusal('move_unknown', 'the request holds no slot')
  }
  return setting('request.acknowledge', 'request', id, { localOffsetMinutes }, providersOf(request))
}

/** The screening answers of a request may be read; the audit log tells who did. */
export function decideReading(
  request: RequestRecord | null,
  answers: readonly ScreeningAnswer[],
): Decision<readonly ScreeningAnswer[]> {
  if (!request) return unknownRecord('request')
  return { ...outcome('request.read-screening', 'request', request.id, []), answer: () => answers }
}

/** A provider's slot for a request, as a snapshot of the directory allows it. */
export interface MoveDraft {
  readonly providerId: number
  /** ms */
  readonly startsAt: number
  /** Minutes east of UTC of the provider's clock at the slot. */
  readonly localOffsetMinutes: number
  /** The snapshot's version. */
  readonly version: Version
}

/** A provider attached to an intake, as a snapshot of the directory allows it. */
export interface AssignmentDraft extends Omit<MoveDraft, 'startsAt' | 'localOffsetMinutes'> {
  /** ms; null to attach the provider without a slot. */
  readonly startsAt: number | null
  /** Null without a slot. */
  readonly localOffsetMinutes: number | null
  /** For an intake that has none yet. */
  readonly authorizationNumber: string
}

/** What holds at the moment of writing. */
export interface PlacementFacts {
  readonly request: RequestRecord | null
  readonly isProviderKnown: boolean
  readonly since: readonly Change[] | null
  /** Who holds a slot of the provider that touches the one asked for. */
  readonly holders: readonly SlotHolder[]
  /** The slots of the request's member, of whichever provider; those that are over before it may be missing. */
  readonly held: readonly HeldSlot[]
}

/** An intake of any state but closed -> pending with the provider, its earlier slot free; the number, once given, stays. */
export function decideAssignment(draft: AssignmentDraft, facts: PlacementFacts): 'stale' | Decision {
  const { request } = facts
  if (!request) return unknownRecord('request')
  const refusal = refuseAssignment(request) ?? refusePlacement(draft, request, facts)
  if (refusal) return refusal
  const authorizationNumber = request.authorizationNumber ?? draft.authorizationNumber
  return placing('request.assign', request, { ...draft, authorizationNumber })
}

/** Why a provider cannot be attached to a request, whoever it is; null if one can. */
export function refuseAssignment(request: RequestRecord): Refusal | null {
  if (!request.isIntake) {
    const why = 'a booking request came with its provider and slot; only an intake can be assigned'
    return new Refusal('move_unknown', why)
  }
  return refuseErased(request) ?? refuseTransition(request, 'assigned')
}

/** Pending or accepted -> pending at another slot, the earlier one free; id and authorization number stay. */
export function decideMove(draft: MoveDraft, facts: PlacementFacts): 'stale' | Decision {
  const { request } = facts
  if (!request) return unknownRecord('request')
  const refusal = refuseMoving(request, draft) ?? refusePlacement(draft, request, facts)
  return refusal ?? placing('request.move', request, draft)
}

/** Why a request cannot be moved to a slot, free or not; null if it can. */
export function refuseMoving(
  request: RequestRecord,
  { providerId, startsAt }: Pick<MoveDraft, 'providerId' | 'startsAt'>,
): Refusal | null {
  const refusal = refuseErased(request) ?? refuseTransition(request, 'moved')
  if (refusal) return refusal
  const isSame = request.providerId === providerId && request.startsAt === startsAt
  return isSame ? new Refusal('move_unknown', 'the request holds that slot already') : null
}

/** What stands in the way of a provider, and of a slot if one is named, for a request that may have them. */
function refusePlacement(
  { providerId, startsAt }: Pick<AssignmentDraft, 'providerId' | 'startsAt'>,
  { id }: RequestRecord,
  { isProviderKnown, since, holders, held }: PlacementFacts,
): 'stale' | Refusal | null {
  if (!isProviderKnown) return unknownRecord('provider')
  // Without a slot too: the provider may have been deactivated since.
  if (isStale(since, providerId)) return 'stale'
  if (holders.some(({ requestId }) => requestId !== id)) {
    return new Refusal('slot_unavailable', 'the slot is not available')
  }
  const others = held.filter(({ requestId }) => requestId !== id)
  const conflict = startsAt === null ? undefined : overlappingWith(startsAt, others)
  if (!conflict) return null
  const why = `the member holds a slot that overlaps with this one, by request ${conflict.requestId}`
  return new Refusal('slot_conflicts_with_yours', why)
}

/** Pending with a provider, as if nobody had answered it. */
function placing(
  action: 'request.assign' | 'request.move',
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
  return setting(action, 'request', request.id, to, taken)
}

/** The states from which each transition is possible (decisions, States). */
const transitionsFrom = {
  accepted: ['pending'],
  declined: ['pending', 'accepted'],
  // An intake alone.
  assigned: ['unassigned', 'pending', 'accepted', 'declined'],
  // An intake too: no booking request is ever unassigned.
  closed: ['unassigned'],
  moved: ['pending', 'accepted'],
} as const satisfies Record<string, readonly RequestState[]>

/** Refuses a transition that is impossible from the state of a request. */
export function refuseTransition(
  { state }: RequestRecord,
  name: keyof typeof transitionsFrom,
): Refusal | null {
  const from: readonly RequestState[] = transitionsFrom[name]
  if (from.includes(state)) return null
  return new Refusal('move_unknown', `a request that is ${state} cannot be ${name}`)
}

/** The longest note, in characters. */
const mostNoteLength = 4_000

/** Adds a staff note to a request. Refused if the member was erased. Answers the note's id. */
export function decideNote(request: RequestRecord | null, text: string, act: Act): Decision<number> {
  if (!request) return unknownRecord('request')
  const refusal = refuseErased(request) ?? refuseText(text)
  if (refusal) return refusal
  const write = noteOf(request, 'note', text, act)
  return { ...outcome('request.note', 'request', request.id, [write]), answer: ([id]) => id as number }
}

/** Why a text cannot be a note; null if it can. */
function refuseText(text: string): Refusal | null {
  if (text.trim() === '') return new Refusal('field_invalid', 'the text is empty')
  if (text.length <= mostNoteLength) return null
  return new Refusal('field_invalid', `the text is longer than ${mostNoteLength} characters`)
}

/** Why a reason cannot be stored with a request; null if it can, or there is none. */
export function refuseReason(request: RequestRecord, reason: string | undefined): Refusal | null {
  return reason === undefined ? null : (refuseErased(request) ?? refuseText(reason))
}

/** The note that keeps the reason of a transition; none without a reason. */
export function reasonNote(
  request: RequestRecord,
  kind: NoteKind,
  act: Act,
  reason: string | undefined,
): Write[] {
  return reason === undefined ? [] : [noteOf(request, kind, reason, act)]
}

function noteOf({ id }: RequestRecord, kind: NoteKind, text: string, { at, actor }: Act): Write {
  return { add: 'note', row: { requestId: id, kind, at, actor, text } }
}

/** Reading the notes on a request, which the audit log records. */
export function decideReadingNotes(
  request: RequestRecord | null,
  notes: readonly RequestNote[],
): Decision<readonly RequestNote[]> {
  if (!request) return unknownRecord('request')
  return { ...outcome('request.read-notes', 'request', request.id, []), answer: () => notes }
}
