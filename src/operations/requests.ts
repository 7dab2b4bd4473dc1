import type { Act } from '../domain/audit'
import type { RequestRecord, ScreeningAnswer } from '../domain/booking-request'
import { holdsSlot, refuseDecline } from '../domain/decide-move'
import type { Partner } from '../domain/partner'
import { type NinthItem, type ScreeningScore, scoreScreening } from '../domain/screening'
import type { RequestFilter } from '../domain/store'
import { type Records, thenShow } from './context'

/** Accepts a pending request. @throws Refusal record_unknown, move_unknown */
export function acceptRequest(records: Records, id: number, act: Act): Promise<void> {
  return thenShow(records, records.store.accept(id, act))
}

/**
 * Declines a pending or accepted request; its slot is free again.
 *
 * @param reason for staff alone, kept as a note
 * @throws Refusal record_unknown, move_unknown, field_invalid for the length of the reason
 */
export function declineRequest(records: Records, id: number, act: Act, reason?: string): Promise<void> {
  return thenShow(records, records.store.decline(id, act, reason))
}

/** @throws Refusal move_unknown for what cannot be declined */
export function requireDeclinable(request: RequestRecord): void {
  const refusal = refuseDecline(request)
  if (refusal) throw refusal
}

/** The ids of the requests of a partner's since an instant (ms) that can be declined, and how many have no provider yet. */
export async function listSubmitted({ store }: Records, { id }: Partner, since: number) {
  const submitted = await store.listSubmitted(id, since)
  const open = submitted.filter(({ state }) => holdsSlot(state))
  const unassigned = submitted.filter(({ state }) => state === 'unassigned')
  return { ids: open.map(({ id }) => id), unassigned: unassigned.length }
}

/** How many are declined in one transaction, and how long others may write before the next. */
const [declinedAtOnce, pauseMillis] = [100, 25]

/**
 * Declines many requests: some at a time, each transaction all or nothing, so that others can write in between. Those that
 * cannot be declined any more are passed over. Tells how many it declined.
 */
export async function declineRequests(
  records: Records,
  ids: readonly number[],
  act: Act,
  reason?: string,
): Promise<number> {
  let declined = 0
  for (let start = 0; start < ids.length; start += declinedAtOnce) {
    if (start > 0) await new Promise((resolve) => setTimeout(resolve, pauseMillis))
    declined += await records.store.declineAll(ids.slice(start, start + declinedAtOnce), act, reason)
  }
  return thenShow(records, Promise.resolve(declined))
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
