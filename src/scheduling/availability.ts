import { dayMinutes, minuteMillis } from './calendar'
import { type Interval, Reach } from './interval'
import { type Schedule, type Window, workingTime } from './working-hours'

/** Slots are offered for the next 30 days of elapsed time (contract, Limits). */
export const horizonMinutes = 30 * dayMinutes

/** A provider's schedule, taken slots and minimum notice. Licenses are passed separately. */
export interface Calendar {
  readonly schedule: Schedule
  readonly taken: readonly Interval[]
  readonly minimumNoticeMinutes: number
}

/** The free slots, valid from `heldFrom` (ms, inclusive) to `holdsUntil` (ms, exclusive). */
export interface Availability {
  /** Starts in minutes since 1970-01-01T00:00Z, ascending. */
  readonly slots: readonly number[]
  readonly heldFrom: number
  readonly holdsUntil: number
}

/**
 * The single availability rule, used by search, booking and explanations. A slot is free if it lies inside working time and one
 * license, overlaps no taken slot or time off, and starts in [now + notice, now + 30 days).
 * Check starts (minutes) in ascending order only, because each list of intervals is scanned once.
 */
export class Rule {
  readonly earliest: number
  readonly windows: readonly Window[]
  private readonly licensed: Reach
  private readonly taken: Reach
  private readonly away: Reach
  private readonly noticeEnd: number
  private readonly horizon: number

  /** @param now milliseconds since 1970-01-01T00:00Z @param range the slot starts to check, in minutes */
  constructor(calendar: Calendar, licensed: readonly Interval[], now: number, range = rangeAt(now)) {
    const { schedule, taken, minimumNoticeMinutes } = calendar
    this.earliest = Math.ceil(now / minuteMillis)
    this.windows = workingTime(schedule, range)
    this.licensed = new Reach(licensed)
    this.taken = new Reach(taken)
    this.away = new Reach(schedule.timeOff)
    this.noticeEnd = this.earliest + minimumNoticeMinutes
    this.horizon = this.earliest + horizonMinutes
  }

  /** Checks every condition except the horizon. */
  allows(start: number): boolean {
    return this.hasNotice(start) && this.isFree(start) && this.isLicensed(start)
  }

  isLicensed(start: number): boolean {
    // Licenses start on whole minutes. The started license with the latest end decides.
    return this.licensed.before(Math.floor(start) + 1) >= start + slotMinutes
  }

  /** Returns true if the slot overlaps neither taken slots nor time off. */
  isFree(start: number): boolean {
    const end = start + slotMinutes
    return this.taken.before(end) <= start && this.away.before(end) <= start
  }

  hasNotice(start: number): boolean {
    return start >= this.noticeEnd
  }

  isWithinHorizon(start: number): boolean {
    return start < this.horizon
  }
}

/** Returns the range from `now` to one day past the horizon. The extra day contains the next slot to enter the horizon. */
function rangeAt(now: number): Interval {
  return {
    start: Math.floor(now / minuteMillis),
    end: Math.ceil(now / minuteMillis) + horizonMinutes + dayMinutes,
  }
}

/** Returns the free slots at `now` (ms), and the period in which the slots stay the same. */
export function availabilityAt(calendar: Calendar, licensed: readonly Interval[], now: number): Availability {
  const rule = new Rule(calendar, licensed, now)
  const slots = toSlots(rule.windows, rule)
  const count = slots.findLastIndex((start) => rule.isWithinHorizon(start)) + 1
  const entering = slots[count] ?? Infinity
  slots.length = count
  const [first = Infinity] = slots
  // The slots change when the first slot is too near to book, or when the next slot enters the horizon.
  const leaves = (first - calendar.minimumNoticeMinutes) * minuteMillis + 1
  const enters = (entering - horizonMinutes) * minuteMillis + 1
  const holdsUntil = Math.min(leaves, enters, now + dayMinutes * minuteMillis)
  return { slots, heldFrom: now, holdsUntil }
}

/** Returns the free slots that start within `stretch` (minutes). Faster than availabilityAt. @param now ms */
export function slotsWithin(
  calendar: Calendar,
  licensed: readonly Interval[],
  stretch: Interval,
  now: number,
): number[] {
  const { start, end } = rangeAt(now)
  const range = { start: Math.max(start, stretch.start), end: Math.min(end, stretch.end) }
  if (range.start >= range.end) return []
  const rule = new Rule(calendar, licensed, now, range)
  return toSlots(rule.windows, rule).filter(
    (slot) => slot >= range.start && slot < range.end && rule.isWithinHorizon(slot),
  )
}

/** Returns true if the slot at `start` (minutes) is free. Faster than availabilityAt. @param now ms */
export function isAvailableAt(calendar: Calendar, licensed: readonly Interval[], start: number, now: number) {
  const rule = new Rule(calendar, licensed, now, slotAt(start))
  return rule.isWithinHorizon(start) && toSlots(rule.windows, rule).includes(start)
}

/** Length of every slot (contract, Limits). */
export const slotMinutes = 45

export function slotAt(start: number): Interval {
  return { start, end: start + slotMinutes }
}

/** Accepts or rejects slots by their start. Called in ascending order. */
interface SlotRule {
  allows(start: number): boolean
}

const anySlot: SlotRule = { allows: () => true }

/**
 * Returns the slot starts of each window: one at the window's start, then one after each step. A rejected slot does not shift
 * later slots. Steps are elapsed time, because steps in local time would make slots overlap when an hour repeats.
 */
export function toSlots(windows: readonly Window[], rule: SlotRule = anySlot): number[] {
  const starts: number[] = []
  for (const { start, end, stepMinutes } of windows) {
    for (let slot = start; slot + slotMinutes <= end; slot += stepMinutes) {
      if (rule.allows(slot)) starts.push(slot)
    }
  }
  return starts
}
