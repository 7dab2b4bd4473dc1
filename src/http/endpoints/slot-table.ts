import { horizonMinutes } from '../../scheduling/availability'
import { dayMinutes, minuteMillis } from '../../scheduling/calendar'
import { slotMinutes } from '../../scheduling/slots'
import { presentSlot } from './fields'

/** What is shown at any moment of a day, in slots that follow one another. */
const rowSlots = Math.ceil((horizonMinutes + dayMinutes) / slotMinutes)

const bytesOf = (start: number) => Buffer.from(`,${JSON.stringify(presentSlot(start * minuteMillis))}`)

/** The bytes that a slot takes, the comma before it included: times are of one length. */
export const slotBytes = bytesOf(0).length

/**
 * The JSON of all slots that can be offered, each made once: writing times anew for every provider takes much longer than
 * working out when they are free. Slots that follow one another lie side by side, so that a window of working hours is
 * one copy.
 */
export class SlotTable {
  /** By the minute that starts have beyond whole slots. */
  readonly #rows: (Buffer | undefined)[] = []
  /** The whole slots before the first of a row. */
  #first = 0

  /**
   * Writes slots that are ascending, each with a comma before it. Tells where they end.
   *
   * @param starts minutes, of the 30 days from `now` (ms)
   */
  write(starts: ArrayLike<number>, now: number, target: Uint8Array, at: number): number {
    this.#turnTo(Math.floor(now / minuteMillis))
    let end = at
    for (let i = 0, next = 1; i < starts.length; i = next++) {
      const start = starts[i] as number
      while (starts[next] === start + (next - i) * slotMinutes) next++
      const from = (Math.floor(start / slotMinutes) - this.#first) * slotBytes
      const length = (next - i) * slotBytes
      end += this.#row(start % slotMinutes).copy(target, end, from, from + length)
    }
    return end
  }

  /** Begins anew where a row no longer reaches as far as slots may be offered. */
  #turnTo(minute: number): void {
    const first = Math.floor(minute / slotMinutes)
    const past = (first - this.#first) * slotMinutes
    if (past >= 0 && past < dayMinutes - slotMinutes) return
    this.#first = first
    this.#rows.length = 0
  }

  #row(beyond: number): Buffer {
    const known = this.#rows[beyond]
    if (known) return known
    const row = Buffer.concat(
      Array.from({ length: rowSlots }, (_, i) => bytesOf((this.#first + i) * slotMinutes + beyond)),
    )
    this.#rows[beyond] = row
    return row
  }
}
