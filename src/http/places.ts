import { Refusal } from '../domain/errors'
import { refusalsEverywhere } from './errors'

/** When it is worth to ask again: all that is in flight now will have been answered by then. */
const retryAfterSeconds = 1

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

  /** Takes a place for a partner, and tells how to leave it. @throws Refusal overloaded */
  take(partnerId: number): () => void {
    const theirs = this.#takenBy.get(partnerId) ?? 0
    if (this.#taken >= this.most || theirs >= this.share) {
      throw new Refusal('overloaded', refusalsEverywhere.overloaded, { retryAfterSeconds })
    }
    this.#taken++
    this.#takenBy.set(partnerId, theirs + 1)
    return () => {
      this.#taken--
      const left = (this.#takenBy.get(partnerId) as number) - 1
      if (left > 0) this.#takenBy.set(partnerId, left)
      else this.#takenBy.delete(partnerId)
    }
  }
}
