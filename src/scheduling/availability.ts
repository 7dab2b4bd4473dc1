import { dayMinutes, minuteMillis } from './calendar'
import { contains, type Interval } from './interval'
import { dropTouching, slotAt, toSlots } from './slots'
import { type Schedule, workingTime } from './working-hours'

/** How far ahead slots are offered (contract, Limits: next 30 days), as elapsed time. */
export const horizonMinutes = 30 * dayMinutes

/** What decides when a provider can be had: the schedule, what is taken, and where the licenses hold. */
export interface Calendar {
  readonly schedule: Schedule
  /** Slots that are taken by a pending or accepted request. */
  readonly taken: readonly Interval[]
  /** A slot must start at least this long after the moment at which it is asked for. */
  readonly minimumNoticeMinutes: number
}

/** The slots that can be had, as they are from `heldFrom` (inclusive) to `holdsUntil` (exclusive, both ms). */
export interface Availability {
  /** Starts in minutes since 1970-01-01T00:00Z, ascending. */
  readonly slots: readonly number[]
  readonly heldFrom: number
  readonly holdsUntil: number
}

/**
 * The one rule for what can be had, for search and for booking: slots of the working time that lie whole
 * inside one of `licensed`, touch neither taken slots nor time off, and start in [now + notice, now + 30 days).
 *
 * @param now milliseconds since 1970-01-01T00:00Z
 */
export function availabilityAt(calendar: Calendar, licensed: readonly Interval[], now: number): Availability {
  const { schedule, taken, minimumNoticeMinutes } = calendar
  const earliest = Math.ceil(now / minuteMillis) + minimumNoticeMinutes
  const horizon = Math.ceil(now / minuteMillis) + horizonMinutes
  // One day more than is offered, to know when the next slot will come into the horizon.
  const range = { start: Math.floor(now / minuteMillis), end: horizon + dayMinutes }
  const busy = [...taken, ...schedule.timeOff].filter(
    ({ start, end }) => end > range.start && start < range.end,
  )
  const free = dropTouching(toSlots(workingTime(schedule, range)), busy)
    .filter((start) => licensed.some((license) => contains(license, slotAt(start))))
    .filter((start) => start >= earliest)
  const slots = free.filter((start) => start < horizon)
  return {
    slots,
    heldFrom: now,
    holdsUntil: nextChange(slots[0], free[slots.length], minimumNoticeMinutes, now),
  }
}

/** The moment, in ms, at which the first slot has come too near or a new one enters the horizon. */
function nextChange(
  first: number | undefined,
  entering: number | undefined,
  notice: number,
  now: number,
): number {
  const leaves = first === undefined ? Infinity : (first - notice) * minuteMillis + 1
  const enters = entering === undefined ? Infinity : (entering - horizonMinutes) * minuteMillis + 1
  return Math.min(leaves, enters, now + dayMinutes * minuteMillis)
}
