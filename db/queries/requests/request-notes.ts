import { asc, eq, gt } from 'drizzle-orm'
import type { RequestNote } from '../../../src/domain/booking-request'
import type { Vault } from '../../../src/domain/vault'
import { openNote } from '../../sealed/notes'
import { type MaybePromise, placeholders, type QueryEngine, then, unreadable, type Walk } from '../engine'

/** Queries on the notes that staff write on requests. */
export function noteQueries(
  { db, tables: { bookingRequests, requestNotes }, ...engine }: QueryEngine,
  vault: Vault,
) {
  const open = placeholders('id', 'ids', 'most')
  const { id, requestId } = requestNotes
  const ofRequest = engine.prepare(
    db.select().from(requestNotes).where(eq(requestId, open.id)).orderBy(asc(id)),
  )
  const idsOfRequests = engine.prepare(
    db.select({ id }).from(requestNotes).where(engine.isAmong(requestId, open.ids)),
  )
  const requestsOf = engine.prepare(
    db.select({ id: bookingRequests.id }).from(bookingRequests).where(eq(bookingRequests.memberId, open.id)),
  )
  const after = engine.prepare(
    db.select().from(requestNotes).where(gt(id, open.id)).orderBy(asc(id)).limit(open.most),
  )
  const toIds = (rows: readonly { id: number }[]) => rows.map(({ id }) => id)
  const idsOf = (requestIds: readonly number[]): MaybePromise<number[]> =>
    then(idsOfRequests({ ids: engine.list(requestIds) }), toIds)

  return {
    /** The notes of a request, oldest first. */
    listOf: (id: number): MaybePromise<RequestNote[]> =>
      then(ofRequest({ id }), (rows) => rows.map((row) => openNote(vault, row))),

    /** The ids of a request's notes, readable or not. */
    idsOf: (requestId: number) => idsOf([requestId]),

    /** The ids of the notes on all requests of a member. */
    idsOfMember: (memberId: number) =>
      then(requestsOf({ id: memberId }), (requests) => idsOf(toIds(requests))),

    /** The ids of the notes that cannot be opened. */
    listUnreadable: (walk: Walk) =>
      unreadable(
        walk((id, most) => after({ id, most })),
        (row) => openNote(vault, row),
      ),
  }
}
