import { and, asc, eq, gt, isNotNull, max, sql } from 'drizzle-orm'
import type { MaybePromise } from '../../../src/domain/ports/store'
import type { Vault } from '../../../src/domain/ports/vault'
import type { Outcome } from '../../../src/domain/ports/writes'
import { openMember } from '../../sealed/members'
import { factsOf } from '../../sealed/requests'
import { all, placeholders, type QueriesOf, type QueryEngine, then } from '../engine'

/** Name of the setting that differs between a database and its restored backup. */
export const generationName = 'generation'

export function newGeneration(): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(16))
}

/** Requests as their partner sees them, and the order of their changes. */
export function partnerRequestQueries({ db, tables, prepare, prepareWrite }: QueryEngine, vault: Vault) {
  const { bookingRequests, requestPositions, members, settings } = tables
  const { position } = requestPositions
  const { id, partnerId, memberId, state, providerId, authorizationNumber } = bookingRequests
  const { startsAt, acceptedAt, declinedAt, cancelledAt } = bookingRequests
  const open = placeholders('id', 'partnerId', 'position', 'most')
  const own = prepare(
    db
      .select({ request: bookingRequests, member: members })
      .from(bookingRequests)
      .innerJoin(members, eq(members.id, memberId))
      .where(and(eq(id, open.id), eq(partnerId, open.partnerId))),
  )
  const times = { startsAt, acceptedAt, declinedAt, cancelledAt }
  const after = prepare(
    db
      .select({ id, memberId, state, providerId, authorizationNumber, ...times, position })
      .from(requestPositions)
      .innerJoin(bookingRequests, eq(id, requestPositions.id))
      .where(and(eq(requestPositions.partnerId, open.partnerId), gt(position, open.position)))
      .orderBy(asc(position))
      .limit(open.most),
  )
  const newest = prepare(
    db
      .select({ position: max(position) })
      .from(requestPositions)
      .where(eq(requestPositions.partnerId, open.partnerId)),
  )
  const generation = prepare(
    db.select({ value: settings.value }).from(settings).where(eq(settings.name, generationName)),
  )
  const theirs = sql`${requestPositions} as theirs where theirs.partner_id = booking_requests.partner_id`
  const placed = {
    id,
    partnerId,
    position: sql<number>`coalesce((select max(theirs.position) from ${theirs}), 0) + 1`.as('position'),
  }
  const place = prepareWrite(
    db
      .insert(requestPositions)
      .select(
        db
          .select(placed as never)
          .from(bookingRequests)
          .where(and(eq(id, open.id), isNotNull(partnerId))) as never,
      )
      .onConflictDoUpdate({ target: requestPositions.id, set: { position: sql`excluded.position` } }),
  )

  /** A position, and a keyed hash of it with the partner and the generation. */
  function cursorAt(generation: Buffer | undefined, partnerId: number, position: number): string {
    const bound = JSON.stringify([generation?.toString('hex'), partnerId, position])
    return `${position}-${Buffer.from(vault.keyedHash('cursor', bound)).toString('hex', 0, 12)}`
  }

  return {
    /** @throws Refusal database_unusable if the member cannot be opened */
    findOwn: (partnerId, id) =>
      then(own({ partnerId, id }), ([row]) =>
        row ? { ...factsOf(row.request), member: openMember(vault, row.member) } : null,
      ),

    changesAfter(partnerId, cursor, most) {
      const from = Number(/^\d{1,15}(?=-)/.exec(cursor ?? '0-')?.[0])
      return then(all([generation(), newest({ partnerId })]), ([[stored], [last]]) => {
        const cursorTo = (position: number) => cursorAt(stored?.value, partnerId, position)
        const isOfThisHistory = from <= (last?.position ?? 0) && (cursor ?? cursorTo(0)) === cursorTo(from)
        if (!isOfThisHistory) return null
        return then(after({ partnerId, position: from, most }), (rows) => ({
          results: rows.map(({ position: _, memberId, ...request }) => {
            return { ...request, isErased: memberId === null }
          }),
          next: cursorTo(rows.at(-1)?.position ?? from),
        }))
      })
    },

    /** For SQLite: moves a request to the end of its partner's list. */
    place: (id: number): MaybePromise<unknown> => place({ id }),
  } satisfies QueriesOf<'requests'>
}

/** Returns the requests whose entry in the list of changes differs. @param ids the record id of each write */
export function replacedIn({ writes }: Outcome<unknown>, ids: readonly number[]): number[] {
  const isShown = (to: object) => 'state' in to || 'memberId' in to
  return writes.flatMap((write, index) => {
    const isOne =
      'add' in write
        ? write.add === 'request'
        : 'set' in write && write.set === 'request' && isShown(write.to)
    return isOne ? (ids[index] as number) : []
  })
}
