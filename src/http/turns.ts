import { elapsedMillis } from '../domain/clock'

/** Work that is done in small steps: between any two of them others may have their turn. */
export type Steps<T> = Generator<void, T, void>

/** How long a turn is, in ms: as long as one partner may keep all others waiting, but for the last step of the turn. */
const turnMillis = 0.1

/** How much short work is done without a turn, in ms, before the event loop is let go on: turns have their price. */
const atOnceMillis = 2

/** Does a step of some work, and tells whether it was the last. */
type Advance = () => boolean

/**
 * Lets partners take turns (round robin): in each turn of the event loop one of them has the work done that it asked for
 * first, for as long as a turn lasts. Whoever comes with one request waits for one turn of each other partner, however
 * much they have asked for.
 */
export class Turns {
  /** What is still to be done, by partner, those first whose turn is next. */
  readonly #waiting = new Map<number, Advance[]>()
  /** By how much the last turn of a partner was longer than a turn, less what others have had since; in ms. */
  readonly #over = new Map<number, number>()
  #isScheduled = false
  /** What was done at once, without a turn, since the last one; in ms. */
  #doneAtOnceMillis = 0

  /**
   * @param now ms, of any beginning
   * @param later runs something once the event loop has looked for what came in meanwhile
   */
  constructor(
    private readonly now: () => number = elapsedMillis,
    private readonly later: (run: () => void) => void = setImmediate,
  ) {}

  /** Does a partner's work, at once where they have none waiting and as far as it is short. Resolves with what it comes to. */
  take<T>(partnerId: number, steps: Steps<T>): Promise<T> {
    const isAtOnce = !this.#waiting.has(partnerId) && this.#doneAtOnceMillis < atOnceMillis
    const answer = this.#add(partnerId, steps)
    if (isAtOnce) this.#doneAtOnceMillis += this.#giveTurn(partnerId)
    this.#schedule()
    return answer
  }

  /** Does a partner's work when it is their turn, since it is part of something longer. */
  queue<T>(partnerId: number, steps: Steps<T>): Promise<T> {
    const answer = this.#add(partnerId, steps)
    this.#schedule()
    return answer
  }

  #add<T>(partnerId: number, steps: Steps<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const theirs = this.#waiting.get(partnerId)
      const work = advancing(steps, resolve, reject)
      if (theirs) theirs.push(work)
      else this.#waiting.set(partnerId, [work])
    })
  }

  #schedule(): void {
    if (this.#isScheduled || this.#waiting.size === 0) return
    this.#isScheduled = true
    this.later(() => {
      this.#isScheduled = false
      this.#doneAtOnceMillis = 0
      const next = this.#nextPartner()
      if (next !== undefined) this.#giveTurn(next)
      this.#schedule()
    })
  }

  /** Whoever is first of those who have had no more than all others that wait (deficit round robin). */
  #nextPartner(): number | undefined {
    // Who is moved behind all others is met again.
    for (const [partnerId, works] of this.#waiting) {
      const over = this.#over.get(partnerId) ?? 0
      if (over <= 0 || this.#waiting.size === 1) return partnerId
      this.#over.set(partnerId, over - turnMillis)
      this.#waiting.delete(partnerId)
      this.#waiting.set(partnerId, works)
    }
  }

  /** Has a partner's work done until their turn is over. Tells how long that took, in ms. */
  #giveTurn(partnerId: number): number {
    const works = this.#waiting.get(partnerId) ?? []
    const beganAt = this.now()
    let millis = 0
    while (works.length > 0 && millis < turnMillis) {
      if (works[0]?.()) works.shift()
      millis = this.now() - beganAt
    }
    this.#over.set(partnerId, millis - turnMillis)
    this.#waiting.delete(partnerId)
    if (works.length > 0) this.#waiting.set(partnerId, works)
    return millis
  }
}

function advancing<T>(
  steps: Steps<T>,
  resolve: (value: T) => void,
  reject: (error: unknown) => void,
): Advance {
  return () => {
    try {
      const step = steps.next()
      if (step.done) resolve(step.value)
      return step.done === true
    } catch (error) {
      reject(error)
      return true
    }
  }
}
