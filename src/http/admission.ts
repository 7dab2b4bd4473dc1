import { Refusal } from '../domain/errors'
import type { Rate } from '../domain/limits'
import { elapsedMillis } from '../domain/ports/time'
import type { Turn } from '../operations/context'
import { refusalsEverywhere } from './errors'

/** How a caller's budget stands once a request has been judged. */
export interface BudgetState {
  /**
   * Null if the request was let through; otherwise when to send it again. Each refused request gets its own time, and is let
   * through then or up to a second later, unless others spend the budget. Holds for windows of ten seconds and more.
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
 * How many whole budgets may be promised to refused calls; beyond that all get the same time. A client that ignores its
 * refusals can make others of the same caller wait this long.
 */
const mostPromised = 10

/** In units of cost times the milliseconds of the rate's window: whole numbers, so that nothing is rounded. */
interface Bucket {
  /** ms */
  at: number
  /** The rate's, at that moment. */
  most: number
  spent: number
  /** Spent, or promised to refused requests. */
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
  spend(caller: Caller, rate: Rate, cost: number, now: number): BudgetState {
    const unit = rate.seconds * 1000
    const whole = rate.most * unit
    const price = Math.min(cost, rate.most) * unit
    const bucket = this.#find(caller, rate, now)
    // Each millisecond brings back as much, and all those of the window the whole budget.
    const back = Math.max(0, now - bucket.at) * rate.most
    bucket.spent = Math.min(Math.max(0, bucket.spent - back), whole)
    // Promises made at another rate are void.
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
  // A request that needs most of the budget needs all of it untouched, so the next one is due a second later.
  if (2 * price > whole) bucket.promised = whole + (retryAfterSeconds + 1) * second
  return retryAfterSeconds
}

/** By then everything that is in flight now has been answered. */
const retryAfterSeconds = 1

/** The refusal of a request for which there is no place. */
export function overloaded(): Refusal {
  return new Refusal('overloaded', refusalsEverywhere.overloaded, { retryAfterSeconds })
}

/**
 * The places for requests in flight (concurrency limit, load shedding): what finds none is refused at once, so that what
 * has one is answered soon, however much more is asked for.
 */
export class ConcurrencyLimit {
  #taken = 0
  readonly #takenBy = new Map<number, number>()

  /**
   * @param most of all partners together
   * @param share of one partner: it leaves room for the others
   */
  constructor(
    private readonly most: number,
    private readonly share: number,
  ) {}

  /** How many are in flight. */
  get inFlight(): number {
    return this.#taken
  }

  /** Whether so much is in flight that somebody may find no place: asked for each request, before all else. */
  get isCrowded(): boolean {
    return this.#taken >= this.share
  }

  hasRoomFor(partnerId: number): boolean {
    return this.#taken < this.most && (this.#takenBy.get(partnerId) ?? 0) < this.share
  }

  /** Takes a place for a partner, who is to leave it. @throws Refusal overloaded */
  acquire(partnerId: number): void {
    if (!this.hasRoomFor(partnerId)) throw overloaded()
    this.#taken++
    this.#takenBy.set(partnerId, (this.#takenBy.get(partnerId) ?? 0) + 1)
  }

  /** Leaves a place that was taken. */
  release(partnerId: number): void {
    this.#taken--
    const left = (this.#takenBy.get(partnerId) as number) - 1
    if (left > 0) this.#takenBy.set(partnerId, left)
    else this.#takenBy.delete(partnerId)
  }
}

/** The requests in flight of all partners, and of one: as many bookings are written in a fraction of a second. */
const [mostInFlight, mostOfOnePartner] = [512, 256]

/** The places for requests in flight, by what they do. */
export type ConcurrencyLimits = ReturnType<typeof concurrencyLimits>

/** As many places for reads as for bookings. */
export function concurrencyLimits() {
  const places = () => new ConcurrencyLimit(mostInFlight, mostOfOnePartner)
  return { reads: places(), bookings: places() }
}

/** How long a partner's work may go on before another partner's turn, in ms; its last step may take longer. */
const sliceMillis = 0.1

/** How much work may start without a wait in one turn of the event loop, in ms. A wait costs as much as a short search. */
const atOnceMillis = 2

/** A slice of time in which one piece of work goes on. */
interface Slice {
  readonly owner: object
  readonly partnerId: number
  readonly beganAt: number
}

/** A piece of work that waits for its partner's turn. */
interface Waiter {
  readonly owner: object
  readonly resume: () => void
}

/**
 * Shares the event loop fairly between partners (deficit round robin). Long work waits for its turn between small steps. In
 * each turn of the event loop the oldest work of one partner goes on, for a slice of time at most. So a request waits for
 * about one slice of each other partner, however much they have asked for.
 */
export class FairQueue {
  /** By partner, the partner whose turn is next first. */
  readonly #waiting = new Map<number, Waiter[]>()
  /** By how much a partner's last slice was too long, less what the others have had since; in ms. */
  readonly #excess = new Map<number, number>()
  #slice: Slice | null = null
  #isScheduled = false
  #doneAtOnceMillis = 0

  /**
   * @param now ms, of any beginning
   * @param later runs a function in the next turn of the event loop
   */
  constructor(
    private readonly now: () => number = elapsedMillis,
    private readonly later: (run: () => void) => void = setImmediate,
  ) {}

  /** Resolves when it is the partner's turn: for work of one step, such as parsing a large body. */
  turn(partnerId: number): Promise<void> {
    return this.#wait(partnerId, {}, false)
  }

  /**
   * Returns what work of several steps calls before each of them. The work starts without a wait if its partner has none
   * waiting and little was done at once in this turn of the event loop.
   */
  turnsOf(partnerId: number): Turn {
    const owner = {}
    let hasBegun = false
    return () => {
      if (this.#slice?.owner === owner && this.now() - this.#slice.beganAt < sliceMillis) return
      const isFirst = !hasBegun
      hasBegun = true
      const isAtOnce = isFirst && !this.#waiting.has(partnerId) && this.#doneAtOnceMillis < atOnceMillis
      if (!isAtOnce) return this.#wait(partnerId, owner, !isFirst)
      this.#begin({ owner, partnerId, beganAt: this.now() }, (millis) => {
        this.#doneAtOnceMillis += millis
      })
    }
  }

  #wait(partnerId: number, owner: object, isBegun: boolean): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const waiter = { owner, resume: resolve }
    const theirs = this.#waiting.get(partnerId)
    if (!theirs) this.#waiting.set(partnerId, [waiter])
    else if (isBegun) theirs.unshift(waiter)
    else theirs.push(waiter)
    this.#schedule()
    return promise
  }

  #schedule(): void {
    if (this.#isScheduled || this.#waiting.size === 0) return
    this.#isScheduled = true
    this.later(() => {
      this.#isScheduled = false
      this.#doneAtOnceMillis = 0
      this.#goOn(this.#nextPartner())
      this.#schedule()
    })
  }

  /** The first partner in the round who has had no more time than the others. */
  #nextPartner(): number {
    for (const [partnerId, theirs] of this.#waiting) {
      const excess = this.#excess.get(partnerId) ?? 0
      if (excess <= 0 || this.#waiting.size === 1) return partnerId
      this.#excess.set(partnerId, excess - sliceMillis)
      // The loop comes back to entries that are added.
      this.#waiting.delete(partnerId)
      this.#waiting.set(partnerId, theirs)
    }
    throw new Error('no partner waits')
  }

  #goOn(partnerId: number): void {
    const [next, ...others] = this.#waiting.get(partnerId) as [Waiter, ...Waiter[]]
    this.#waiting.delete(partnerId)
    if (others.length > 0) this.#waiting.set(partnerId, others)
    next.resume()
    this.#begin({ owner: next.owner, partnerId, beganAt: this.now() })
  }

  /** Begins a slice, which ends when the work that goes on now waits again or is done. */
  #begin(slice: Slice, ended?: (millis: number) => void): void {
    this.#slice = slice
    queueMicrotask(() => {
      const millis = this.now() - slice.beganAt
      this.#excess.set(slice.partnerId, millis - sliceMillis)
      ended?.(millis)
      if (this.#slice === slice) this.#slice = null
    })
  }
}
