import { Refusal } from '../domain/errors'
import { refusalsEverywhere } from './errors'

/** When it is worth to ask again: all that is in flight now will have been answered by then. */
const retryAfterSeconds = 1

/** The refusal of a request for which there is no place. */
export function noPlace(): Refusal {
  return new Refusal('overloaded', refusalsEverywhere.overloaded, { retryAfterSeconds })
}

/**
 * The places for requests in flight (concurrency limit, load shedding): what finds none is refused at once, so that what
 * has one is answered soon, however much more is asked for.
 */
export class Places {
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
  get taken(): number {
    return this.#taken
  }

  /** Whether so much is in flight that somebody may find no place: asked for each request, before all else. */
  get isCrowded(): boolean {
    return this.#taken >= this.share
  }

  hasPlaceFor(partnerId: number): boolean {
    return this.#taken < this.most && (this.#takenBy.get(partnerId) ?? 0) < this.share
  }

  /** Takes a place for a partner, who is to leave it. @throws Refusal overloaded */
  take(partnerId: number): void {
    if (!this.hasPlaceFor(partnerId)) throw noPlace()
    this.#taken++
    this.#takenBy.set(partnerId, (this.#takenBy.get(partnerId) ?? 0) + 1)
  }

  /** Leaves a place that was taken. */
  leave(partnerId: number): void {
    this.#taken--
    const left = (this.#takenBy.get(partnerId) as number) - 1
    if (left > 0) this.#takenBy.set(partnerId, left)
    else this.#takenBy.delete(partnerId)
  }
}
