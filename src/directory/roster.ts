import { minuteMillis } from '../scheduling/calendar'
import type { Interval } from '../scheduling/interval'

/** The active providers licensed in a region. Immutable; replaced when licenses change, begin or end. */
export interface Roster {
  /** Provider ids in ascending order. */
  readonly ids: readonly number[]
  /** In ms. The roster is valid from `heldFrom` (inclusive) to `holdsUntil` (exclusive). */
  readonly heldFrom: number
  readonly holdsUntil: number
}

/** License times in a region, sorted by provider id. Stored as columns of numbers, because a new roster scans all rows. */
export class RegionLicenses {
  #ids: number[] = []
  #starts: number[] = []
  #ends: number[] = []
  #roster: Roster | null = null

  /** Returns a copy to change while the original is in use. */
  copy(): RegionLicenses {
    const copy = new RegionLicenses()
    copy.#ids = this.#ids.slice()
    copy.#starts = this.#starts.slice()
    copy.#ends = this.#ends.slice()
    copy.#roster = this.#roster
    return copy
  }

  put(id: number, licenses: readonly Interval[]): void {
    const first = this.#positionOf(id)
    let held = 0
    while (this.#ids[first + held] === id) held++
    this.#roster = null
    // A full load adds ids in ascending order. Appending them is fast; splicing would double the time of the load.
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

  /** Returns the providers licensed at `now` (ms). Returns the same object until a license changes, begins or ends. */
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
      // A provider's licenses in one region never overlap, so no id repeats.
      return isHeld
    })
    return { ids, heldFrom: minute * minuteMillis, holdsUntil: changesAt * minuteMillis }
  }

  /** Returns the index of an id's first row, or the index at which to insert it. */
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
