import { and, eq, gt } from 'drizzle-orm'
import { slotMillis } from '../../../src/domain/booking-request'
import type { HeldSlot, SlotHolder } from '../../../src/domain/decisions/submission'
import type { TakenSlot } from '../../../src/domain/ports/directory-feed'
import type { MaybePromise } from '../../../src/domain/ports/store'
import { placeholders, type QueryEngine, then } from '../engine'
import { requestFilter } from './request-filter'

/** To save memory, all providers without taken slots share this value. */
const none: readonly TakenSlot[] = []

const endOfTime = Number.MAX_SAFE_INTEGER

type TakenRow = [providerId: number, ...slot: [number, number, number, number]]

export function slotQueries({ db, tables, ...engine }: QueryEngine) {
  const { bookingRequests } = tables
  const { id: requestId, memberId, providerId, startsAt, endsAt, localOffsetMinutes } = bookingRequests
  const { holdsSlot } = requestFilter({ tables, ...engine })
  const open = placeholders('id', 'ids', 'from', 'until')
  const overlaps = engine.overlaps({ startsAt, endsAt }, open.from, open.until)
  const touching = engine.prepare(
    db
      .select({ requestId, memberId, startsAt })
      .from(bookingRequests)
      .where(and(holdsSlot, eq(providerId, open.id), overlaps)),
  )
  const taken = engine.prepareArrays(
    db
      .select({ providerId, requestId, startsAt, endsAt, localOffsetMinutes })
      .from(bookingRequests)
      .where(and(holdsSlot, engine.isAmong(providerId, open.ids), overlaps))
      .orderBy(providerId, startsAt),
  )
  const held = engine.prepare(
    db
      .select({ requestId, startsAt })
      .from(bookingRequests)
      .where(and(holdsSlot, eq(memberId, open.id), gt(startsAt, open.from)))
      .orderBy(startsAt),
  )

  return {
    /** Returns the requests of a provider that overlap a slot. @param startsAt start of the slot, in ms */
    touching: (providerId: number, startsAt: number) =>
      touching({ id: providerId, from: startsAt, until: startsAt + slotMillis }) as MaybePromise<
        SlotHolder[]
      >,

    /** Returns taken slots by provider, ordered by start. @param after omits slots that end by this time (ms) */
    takenSlots: (
      providerIds: readonly number[],
      after: number,
    ): MaybePromise<Map<number, readonly TakenSlot[]>> =>
      then(taken({ ids: engine.list(providerIds), from: after, until: endOfTime }), (rows) => {
        const found = new Map<number, readonly TakenSlot[]>(providerIds.map((id) => [id, none]))
        for (const [providerId, requestId, startsAt, endsAt, localOffsetMinutes] of rows as TakenRow[]) {
          const slot = { requestId, startsAt, endsAt, localOffsetMinutes }
          const slots = found.get(providerId) as TakenSlot[]
          if (slots === none) found.set(providerId, [slot])
          else slots.push(slot)
        }
        return found
      }),

    /** Returns the slots of a member. @param after omits slots that end by this time (ms) */
    heldBy: (id: number, after: number) => held({ id, from: after - slotMillis }) as MaybePromise<HeldSlot[]>,
  }
}
