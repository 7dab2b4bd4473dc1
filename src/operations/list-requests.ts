import type { RequestRecord } from '../domain/booking-request'
import { type NinthItem, scoreScreening } from '../domain/screening'
import type { RequestFilter } from '../domain/store'
import type { Context } from './context'

/** An intake and how its ninth item stands; null where no answers are held. */
export interface QueuedRequest {
  readonly request: RequestRecord
  readonly ninthItem: NinthItem | null
}

/**
 * The requests in the order in which they should be worked: where only intakes are asked for, first those
 * whose ninth item is non-zero, then those where a person has to look at it; otherwise by submission. The
 * answers are used for the order and the mark alone.
 */
export async function listRequests({ store }: Context, filter: RequestFilter): Promise<QueuedRequest[]> {
  const requests = await store.listRequests(filter)
  if (!filter.intakesOnly) return requests.map((request) => ({ request, ninthItem: null }))
  const answers = await store.sortingAnswers(requests.map(({ id }) => id))
  const queued = requests.map((request) => {
    const given = answers.get(request.id) ?? []
    return { request, ninthItem: given.length > 0 ? scoreScreening(given).ninthItem : null }
  })
  return queued.sort((a, b) => urgencyOf(b) - urgencyOf(a))
}

function urgencyOf({ ninthItem }: QueuedRequest): number {
  if (ninthItem === 'non-zero') return 2
  return ninthItem === 'unclear' ? 1 : 0
}
