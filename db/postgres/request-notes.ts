import { asc, eq, gt } from 'drizzle-orm'
import type { RequestNote } from '../../src/domain/booking-request'
import type { Vault } from '../../src/domain/vault'
import type { Walk } from '../queries/engine'
import { isReadable, openNote } from '../sealed/notes'
import { type Drizzle, placeholders } from './drizzle'
import { bookingRequests, requestNotes } from './schema'

/** Queries on what staff wrote about requests. */
export function noteQueries(db: Drizzle, vault: Vault) {
  const { id, most } = placeholders('id', 'most')
  const ofRequest = db
    .select()
    .from(requestNotes)
    .where(eq(requestNotes.requestId, id))
    .orderBy(asc(requestNotes.id))
    .prepare('')
  const idsOfRequest = db
    .select({ id: requestNotes.id })
    .from(requestNotes)
    .where(eq(requestNotes.requestId, id))
    .orderBy(asc(requestNotes.id))
    .prepare('')
  const idsOfMembers = db
    .select({ id: requestNotes.id })
    .from(bookingRequests)
    .innerJoin(requestNotes, eq(requestNotes.requestId, bookingRequests.id))
    .where(eq(bookingRequests.memberId, id))
    .prepare('')
  const after = db
    .select()
    .from(requestNotes)
    .where(gt(requestNotes.id, id))
    .orderBy(asc(requestNotes.id))
    .limit(most)
    .prepare('')

  return {
    /** The notes of a request, oldest first. */
    listOf: async (requestId: number): Promise<RequestNote[]> =>
      (await ofRequest.execute({ id: requestId })).map((row) => openNote(vault, row)),

    /** The ids of a request's notes, be they such as can be opened or not. */
    idsOf: async (requestId: number): Promise<number[]> =>
      (await idsOfRequest.execute({ id: requestId })).map(({ id }) => id),

    /** The ids of the notes on all requests of a member. */
    idsOfMember: async (memberId: number): Promise<number[]> =>
      (await idsOfMembers.execute({ id: memberId })).map(({ id }) => id),

    /** The ids of those that cannot be opened. */
    async *listUnreadable(walk: Walk): AsyncGenerator<number> {
      for await (const row of walk((id, most) => after.execute({ id, most }))) {
        if (!isReadable(vault, row)) yield row.id
      }
    },
  }
}
