import { Distribution, durationBounds } from '../domain/measures'
import { errorCodes } from './errors'
import type { Histogram, Metric, Sample } from './listening/exposition'
import type { Counted, LogEntry } from './log'

/** Outcomes in this order: status below 400, 4xx, 5xx. */
const outcomes = ['answered', 'refused', 'failed'] as const

/** All other methods share one series. Clients can send any word as a method, and each series needs memory. */
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

/** Maximum number of partners with a separate series. All other partners share one series. */
const mostPartners = 200

class RouteMeasures {
  readonly counts = new Map<string, Map<number, number>>()
  readonly durations = outcomes.map(() => new Distribution(durationBounds))

  note({ method, status, millis }: LogEntry, outcome: number): void {
    const known = methods.includes(method) ? method : 'other'
    let counts = this.counts.get(known)
    if (!counts) {
      counts = new Map()
      this.counts.set(known, counts)
    }
    counts.set(status, (counts.get(status) ?? 0) + 1)
    this.durations[outcome]?.note(millis)
  }
}

/** Memory is bounded, because clients cannot create new labels. */
export class RequestMeasures {
  readonly #routes = new Map<string | null, RouteMeasures>()
  readonly #refusals = new Map(Object.keys(errorCodes).map((code) => [code, 0]))
  readonly #partners = new Map<number, { counts: number[]; intakes: number }>()
  readonly #stored = { booking: 0, intake: 0 }
  readonly #searches = { some: 0, none: 0 }
  #slotsShown = 0
  #replays = 0

  readonly observe = (entry: LogEntry): void => {
    const { route, status, refusedFor, counted, partnerId } = entry
    const outcome = status < 400 ? 0 : status < 500 ? 1 : 2
    let measures = this.#routes.get(route)
    if (!measures) {
      measures = new RouteMeasures()
      this.#routes.set(route, measures)
    }
    measures.note(entry, outcome)
    if (refusedFor !== null) this.#refusals.set(refusedFor, (this.#refusals.get(refusedFor) ?? 0) + 1)
    if (partnerId !== null) this.#notePartner(partnerId, outcome, counted?.stored === 'intake')
    if (counted) this.#count(counted)
  }

  #notePartner(partnerId: number, outcome: number, isIntake: boolean): void {
    let noted = this.#partners.get(partnerId)
    if (!noted) {
      const id = this.#partners.size < mostPartners ? partnerId : otherPartners
      noted = this.#partners.get(id) ?? { counts: outcomes.map(() => 0), intakes: 0 }
      this.#partners.set(id, noted)
    }
    noted.counts[outcome] = (noted.counts[outcome] as number) + 1
    if (isIntake) noted.intakes++
  }

  #count({ slotsShown, stored, isReplay }: Counted): void {
    if (slotsShown !== undefined) {
      this.#slotsShown += slotsShown
      this.#searches[slotsShown > 0 ? 'some' : 'none']++
    }
    if (stored) this.#stored[stored]++
    if (isReplay) this.#replays++
  }

  metrics(): (Metric | Histogram)[] {
    const counter = (name: string, help: string, samples: readonly Sample[]): Metric => ({
      ...{ name, help, samples },
      type: 'counter',
    })
    const partners = Array.from(
      this.#partners,
      ([id, noted]) => [id === otherPartners ? 'other' : id, noted] as const,
    )
    const routes = Array.from(this.#routes, ([route, measures]) => ({ route: route ?? 'none', measures }))
    return [
      counter(
        'anteroom_requests_total',
        'Requests answered.',
        routes.flatMap(({ route, measures }) => countsOf(route, measures)),
      ),
      {
        name: 'anteroom_request_duration_seconds',
        help: 'Time from receiving the headers of a request to sending its response.',
        type: 'histogram',
        scale: 1 / 1_000,
        of: routes.flatMap(({ route, measures }) => durationsOf(route, measures)),
      },
      counter(
        'anteroom_refusals_total',
        'Error responses, by X-Error-Code.',
        Array.from(this.#refusals, ([reason, count]) => [
          { reason, status: errorCodes[reason as keyof typeof errorCodes].status },
          count,
        ]),
      ),
      counter(
        'anteroom_partner_requests_total',
        'Authenticated requests, by the partner id that `partner list` shows.',
        partners.flatMap(([partner, { counts }]) =>
          counts.map((count, at): Sample => [{ partner, outcome: outcomes[at] as string }, count]),
        ),
      ),
      counter(
        'anteroom_partner_intakes_total',
        'Intakes stored, by the partner id that `partner list` shows.',
        partners.map(([partner, { intakes }]) => [{ partner }, intakes]),
      ),
      counter('anteroom_stored_requests_total', 'Bookings and intakes stored.', byKind(this.#stored, 'kind')),
      counter('anteroom_replays_total', 'Retries answered with the stored response.', [[{}, this.#replays]]),
      counter('anteroom_searches_total', 'Searches with and without slots.', byKind(this.#searches, 'slots')),
      counter('anteroom_slots_shown_total', 'Slots in all search responses.', [[{}, this.#slotsShown]]),
    ]
  }
}

/** Label for all partners without a series. No partner has this id. */
const otherPartners = 0

function byKind(counts: Record<string, number>, label: string): Sample[] {
  return Object.entries(counts).map(([kind, count]) => [{ [label]: kind }, count])
}

function countsOf(route: string, { counts }: RouteMeasures): Sample[] {
  return Array.from(counts).flatMap(([method, byStatus]) =>
    Array.from(byStatus, ([status, count]): Sample => [{ route, method, status }, count]),
  )
}

function durationsOf(route: string, { durations }: RouteMeasures) {
  return durations.flatMap((durations, at) => {
    const isSeen = durations.counts.some((count) => count > 0)
    return isSeen ? [[{ route, outcome: outcomes[at] as string }, durations] as const] : []
  })
}
