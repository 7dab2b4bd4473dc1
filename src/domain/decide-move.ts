import type { Act } from './audit'
import {
  type NoteKind,
  type RequestNote,
  type RequestRecord,
  type RequestState,
  type ScreeningAnswer,
  slotMillis,
} from './booking-request'
import { type HeldSlot, overlappingWith, type SlotHolder } from './decide-submission'
import type { Version } from './directory-feed'
import { Refusal } from './errors'
import { type Change, type Decision, isStale, type Outcome, outcome, setting, unknownRecord } from './writes'

/** The states from which a request can make each move (decisions, States). */
const movesFrom: Record<'accepted' | 'declined', readonly RequestState[]> = {
  accepted: ['pending'],
  declined: ['pending', 'accepted'],
}

/** Whether requests of a state hold their slot, where they have one. */
export function holdsSlot(state: RequestState): boolean {
  return state === 'pending' || state === 'accepted'
}

/** pending -> accepted. */
export function decideAcceptance(request: RequestRecord | null, { at }: Act): Decision {
  if (!request) return unknownRecord('request')
  const to = { state: 'accepted' as const, acceptedAt: at }
  return refuseMove(request, 'accepted') ?? setting('request.accept', 'request', request.id, to)
}

/** pending or accepted -> declined; the slot is free again. */
export function decideDecline(request: RequestRecord | null, { at }: Act): Decision {
  if (!request) return unknownRecord('request')
  const to = { state: 'declined' as const, declinedAt: at }
  const refusal = refuseMove(request, 'declined')
  return refusal ?? setting('request.decline', 'request', request.id, to, providersOf(request))
}

/** Those of many requests that can be declined are, and the others stay as they are: the answer is how many were. */
export function decideDeclines(requests: readonly (RequestRecord | null)[], act: Act): Outcome<number> {
  const decisions = requests.map((request) => decideDecline(request, act))
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

/** A provider attached to an intake, as a snapshot of the directory allows it. */
export interface AssignmentDraft {
  readonly providerId: number
  /** ms; null to attach the provider without a slot. */
  readonly startsAt: number | null
  /** Minutes east of UTC of the provider's clock at the slot; null without a slot. */
  readonly localOffsetMinutes: number | null
  /** The snapshot's version. */
  readonly version: Version
  /** For an intake that has none yet. */
  readonly authorizationNumber: string
}

/** What holds at the moment of writing. */
export interface AssignmentFacts {
  readonly request: RequestRecord | null
  readonly isProviderKnown: boolean
  readonly since: readonly Change[] | null
  /** Who holds a slot of the provider that touches the one asked for. */
  readonly holders: readonly SlotHolder[]
  /** The slots of the request's member, of whichever provider; those that are over before it may be missing. */
  readonly held: readonly HeldSlot[]
}

/** An intake of any state -> pending with the provider, its earlier slot free; the number, once given, stays. */
export function decideAssignment(
  draft: AssignmentDraft,
  { request, isProviderKnown, since, holders, held }: AssignmentFacts,
): 'stale' | Decision {
  const { providerId, startsAt, localOffsetMinutes } = draft
  if (!request) return unknownRecord('request')
  const refusal = refuseAssignment(request)
  if (refusal) return refusal
  if (!isProviderKnown) return unknownRecord('provider')
  // Without a slot too: the provider may have been deactivated since.
  if (isStale(since, providerId)) return 'stale'
  if (holders.some(({ requestId }) => requestId !== request.id)) {
    return new Refusal('slot_unavailable', 'the slot is not available')
  }
  const others = held.filter(({ requestId }) => requestId !== request.id)
  const conflict = startsAt === null ? undefined : overlappingWith(startsAt, others)
  if (conflict) {
    const why = `the member holds a slot that overlaps with this one, by request ${conflict.requestId}`
    return new Refusal('slot_conflicts_with_yours', why)
  }
  const to = {
    state: 'pending' as const,
    providerId,
    authorizationNumber: request.authorizationNumber ?? draft.authorizationNumber,
    startsAt,
    endsAt: startsAt === null ? null : startsAt + slotMillis,
    localOffsetMinutes,
    acceptedAt: null,
    declinedAt: null,
  }
  const taken = [...new Set([...providersOf(request), providerId])]
  return setting('request.assign', 'request', request.id, to, taken)
}

/** Why a provider cannot be attached to a request, whoever it is; null if one can. */
export function refuseAssignment({ isIntake, member }: RequestRecord): Refusal | null {
  if (isIntake && member) return null
  const why = isIntake
    ? 'the person of this request was erased; there is nobody to assign to'
    : 'a booking request came with its provider and slot; only an intake can be assigned'
  return new Refusal('move_unknown', why)
}

/** The longest note, in characters. */
const mostNoteLength = 4_000

/** Staff write about a request of somebody who is still known: a note goes with the person. */
export function decideNote(
  request: RequestRecord | null,
  kind: NoteKind,
  text: string,
  { actor, at }: Act,
): Decision {
  if (!request) return unknownRecord('request')
  if (!request.member) return new Refusal('move_unknown', 'the person of this request was erased')
  if (text.trim() === '') return new Refusal('field_invalid', 'the note is empty')
  if (text.length > mostNoteLength) {
    return new Refusal('field_invalid', `a note has at most ${mostNoteLength} characters`)
  }
  const row = { requestId: request.id, kind, at, actor, text }
  return outcome('request.note', 'request', request.id, [{ add: 'note', row }])
}

/** The notes on a request may be read; the audit log tells who did. */
export function decideReadingNotes(
  request: RequestRecord | null,
  notes: readonly RequestNote[],
): Decision<readonly RequestNote[]> {
  if (!request) return unknownRecord('request')
  return { ...outcome('request.read-notes', 'request', request.id, []), answer: () => notes }
}

/** The screening answers of a request may be read; the audit log tells who did. */
export function decideReading(
  request: RequestRecord | null,
  answers: readonly ScreeningAnswer[],
): Decision<readonly ScreeningAnswer[]> {
  if (!request) return unknownRecord('request')
  return { ...outcome('request.read-screening', 'request', request.id, []), answer: () => answers }
}

function refuseMove({ state }: RequestRecord, name: 'accepted' | 'declined'): Refusal | null {
  if (movesFrom[name].includes(state)) return null
  return new Refusal('move_unknown', `a request that is ${state} cannot be ${name}`)
}

function providersOf({ providerId }: RequestRecord): number[] {
  return providerId === null ? [] : [providerId]
}
