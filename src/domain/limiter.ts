import type { Rate } from './limits'

export interface BudgetState {
  /** Null if the request is admitted. Rejected requests get different times, so that each retry finds enough budget. */
  readonly retryAfterSeconds: number | null
  /** Remaining budget in units of cost, rounded down. */
  readonly remaining: number
  /** Seconds until one more unit is available, 0 for a full budget; `retryAfterSeconds` of a rejected request. */
  readonly secondsToNext: number
}

const mostCallers = 10_000

/** Maximum reservations, in full budgets. Limits how long a client that ignores Retry-After can delay other clients. */
const mostPromised = 2

/** Amounts are multiplied by the rate's window in ms. This avoids fractions. */
interface Bucket {
  /** Time of the last request, in ms. */
  at: number
  most: number
  spent: number
  /** `spent` plus the budget that is reserved for retries of rejected requests. */
  promised: number
}

/**
 * One token bucket for each caller. A bucket refills evenly, but not while the clock is set back. To limit memory, the
 * buckets with the oldest requests are dropped: they are full or nearly full.
 */
export class Limiter<Caller> {
  /** In order of the last request, oldest first. */
  readonly #buckets = new Map<Caller, Bucket>()

  constructor(private readonly most = mostCallers) {}

  /** Charges `cost`, at most the whole budget. @param now whole ms, read just before the call */
  spend(caller: Caller, rate: Rate, cost: number, now: number): BudgetState {
    const unit = rate.seconds * 1000
    const whole = rate.most * unit
    const price = Math.min(cost, rate.most) * unit
    const bucket = this.#find(caller, rate, now)
    // Each ms adds `most` units. One window thus refills the whole budget.
    const back = Math.max(0, now - bucket.at) * rate.most
    bucket.spent = Math.min(Math.max(0, bucket.spent - back), whole)
    // A change of the rate drops earlier reservations.
    bucket.promised =
      bucket.most === rate.most ? Math.max(bucket.spent, bucket.promised - back) : bucket.spent
    bucket.at = now
    bucket.most = rate.most
    const isLetThrough = bucket.spent + price <= whole
    const retryAfterSeconds = isLetThrough ? null : promise(bucket, rate, price)
    if (isLetThrough) bucket.spent += price
    bucket.promised = Math.max(bucket.spent, bucket.promised)
    const remaining = Math.floor((whole - bucket.spent) / unit)
    const missing = bucket.spent === 0 ? 0 : (remaining + 1) * unit - (whole - bucket.spent)
    const secondsToNext = retryAfterSeconds ?? Math.ceil(missing / (rate.most * 1000))
    return { retryAfterSeconds, remaining, secondsToNext }
  }

  #find(caller: Caller, { most }: Rate, now: number): Bucket {
    const bucket = this.#buckets.get(caller) ?? { at: now, most, spent: 0, promised: 0 }
    this.#buckets.delete(caller)
    if (this.#buckets.size >= this.most) this.#forget()
    this.#buckets.set(caller, bucket)
    return bucket
  }

  /** Drops a tenth of the buckets, oldest first. Dropping them one by one would be slow with a Map. */
  #forget(): void {
    const enough = Math.floor(this.most * 0.9)
    for (const quietest of this.#buckets.keys()) {
      if (this.#buckets.size <= enough) break
      this.#buckets.delete(quietest)
    }
  }
}

/** Reserves budget for a rejected request. Returns its Retry-After in seconds. */
function promise(bucket: Bucket, { most, seconds }: Rate, price: number): number {
  const [second, whole] = [most * 1000, most * seconds * 1000]
  bucket.promised = Math.min(bucket.promised + price, whole * mostPromised)
  const retryAfterSeconds = Math.ceil((bucket.promised - whole) / second)
  // With a budget for one retry only, the next retry is due 1 s later, because a retry may be up to 1 s late.
  if (2 * price > whole) bucket.promised = whole + (retryAfterSeconds + 1) * second
  return retryAfterSeconds
}
