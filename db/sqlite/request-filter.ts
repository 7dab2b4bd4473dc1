import { and, asc, eq, gte, lte, sql } from 'drizzle-orm'
import type { RequestFilter, RequestPart } from '../../src/domain/store'
import { bookingRequests, members } from './schema'

// In words, as the partial indexes have it: with parameters in their place SQLite would read the whole table.

/** Whether a request waits for somebody. */
export const isWaiting = sql`${bookingRequests.state} in ('unassigned', 'pending')`
const isUnassigned = sql`${bookingRequests.state} = 'unassigned'`

/** Whether a request, beside its member, fits all that is asked for. */
export function isWanted(filter: RequestFilter) {
  const { intakesOnly, providerId, partnerId, slotDay, submittedFrom, submittedUntil } = filter
  const { isIntake, startsAt, localOffsetMinutes, submittedAt } = bookingRequests
  const localDay = sql`(${startsAt} / 60000 + ${localOffsetMinutes}) / 1440`
  return and(
    intakesOnly ? eq(isIntake, true) : undefined,
    isOfState(filter.state),
    providerId === undefined ? undefined : eq(bookingRequests.providerId, providerId),
    // The plus: not by the partner's members, of whom there may be many more than requests to look at.
    partnerId === undefined ? undefined : sql`+${members.partnerId} = ${partnerId}`,
    slotDay === undefined ? undefined : sql`${localDay} = ${slotDay}`,
    submittedFrom === undefined ? undefined : gte(submittedAt, submittedFrom),
    submittedUntil === undefined ? undefined : lte(submittedAt, submittedUntil),
  )
}

function isOfState(state: RequestFilter['state']) {
  if (state === undefined) return undefined
  if (state === 'waiting') return isWaiting
  if (state === 'unassigned') return isUnassigned
  const isOne = eq(bookingRequests.state, state)
  // Twice, for the index of what waits.
  return state === 'pending' ? and(isWaiting, isOne) : isOne
}

/** The order in which a part of the requests is asked for. */
export function orderOf(part: RequestPart | undefined) {
  const { startsAt, id } = bookingRequests
  return part?.order === 'slot' ? [sql`${startsAt} is null`, asc(startsAt), asc(id)] : [asc(id)]
}
