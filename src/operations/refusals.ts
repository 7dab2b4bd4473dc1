import type { Partner } from '../domain/partner'
import type { RefusalCount } from '../domain/refusal-count'
import { dayMillis } from '../scheduling/calendar'
import type { Records } from './context'

/** In how many of the newest lines of the audit log refusals are counted. */
export const mostCounted = 100_000

/**
 * Why and how often authentication was refused on the day (UTC) of `now` (ms), to all or to one partner, most often first.
 */
export function countRefusalsToday(
  { store }: Records,
  now: number,
  partner?: Partner,
): Promise<RefusalCount[]> {
  const asked = { since: now - (now % dayMillis), most: mostCounted, partnerId: partner?.id }
  return store.read(({ audit }) => audit.countRefusals(asked))
}
