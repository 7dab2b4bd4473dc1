import type { Act } from '../domain/audit'
import type { RequestNote } from '../domain/booking-request'
import { decideNote, decideReadingNotes } from '../domain/decisions/notes'
import type { Records } from './context'

/** Writes about a request, for staff alone, and tells the note's id. @throws Refusal record_unknown, move_unknown, field_invalid */
export function addNote({ store }: Records, requestId: number, text: string, act: Act): Promise<number> {
  return store.change(
    act,
    ({ requests }) => [requests.find(requestId)],
    (request) => decideNote(request, text, act),
  )
}

/** Reads what staff wrote about a request, oldest first, which the audit log keeps. @throws Refusal record_unknown */
export function readNotes({ store }: Records, requestId: number, act: Act): Promise<readonly RequestNote[]> {
  return store.change(
    act,
    ({ requests, notes }) => [requests.find(requestId), notes.listOf(requestId)],
    decideReadingNotes,
  )
}

/** How many notes there are on a request: that there are some is no reading. */
export async function countNotes({ store }: Records, requestId: number): Promise<number> {
  return (await store.read(({ notes }) => notes.idsOf(requestId))).length
}
