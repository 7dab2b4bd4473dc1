import { asc, eq, gt } from 'drizzle-orm'
import type { RequestNote } from '../../src/domain/booking-request'
import type { Vault } from '../../src/domain/vault'
import type { Walk } from '../queries/engine'
import { isReadable, noteColumns, openNote } from '../sealed/notes'
import { type Drizzle, placeholders } from './drizzle'
import { type RecordTable, recordTable } from './record-table'
import { bookingRequests, requestNotes } from './schema'

/** Queries on what staff wrote about requests. */
export function noteQueries(db: Drizzle, vault: Vault) {
  const { id, most } = placeholders('id', 'most')
  const ofRequest = db
    .select()
    .from(requestNotes)
    .where(eq(requestNotes.requestId, id))
    .orderBy(asc(requestNotes.id))
    .prepare()
  const idsOfRequest = db
    .select({ id: requestNotes.id })
    .from(requestNotes)
    .where(eq(requestNotes.requestId, id))
    .prepare()
  const idsOfMembers = db
    .select({ id: requestNotes.id })
    .from(bookingRequests)
    .innerJoin(requestNotes, eq(requestNotes.requestId, bookingRequests.id))
    .where(eq(bookingRequests.memberId, id))
    .prepare()
  const after = db
    .select()
    .from(requestNotes)
    .where(gt(requestNotes.id, id))
    .orderBy(asc(requestNotes.id))
    .limit(most)
    .prepare()

  return {
    /** The notes of a request, oldest first. */
    listOf: (requestId: number): RequestNote[] =>
      ofRequest.all({ id: requestId }).map((row) => openNote(vault, row)),

    /** The ids of a request's notes, be they such as can be opened or not. */
    idsOf: (requestId: number): number[] => idsOfRequest.all({ id: requestId }).map(({ id }) => id),

    /** The ids of the notes on all requests of a member. */
    idsOfMember: (memberId: number): number[] => idsOfMembers.all({ id: memberId }).map(({ id }) => id),

    /** The ids of those that cannot be opened. */
    async *listUnreadable(walk: Walk): AsyncGenerator<number> {
      for await (const row of walk((id, most) => after.all({ id, most }))) {
        if (!isReadable(vault, row)) yield row.id
      }
    },
  }
}

export function noteTable(db: Drizzle, vault: Vault): RecordTable<'note'> {
  const table = recordTable<'note'>(db, requestNotes)
  return { ...table, add: (row) => table.add(noteColumns(vault, row) as never) }
}
