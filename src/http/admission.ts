import { Refusal } from '../domain/errors'
import { elapsedMillis } from '../domain/ports/time'
import type { Turn } from '../operations/context'
import { refusalsEverywhere } from './errors'

/** Retry-After in seconds if the service is overloaded. By then, the requests in flight are answered. */
const retryAfterSeconds = 1

export function overloaded(): Refusal {
  return new Refusal('overloaded', refusalsEverywhere.overloaded, { retryAfterSeconds })
}

/** Load shedding: rejects excess requests at once, so that admitted requests are answered quickly. */
export class ConcurrencyLimit {
  #taken = 0
  readonly #takenBy = new Map<number, number>()

  /** @param share the limit for one partner */
  constructor(
    private readonly most: number,
    private readonly share: number,
  ) {}

  get inFlight(): number {
    return this.#taken
  }

  /** Fast check: if false, no partner can be at a limit. */
  get isCrowded(): boolean {
    return this.#taken >= this.share
  }

  hasRoomFor(partnerId: number): boolean {
    return this.#taken < this.most && (this.#takenBy.get(partnerId) ?? 0) < this.share
  }

  /** Admits a request. The caller must call release after it. @throws Refusal overloaded */
  acquire(partnerId: number): void {
    if (!this.hasRoomFor(partnerId)) throw overloaded()
    this.#taken++
    this.#takenBy.set(partnerId, (this.#takenBy.get(partnerId) ?? 0) + 1)
  }

  release(partnerId: number): void {
    this.#taken--
    const left = (this.#takenBy.get(partnerId) as number) - 1
    if (left > 0) this.#takenBy.set(partnerId, left)
    else this.#takenBy.delete(partnerId)
  }
}

/** Maximum requests in flight: of all partners together, and of one partner. 512 bookings take less than a second. */
const [mostInFlight, mostOfOnePartner] = [512, 256]

export type ConcurrencyLimits = ReturnType<typeof concurrencyLimits>

export function concurrencyLimits() {
  const places = () => new ConcurrencyLimit(mostInFlight, mostOfOnePartner)
  return { reads: places(), bookings: places() }
}

/** Time slice of one partner, in ms. The last step of the slice may take longer. */
const sliceMillis = 0.1

/** Work in ms that may start without waiting, in each event loop turn. Waiting costs as much as a short search. */
const atOnceMillis = 2

interface Slice {
  readonly owner: object
  readonly partnerId: number
  readonly beganAt: number
}

interface Waiter {
  readonly owner: object
  readonly resume: () => void
}

/** Deficit round robin: each event loop turn resumes work of one partner, oldest first, for one time slice. */
export class FairQueue {
  /** Waiting work by partner id. The next partner comes first. */
  readonly #waiting = new Map<number, Waiter[]>()
  /** Overrun of the last slice by partner id, in ms. Decreases when the partner is skipped. */
  readonly #excess = new Map<number, number>()
  #slice: Slice | null = null
  #isScheduled = false
  #doneAtOnceMillis = 0

  constructor(
    private readonly now: () => number = elapsedMillis,
    private readonly later: (run: () => void) => void = setImmediate,
  ) {}

  /** Resolves at the partner's turn. Use this for work of a single step, for example parsing a large body. */
  turn(partnerId: number): Promise<void> {
    return this.#wait(partnerId, {}, false)
  }

  /** Returns a function to call before each step of the work. If the partner is idle, the work starts at once. */
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

  /** Returns the next partner. Skips partners that exceeded their time slice. */
  #nextPartner(): number {
    for (const [partnerId, theirs] of this.#waiting) {
      const excess = this.#excess.get(partnerId) ?? 0
      if (excess <= 0 || this.#waiting.size === 1) return partnerId
      this.#excess.set(partnerId, excess - sliceMillis)
      // Moves the partner to the end of the map. The loop visits the partner again there.
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

  /** Starts a slice. The slice ends when the running work waits again or is done. */
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
