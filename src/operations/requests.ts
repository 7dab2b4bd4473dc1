import type { Act } from '../domain/audit'
import type { RequestRecord, ScreeningAnswer } from '../domain/booking-request'
import { type NinthItem, type ScreeningScore, scoreScreening } from '../domain/screening'
import type { RequestFilter } from '../domain/store'
import { type Records, thenShow } from './context'

/** Accepts a pending request. @throws Refusal record_unknown, move_unknown */
export function acceptRequest(records: Records, id: number, act: Act): Promise<void> {
  return thenShow(records, records.store.accept(id, act))
}

/** Declines a pending or accepted request; its slot is free again. @throws Refusal record_unknown, move_unknown */
export function declineRequest(records: Records, id: number, act: Act): Promise<void> {
  return thenShow(records, records.store.decline(id, act))
}

/** The screening answers of a request and what can be said of them. */
export interface Screening {
  readonly answers: readonly ScreeningAnswer[]
  readonly score: ScreeningScore
}

/** Reads the screening answers of a request, which the audit log keeps. @throws Refusal record_unknown */
export async function readScreening({ store }: Records, id: number, act: Act): Promise<Screening> {
  const answers = await store.readScreening(id, act)
  return { answers, score: scoreScreening(answers) }
}

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
export async function listRequests({ store }: Records, filter: RequestFilter): Promise<QueuedRequest[]> {
  const requests = await store.listRequests(filter)
  if (!filter.intakesOnly) return requests.map((request) => ({ request, ninthItem: null }))
  const answers = await store.sortingAnswers(requests.map(({ id }) => id))
  const queued = requests.map((request) => {
    const given = answers.get(request.id)
    // Answers that cannot be opened are for a person to look at, as those that cannot be understood.
    if (!given) return { request, ninthItem: 'unclear' as const }
    return { request, ninthItem: given.length > 0 ? scoreScreening(given).ninthItem : null }
  })
  return queued.sort((a, b) => urgencyOf(b) - urgencyOf(a))
}

function urgencyOf({ ninthItem }: QueuedRequest): number {
  if (ninthItem === 'non-zero') return 2
  return ninthItem === 'unclear' ? 1 : 0
}
