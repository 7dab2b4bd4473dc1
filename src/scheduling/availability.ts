import { dayMinutes, minuteMillis } from './calendar'
import { type Interval, Reach } from './interval'
import { type Schedule, type Window, workingTime } from './working-hours'

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
 * The one rule for what can be had, for search, for booking, and for saying why not: slots of the working
 * time that lie whole inside one of `licensed`, touch neither taken slots nor time off, and start in
 * [now + notice, now + 30 days). What it is asked of a slot it is asked of its start in minutes, and of slots in
 * ascending order: all that stands in their way is gone through once beside them.
 */
export class Rule {
  /** The first minute that is not over. */
  readonly earliest: number
  /** The schedule's windows, from whose starts slots are counted. */
  readonly windows: readonly Window[]
  private readonly licensed: Reach
  private readonly taken: Reach
  private readonly away: Reach
  private readonly noticed: number
  private readonly horizon: number

  /**
   * @param now milliseconds since 1970-01-01T00:00Z
   * @param range where the slots start that are asked about: all that can be had, unless told
   */
  constructor(calendar: Calendar, licensed: readonly Interval[], now: number, range = rangeAt(now)) {
    const { schedule, taken, minimumNoticeMinutes } = calendar
    this.earliest = Math.ceil(now / minuteMillis)
    this.windows = workingTime(schedule, range)
    this.licensed = new Reach(licensed)
    this.taken = new Reach(taken)
    this.away = new Reach(schedule.timeOff)
    this.noticed = this.earliest + minimumNoticeMinutes
    this.horizon = this.earliest + horizonMinutes
  }

  /** All but whether it is within the horizon. */
  allows(start: number): boolean {
    return this.isNoticed(start) && this.isFree(start) && this.isLicensed(start)
  }

  isLicensed(start: number): boolean {
    // Of what has begun by then, and licenses begin on whole minutes, the one that goes on for longest.
    return this.licensed.before(Math.floor(start) + 1) >= start + slotMinutes
  }

  /** Whether it touches neither taken slots nor time off. */
  isFree(start: number): boolean {
    const end = start + slotMinutes
    return this.taken.before(end) <= start && this.away.before(end) <= start
  }

  /** Whether what is left until the slot is notice enough. */
  isNoticed(start: number): boolean {
    return start >= this.noticed
  }

  isWithinHorizon(start: number): boolean {
    return start < this.horizon
  }
}

/** From now to one day past the horizon: so it is known when the next slot will come into it. */
function rangeAt(now: number): Interval {
  return {
    start: Math.floor(now / minuteMillis),
    end: Math.ceil(now / minuteMillis) + horizonMinutes + dayMinutes,
  }
}

/** What can be had by the rule. @param now milliseconds since 1970-01-01T00:00Z */
export function availabilityAt(calendar: Calendar, licensed: readonly Interval[], now: number): Availability {
  const rule = new Rule(calendar, licensed, now)
  const slots = toSlots(rule.windows, rule)
  const count = slots.findLastIndex((start) => rule.isWithinHorizon(start)) + 1
  const entering = slots[count] ?? Infinity
  slots.length = count
  const [first = Infinity] = slots
  // Until the first slot has come too near or a new one enters the horizon.
  const leaves = (first - calendar.minimumNoticeMinutes) * minuteMillis + 1
  const enters = (entering - horizonMinutes) * minuteMillis + 1
  const holdsUntil = Math.min(leaves, enters, now + dayMinutes * minuteMillis)
  return { slots, heldFrom: now, holdsUntil }
}

/**
 * The slots that can be had and start in a stretch of time: what availabilityAt says of it, by the same rule, in as much
 * less time as the stretch is shorter than all that is offered.
 *
 * @param now milliseconds since 1970-01-01T00:00Z
 */
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

/**
 * Whether the slot that starts at `start` (minutes) can be had: what availabilityAt says of it, by the same rule, without
 * working out all the others.
 *
 * @param now milliseconds since 1970-01-01T00:00Z
 */
export function isAvailableAt(
  calendar: Calendar,
  licensed: readonly Interval[],
  start: number,
  now: number,
): boolean {
  const rule = new Rule(calendar, licensed, now, slotAt(start))
  return rule.isWithinHorizon(start) && toSlots(rule.windows, rule).includes(start)
}

/** The length of every slot (contract, Limits). */
export const slotMinutes = 45

/** The interval of the slot that starts at an instant. */
export function slotAt(start: number): Interval {
  return { start, end: start + slotMinutes }
}

/** Whether a slot is wanted, by its start. It is asked in ascending order. */
interface SlotRule {
  allows(start: number): boolean
}

const anySlot: SlotRule = { allows: () => true }

/**
 * The starts of the wanted slots in each window: the first at the window's start, one every step, each entirely inside
 * it. An unwanted slot does not move the others: the grid is fixed.
 * Steps are elapsed time, because on the wall clock slots would overlap when an hour repeats.
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
