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
 * The one rule for what can be had, for search, for booking, and for saying why not: slots of the working
 * time that lie whole inside one of `licensed`, touch neither taken slots nor time off, and start in
 * [now + notice, now + 30 days).
 *
 * @param now milliseconds since 1970-01-01T00:00Z
 * @param range where the slots start that are asked about: all that can be had, unless told
 */
export function ruleAt(calendar: Calendar, licensed: readonly Interval[], now: number, range = rangeAt(now)) {
  const { schedule, taken, minimumNoticeMinutes } = calendar
  const earliest = Math.ceil(now / minuteMillis)
  const horizon = earliest + horizonMinutes
  return {
    /** The first minute that is not over. */
    earliest,
    /** The schedule's windows, from whose starts slots are counted. */
    windows: workingTime(schedule, range),
    /** Time off and taken slots. */
    busy: [...taken, ...schedule.timeOff].filter(({ start, end }) => end > range.start && start < range.end),
    isLicensed: (start: number) => licensed.some((license) => contains(license, slotAt(start))),
    /** Whether what is left until the slot is notice enough. */
    isNoticed: (start: number) => start >= earliest + minimumNoticeMinutes,
    isWithinHorizon: (start: number) => start < horizon,
  }
}

/** The rule at one moment, step by step; what it asks of a slot it asks of its start in minutes. */
export type Rule = ReturnType<typeof ruleAt>

/** From now to one day past the horizon: so it is known when the next slot will come into it. */
function rangeAt(now: number): Interval {
  return {
    start: Math.floor(now / minuteMillis),
    end: Math.ceil(now / minuteMillis) + horizonMinutes + dayMinutes,
  }
}

/** What can be had by the rule. @param now milliseconds since 1970-01-01T00:00Z */
export function availabilityAt(calendar: Calendar, licensed: readonly Interval[], now: number): Availability {
  const rule = ruleAt(calendar, licensed, now)
  const free = dropTouching(toSlots(rule.windows), rule.busy).filter(rule.isLicensed).filter(rule.isNoticed)
  const slots = free.filter(rule.isWithinHorizon)
  const [first = Infinity, entering = Infinity] = [slots[0], free[slots.length]]
  // Until the first slot has come too near or a new one enters the horizon.
  const leaves = (first - calendar.minimumNoticeMinutes) * minuteMillis + 1
  const enters = (entering - horizonMinutes) * minuteMillis + 1
  const holdsUntil = Math.min(leaves, enters, now + dayMinutes * minuteMillis)
  return { slots, heldFrom: now, holdsUntil }
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
  const rule = ruleAt(calendar, licensed, now, slotAt(start))
  const isFree = dropTouching(toSlots(rule.windows), rule.busy).includes(start)
  return isFree && rule.isLicensed(start) && rule.isNoticed(start) && rule.isWithinHorizon(start)
}
