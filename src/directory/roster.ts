import { minuteMillis } from '../scheduling/calendar'
import type { Interval } from '../scheduling/interval'

/** The active providers who hold a license in a region. Replaced, never changed, as soon as others do. */
export interface Roster {
  /** In order. */
  readonly ids: readonly number[]
  /** ms: from then on it is so (inclusive), until then (exclusive). */
  readonly heldFrom: number
  readonly holdsUntil: number
}

/**
 * When the active providers hold licenses of one region, in order of id: a row for each license, in columns of numbers,
 * since all of them are looked through whenever one begins or ends.
 */
export class RegionLicenses {
  #ids: number[] = []
  #starts: number[] = []
  #ends: number[] = []
  #roster: Roster | null = null

  /** The same, to be changed aside. */
  copy(): RegionLicenses {
    const copy = new RegionLicenses()
    copy.#ids = this.#ids.slice()
    copy.#starts = this.#starts.slice()
    copy.#ends = this.#ends.slice()
    copy.#roster = this.#roster
    return copy
  }

  /** Makes a provider's licenses what they are now. */
  put(id: number, licenses: readonly Interval[]): void {
    const first = this.#positionOf(id)
    let held = 0
    while (this.#ids[first + held] === id) held++
    this.#roster = null
    // When all are read they come in order of id, and to splice each of them in takes as long as all the rest.
    if (first === this.#ids.length) {
      for (const { start, end } of licenses) {
        this.#ids.push(id)
        this.#starts.push(start)
        this.#ends.push(end)
      }
      return
    }
    this.#ids.splice(first, held, ...licenses.map(() => id))
    this.#starts.splice(first, held, ...licenses.map(({ start }) => start))
    this.#ends.splice(first, held, ...licenses.map(({ end }) => end))
  }

  /** Who is licensed at `now` (ms): the same object for as long as nothing was put and no license has begun or ended. */
  rosterAt(now: number): Roster {
    const known = this.#roster
    if (known && known.heldFrom <= now && now < known.holdsUntil) return known
    this.#roster = this.#makeRoster(Math.floor(now / minuteMillis))
    return this.#roster
  }

  #makeRoster(minute: number): Roster {
    const [starts, ends] = [this.#starts, this.#ends]
    let changesAt = Infinity
    const ids = this.#ids.filter((_, row) => {
      const [start, end] = [starts[row] as number, ends[row] as number]
      if (end <= minute) return false
      const isHeld = start <= minute
      changesAt = Math.min(changesAt, isHeld ? end : start)
      // Licenses of one provider never overlap, so nobody is here twice.
      return isHeld
    })
    return { ids, heldFrom: minute * minuteMillis, holdsUntil: changesAt * minuteMillis }
  }

  /** Where the rows of an id stand, or would have to stand. */
  #positionOf(id: number): number {
    let low = 0
    let high = this.#ids.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#ids[middle] as number) < id) low = middle + 1
      else high = middle
    }
    return low
  }
}
