import { and, asc, eq, gte, lte, sql } from 'drizzle-orm'
import type { RequestFilter, RequestPart } from '../../src/domain/store'
import { bookingRequests, members } from './schema'

// In words, as the partial indexes have it: with parameters in their place SQLite would read the whole table.

/** Whether a request waits for somebody. */
export const isWaiting = sql`${bookingRequests.state} in ('unassigned', 'pending')`
const isUnassigned = sql`${bookingRequests.state} = 'unassigned'`

const waitingStates: readonly RequestFilter['state'][] = ['waiting', 'unassigned', 'pending']

/**
 * Whether a request fits all that is asked for.
 *
 * @param isFew whether they are sought among those that wait, which are few, and not among all that were submitted
 */
export function isWanted(filter: RequestFilter, isFew = waitingStates.includes(filter.state)) {
  const { intakesOnly, providerId, partnerId, slotDay, submittedFrom, submittedUntil } = filter
  const { isIntake, memberId, startsAt, localOffsetMinutes } = bookingRequests
  const localDay = sql`(${startsAt} / 60000 + ${localOffsetMinutes}) / 1440`
  // Asked of one member after the other, and only here: of each request it would take longer than all the rest. Not by
  // the partner's members, of whom there may be many more than requests to look at.
  const theirPartner = sql`(select ${members.partnerId} from ${members} where ${members.id} = ${memberId})`
  // The plus keeps SQLite from the index of all.
  const submittedAt = isFew ? sql`+${bookingRequests.submittedAt}` : sql`${bookingRequests.submittedAt}`
  return and(
    intakesOnly ? eq(isIntake, true) : undefined,
    isOfState(filter.state),
    providerId === undefined ? undefined : eq(bookingRequests.providerId, providerId),
    partnerId === undefined ? undefined : sql`${theirPartner} = ${partnerId}`,
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
