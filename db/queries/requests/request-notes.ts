import { asc, eq, gt } from 'drizzle-orm'
import type { MemberNote } from '../../../src/domain/decisions/members'
import type { MaybePromise } from '../../../src/domain/ports/store'
import type { Vault } from '../../../src/domain/ports/vault'
import { openNote } from '../../sealed/requests'
import { placeholders, type QueriesOf, type QueryEngine, then, unreadable, type Walk } from '../engine'

export function noteQueries(
  { db, tables: { bookingRequests, requestNotes }, prepare, isAmong, list }: QueryEngine,
  vault: Vault,
) {
  const open = placeholders('id', 'ids', 'most')
  const { id, requestId } = requestNotes
  const ofRequest = prepare(db.select().from(requestNotes).where(eq(requestId, open.id)).orderBy(asc(id)))
  const idsOfRequest = prepare(db.select({ id }).from(requestNotes).where(eq(requestId, open.id)))
  const { memberId } = bookingRequests
  const ofMembers = prepare(
    db
      .select({ id, memberId })
      .from(requestNotes)
      .innerJoin(bookingRequests, eq(bookingRequests.id, requestId))
      .where(isAmong(memberId, open.ids)),
  )
  const after = prepare(
    db.select().from(requestNotes).where(gt(id, open.id)).orderBy(asc(id)).limit(open.most),
  )

  return {
    /** Returns notes, oldest first. */
    listOf: (id) => then(ofRequest({ id }), (rows) => rows.map((row) => openNote(vault, row))),

    idsOf: (id) => then(idsOfRequest({ id }), (rows) => rows.map(({ id }) => id)),

    ofMembers: (ids) => ofMembers({ ids: list(ids) }) as MaybePromise<MemberNote[]>,

    listUnreadable: (walk: Walk) =>
      unreadable(
        walk((id, most) => after({ id, most })),
        (row) => openNote(vault, row),
      ),
  } satisfies QueriesOf<'notes'>
}
