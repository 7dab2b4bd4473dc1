import { and, asc, eq, gte, lte, type SQL, sql } from 'drizzle-orm'
import type { RequestFilter, RequestPart } from '../../../src/domain/ports/store'
import type { QueryEngine } from '../engine'

const waitingStates: readonly RequestFilter['state'][] = ['waiting', 'unassigned', 'pending']

export function requestFilter({ tables, isAmong, list }: Pick<QueryEngine, 'tables' | 'isAmong' | 'list'>) {
  const { bookingRequests: requests, members } = tables
  const { id, memberId, isIntake, state, startsAt, localOffsetMinutes } = requests
  // Literals, not parameters: the planner then uses the partial indexes with the same condition.
  const isWaiting = sql`${state} in ('unassigned', 'pending')`
  const isUnassigned = sql`${state} = 'unassigned'`
  const localDay = sql`(${startsAt} / 60000 + ${localOffsetMinutes}) / 1440`
  // A subquery for each request, because a partner may have far more members than requests.
  const theirPartner = sql`(select ${members.partnerId} from ${members} where ${members.id} = ${memberId})`

  function isOfState(wanted: RequestFilter['state']): SQL | undefined {
    if (wanted === undefined) return undefined
    if (wanted === 'waiting') return isWaiting
    if (wanted === 'unassigned') return isUnassigned
    const isOne = eq(state, wanted)
    // The first condition lets the planner use the partial index.
    return wanted === 'pending' ? and(isWaiting, isOne) : isOne
  }

  return {
    holdsSlot: sql`${state} in ('pending', 'accepted') and ${startsAt} is not null`,

    isWaiting,

    theirPartner,

    /** @param isFew true if the filter selects only waiting requests */
    isWanted(filter: RequestFilter, isFew = waitingStates.includes(filter.state)): SQL | undefined {
      const { ids, intakesOnly, providerId, partnerId, slotDay, submittedFrom, submittedUntil } = filter
      // The plus sign stops the planner from using the index of all requests by submission.
      const submittedAt = isFew ? sql`+${requests.submittedAt}` : sql`${requests.submittedAt}`
      // With an upper bound, the planner uses the index on the time of submission.
      const end = submittedUntil ?? (submittedFrom === undefined ? undefined : Number.MAX_SAFE_INTEGER)
      return and(
        // One parameter for all ids: PostgreSQL allows 65,535 parameters, and prepares a statement for each number.
        ids && isAmong(id, sql`${list(ids)}`),
        intakesOnly ? eq(isIntake, true) : undefined,
        isOfState(filter.state),
        providerId === undefined ? undefined : eq(requests.providerId, providerId),
        partnerId === undefined ? undefined : sql`${theirPartner} = ${partnerId}`,
        filter.memberId === undefined ? undefined : eq(memberId, filter.memberId),
        slotDay === undefined ? undefined : sql`${localDay} = ${slotDay}`,
        submittedFrom === undefined ? undefined : gte(submittedAt, submittedFrom),
        end === undefined ? undefined : lte(submittedAt, end),
      )
    },

    orderOf: (order: RequestPart['order'] | undefined) =>
      order === 'slot' ? [sql`${startsAt} is null`, asc(startsAt), asc(id)] : [asc(id)],
  }
}
