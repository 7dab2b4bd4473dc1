import { and, eq, gt, type Placeholder, sql } from 'drizzle-orm'
import { slotMillis } from '../../src/domain/booking-request'
import type { HeldSlot, SlotHolder } from '../../src/domain/decide-submission'
import type { TakenSlot } from '../../src/domain/directory-feed'
import { type Drizzle, placeholders } from './drizzle'
import { idList } from './id-list'
import { bookingRequests } from './schema'

/** In words, as the partial indexes have it: of parameters the planner could not know that they fit. */
export const holdsSlot = sql`${bookingRequests.state} in ('pending', 'accepted') and ${bookingRequests.startsAt} is not null`

/** What most providers hold, in memory once. */
const none: readonly TakenSlot[] = []

/** The requests of `asked` providers that hold a slot in a stretch of time, by the index of the last word on double booking. */
export function heldIn(ids: Placeholder, from: Placeholder, until: Placeholder) {
  const isTheirs = sql`provider_id = asked.provider_id and int8range(starts_at, ends_at) && int8range(${from}, ${until})`
  return sql`unnest(${ids}::int8[]) as asked(provider_id)
    cross join lateral (select * from ${bookingRequests} where ${holdsSlot} and ${isTheirs}) as held`
}

const told = (name: string) => sql`held.${sql.identifier(name)}`.mapWith(Number)

type Held = readonly [
  requestId: number,
  memberId: number | null,
  startsAt: number,
  endsAt: number,
  localOffsetMinutes: number,
]

function parseHeld(text: string): readonly Held[] {
  return JSON.parse(text)
}

function toHolder([requestId, memberId, startsAt]: Held): SlotHolder {
  return { requestId, memberId, startsAt }
}

function toTaken([requestId, , startsAt, endsAt, localOffsetMinutes]: Held): TakenSlot {
  return { requestId, startsAt, endsAt, localOffsetMinutes }
}

/** Queries on the slots that requests hold. */
export function slotQueries(db: Drizzle) {
  const { id, ids, from, until } = placeholders('id', 'ids', 'from', 'until')
  const { id: requestId, memberId, startsAt } = bookingRequests
  // All of a provider as one text of JSON: each node reads them anew with each booking of the provider's, and hundreds of rows
  // would take longer than all the rest of that.
  const columns = sql`held.id, held.member_id, held.starts_at, held.ends_at, held.local_offset_minutes`
  const heldOf = db
    .select({
      providerId: told('provider_id'),
      slots: sql<string>`json_agg(json_build_array(${columns}) order by held.starts_at)::text`,
    })
    .from(heldIn(ids, from, until))
    .groupBy(sql`held.provider_id`)
    .prepare('')
  const held = db
    .select({ requestId, startsAt })
    .from(bookingRequests)
    .where(and(holdsSlot, eq(memberId, id), gt(startsAt, from)))
    .orderBy(startsAt)
    .prepare('')

  return {
    /** The requests that hold a slot of the provider touching the one that starts at an instant. */
    async touching(providerId: number, startsAt: number): Promise<SlotHolder[]> {
      const slot = { from: startsAt, until: startsAt + slotMillis }
      const [row] = await heldOf.execute({ ids: idList([providerId]), ...slot })
      return row ? parseHeld(row.slots).map(toHolder) : []
    },

    /** The slots of some providers that are held and end after an instant, in order; by provider, each of whom is there. */
    async takenSlots(
      providerIds: readonly number[],
      after: number,
    ): Promise<Map<number, readonly TakenSlot[]>> {
      const found = new Map<number, readonly TakenSlot[]>(providerIds.map((id) => [id, none]))
      const rows = await heldOf.execute({ ids: idList(providerIds), from: after, until: null })
      for (const { providerId, slots } of rows) found.set(providerId, parseHeld(slots).map(toTaken))
      return found
    },

    /** The slots that a member holds and that end after an instant. */
    heldBy: async (id: number, after: number): Promise<HeldSlot[]> =>
      (await held.execute({ id, from: after - slotMillis })) as HeldSlot[],
  }
}
