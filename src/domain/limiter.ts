import type { Rate } from './limits'

/** How a caller's budget stands once a request has been judged. */
export interface Standing {
  /**
   * Null where the request was let through; otherwise when to send it again. Of several that were refused each is
   * told its own time: all who come back when told, or up to a second late, are let through, unless others that were
   * told nothing spend meanwhile. That holds for windows of ten seconds and more.
   */
  readonly retryAfterSeconds: number | null
  /** What is left to spend. */
  readonly remaining: number
  /** Until all of it is there again. */
  readonly secondsToFull: number
}

/** Callers whose budgets are kept. */
const mostCallers = 10_000

/**
 * How many whole budgets are kept for those who were refused; beyond that they are told the same time. It is also how
 * long one who calls without end, heeding nothing, can make others of the same caller wait.
 */
const mostPromised = 10

/** In units of cost times the milliseconds of the rate's window: all whole numbers, so that nothing is lost. */
interface Bucket {
  /** ms */
  at: number
  /** The rate's, at that moment. */
  most: number
  spent: number
  /** What is spent, and what those who were refused were told to come back for. */
  promised: number
}

/**
 * Budgets, one for each caller, as token buckets: all of it can be spent at once, and what was spent comes back evenly
 * over the rate's seconds. A clock that stands still or is set back gives nothing back and takes nothing.
 *
 * Memory is bounded: where there are too many callers, those who have been quiet the longest are forgotten, whose
 * budgets are full again or the nearest to it. To have one forgotten takes ten thousand others, each with a whole
 * budget of its own: nobody gains by it.
 */
export class Limiter<Caller> {
  /** In order of their last request. */
  readonly #buckets = new Map<Caller, Bucket>()

  /** @param most callers whose budgets are kept */
  constructor(private readonly most = mostCallers) {}

  /**
   * Takes the cost of a request from a caller's budget where that has it. A request that costs more than a whole
   * budget costs a whole one, since it could never be let through.
   *
   * @param rate what the caller is held to at this moment
   * @param now ms, a whole number: the clock's at this very moment, since calls are judged in its order
   */
  spend(caller: Caller, rate: Rate, cost: number, now: number): Standing {
    const unit = rate.seconds * 1000
    const whole = rate.most * unit
    const price = Math.min(cost, rate.most) * unit
    const bucket = this.#find(caller, rate, now)
    // Each millisecond brings back as much, and all those of the window the whole budget.
    const back = Math.max(0, now - bucket.at) * rate.most
    bucket.spent = Math.min(Math.max(0, bucket.spent - back), whole)
    // What was told at another rate is no more.
    bucket.promised =
      bucket.most === rate.most ? Math.max(bucket.spent, bucket.promised - back) : bucket.spent
    bucket.at = now
    bucket.most = rate.most
    const isLetThrough = bucket.spent + price <= whole
    const retryAfterSeconds = isLetThrough ? null : promise(bucket, rate, price)
    if (isLetThrough) bucket.spent += price
    bucket.promised = Math.max(bucket.spent, bucket.promised)
    return {
      retryAfterSeconds,
      remaining: Math.floor((whole - bucket.spent) / unit),
      secondsToFull: Math.ceil(bucket.spent / (rate.most * 1000)),
    }
  }

  #find(caller: Caller, { most }: Rate, now: number): Bucket {
    const bucket = this.#buckets.get(caller) ?? { at: now, most, spent: 0, promised: 0 }
    this.#buckets.delete(caller)
    if (this.#buckets.size >= this.most) this.#forget()
    this.#buckets.set(caller, bucket)
    return bucket
  }

  /** A tenth at once: to find the first of a map of which the first were deleted takes the longer the more these are. */
  #forget(): void {
    const enough = Math.floor(this.most * 0.9)
    for (const quietest of this.#buckets.keys()) {
      if (this.#buckets.size <= enough) break
      this.#buckets.delete(quietest)
    }
  }
}

/** Tells who was refused when their turn is, in seconds, and keeps it for them. */
function promise(bucket: Bucket, { most, seconds }: Rate, price: number): number {
  const [second, whole] = [most * 1000, most * seconds * 1000]
  bucket.promised = Math.min(bucket.promised + price, whole * mostPromised)
  const retryAfterSeconds = Math.ceil((bucket.promised - whole) / second)
  // Who needs most of the budget finds it only untouched: the next comes a second later than this one was told to.
  if (2 * price > whole) bucket.promised = whole + (retryAfterSeconds + 1) * second
  return retryAfterSeconds
}
