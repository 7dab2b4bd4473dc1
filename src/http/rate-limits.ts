import { networkOf } from '../domain/addresses'
import { Refusal } from '../domain/errors'
import { type BudgetState, Limiter } from '../domain/limiter'
import { type Limits, limitFor, perHour, perMinute, type Rate, shareOf } from '../domain/limits'
import type { Partner } from '../domain/partner'
import type { Clock } from '../domain/ports/time'
import type { Context } from '../operations/context'
import type { Words } from './errors'

export const rateRefusals = {
  authentication_limited:
    'too many invalid tokens came from this address; try again after Retry-After seconds',
  rate_limited: 'the rate limit is exceeded; try again after Retry-After seconds',
} as const satisfies Words

/** Headers for authenticated callers with a rate limit. */
export const rateHeaders = {
  'RateLimit-Policy': {
    description:
      'The rate limit that the call counts against. q is the quota, w the seconds in which it refills. Omitted if there is no limit',
    schema: { type: 'string' },
    example: '"reads";q=30000;w=60',
  },
  RateLimit: {
    description:
      'The state of that rate limit. r is the remaining quota, t the seconds until one more unit is available (Retry-After of a 429). Omitted if there is no limit',
    schema: { type: 'string' },
    example: '"reads";r=29979;t=1',
  },
}

type Headers = Record<string, string | number>

export type BudgetName = 'reads' | 'bookings'

/** Charges a partner's budget. Sets the rate limit headers. Returns an error if too little budget is left. */
type SpendOfPartner = (name: BudgetName, partner: Partner, cost: number, headers: Headers) => Refusal | null

/** Each node applies an equal share of the limit. The headers show this share. */
export function rateOf(limits: Limits, name: BudgetName, partner: Partner): Rate | null {
  return shareOf(limitFor(limits[name], partner[`${name}PerMinute`], perMinute), limits.nodes)
}

export function partnerBudgets({ limits, clock }: Context): SpendOfPartner {
  const limiters = { reads: new Limiter<number>(), bookings: new Limiter<number>() }
  return (name, partner, cost, headers) => {
    const rate = rateOf(limits, name, partner)
    if (!rate) return null
    // A refund (a negative cost) leaves 1 of what was charged, which was at most the whole budget.
    const charged = Math.max(cost, 1 - rate.most)
    const budget = limiters[name].spend(partner.id, rate, charged, clock.now())
    setRateHeaders(name, rate, budget, headers)
    return limitRefusal('rate_limited', budget)
  }
}

/** Charges one intake to the partner's intake rate. The headers show that rate only if it is used up. */
export function intakeBudgets({ limits, clock }: Context) {
  const limiter = new Limiter<number>()
  return (partner: Partner, headers: Headers): IntakeBudget => {
    const rate = shareOf(limitFor(limits.intakes, partner.intakesPerHour, perHour), limits.nodes)
    if (!rate) return { refusal: null, giveBack() {} }
    const budget = limiter.spend(partner.id, rate, 1, clock.now())
    const refusal = limitRefusal('rate_limited', budget)
    if (refusal) setRateHeaders('intakes', rate, budget, headers)
    const giveBack = () => void (refusal || limiter.spend(partner.id, rate, -1, clock.now()))
    return { refusal, giveBack }
  }
}

export interface IntakeBudget {
  readonly refusal: Refusal | null
  /** For a submission that stored no intake. */
  readonly giveBack: () => void
}

/** Returns one budget per client address. Sets rate limit headers only if the budget is used up. */
export function addressBudgets(
  name: string,
  kind: keyof typeof rateRefusals,
  rateNow: () => Rate | null,
  clock: Clock,
): (address: string, headers: Headers) => Refusal | null {
  const limiter = new Limiter<string>()
  return (address, headers) => {
    const rate = rateNow()
    if (!rate) return null
    const budget = limiter.spend(networkOf(address), rate, 1, clock.now())
    const refusal = limitRefusal(kind, budget)
    if (refusal) setRateHeaders(name, rate, budget, headers)
    return refusal
  }
}

/** Format of draft-ietf-httpapi-ratelimit-headers-10. */
export function setRateHeaders(
  name: string,
  { most, seconds }: Rate,
  { remaining, secondsToNext }: Pick<BudgetState, 'remaining' | 'secondsToNext'>,
  headers: Headers,
) {
  headers['RateLimit-Policy'] = `"${name}";q=${most};w=${seconds}`
  headers.RateLimit = `"${name}";r=${remaining};t=${secondsToNext}`
}

function limitRefusal(kind: keyof typeof rateRefusals, { retryAfterSeconds }: BudgetState): Refusal | null {
  return retryAfterSeconds === null ? null : new Refusal(kind, rateRefusals[kind], { retryAfterSeconds })
}
