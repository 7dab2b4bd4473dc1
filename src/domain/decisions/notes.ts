import type { Act } from '../audit'
import { type NoteKind, type RequestNote, type RequestRecord, refuseErased } from '../booking-request'
import { Refusal } from '../errors'
import { type Decision, outcome, unknownRecord, type Write } from '../ports/writes'

/** The longest note, in characters. */
const mostNoteLength = 4_000

/** Staff write about a request of somebody who is still known: a note goes with the person. Answers the note's id. */
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

/** Why a reason cannot be kept with a request; null if it can, or there is none. */
export function refuseReason(request: RequestRecord, reason: string | undefined): Refusal | null {
  return reason === undefined ? null : (refuseErased(request) ?? refuseText(reason))
}

/** The note in which staff keep why they did a thing; none without a reason. */
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

/** The notes on a request may be read; the audit log tells who did. */
export function decideReadingNotes(
  request: RequestRecord | null,
  notes: readonly RequestNote[],
): Decision<readonly RequestNote[]> {
  if (!request) return unknownRecord('request')
  return { ...outcome('request.read-notes', 'request', request.id, []), answer: () => notes }
}
