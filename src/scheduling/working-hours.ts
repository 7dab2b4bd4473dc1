import { dayMinutes, weekdayOf } from './calendar'
import type { Interval } from './interval'
import { localDay, type TimeZone, toInstant } from './time-zone'

/** A stretch of local working time, in minutes since the midnight at which its date starts. */
export interface LocalWindow {
  readonly startMinute: number
  /** After startMinute; past 1440 where the window runs over midnight. */
  readonly endMinute: number
  /** From the start of one slot to the start of the next; at least the length of a slot. */
  readonly stepMinutes: number
}

/** A window that recurs on some weekdays between two dates, both inclusive, counted from 1970-01-01. */
export interface WorkingHours extends LocalWindow {
  /** Indexed from Monday, 0, to Sunday, 6. */
  readonly weekdays: readonly boolean[]
  readonly fromDay: number
  readonly untilDay: number
}

/** When one provider works: weekly hours, and the dates on which other windows, or none, stand in their place. */
export interface Schedule {
  readonly zone: TimeZone
  readonly workingHours: readonly WorkingHours[]
  readonly overrides: ReadonlyMap<number, readonly LocalWindow[]>
  readonly timeOff: readonly Interval[]
}

/** A stretch of working time as instants, from whose start slots are counted. */
export interface Window extends Interval {
  readonly stepMinutes: number
}

/** The windows that start on a local date: the override's where there is one, else the week's. */
export function windowsOn(schedule: Schedule, day: number): readonly LocalWindow[] {
  const override = schedule.overrides.get(day)
  if (override) return override
  const weekday = weekdayOf(day)
  return schedule.workingHours.filter(
    (hours) => hours.weekdays[weekday] && hours.fromDay <= day && day <= hours.untilDay,
  )
}

// Windows of neighbouring dates that overlap form a chain, and its slots are counted from where it begins. One
// that never breaks is counted from this date, 2000-01-01, so that the grid does not depend on who looks when.
const endlessChainDay = 10_957

/**
 * The working time that may hold a slot starting in `range`, as instants in ascending order that never
 * overlap: overlapping windows become one, windows that merely meet stay two, each with a grid of its own.
 * Both ends of a window are converted from local time, so on the day of a clock change it has its true length.
 */
export function workingTime(schedule: Schedule, range: Interval): Window[] {
  const { zone } = schedule
  const firstDay = localDay(zone, range.start) - 1
  // A window of the date after may carry on one that began before the end.
  const lastDay = localDay(zone, range.end) + 1
  for (let daysBack = 3; ; daysBack *= 4) {
    const fromDay = Math.max(firstDay - daysBack, Math.min(firstDay, endlessChainDay))
    const windows = merge(windowsBetween(schedule, fromDay, lastDay)).filter(({ end }) => end > range.start)
    // No window of an earlier date, which was not looked at, reaches over the end of the date after fromDay.
    const settled = toInstant(zone, (fromDay + 2) * dayMinutes)
    if (fromDay <= endlessChainDay || windows.every(({ start }) => start >= settled)) return windows
  }
}

function windowsBetween(schedule: Schedule, fromDay: number, untilDay: number): Window[] {
  const windows: Window[] = []
  for (let day = fromDay; day <= untilDay; day++) {
    for (const { startMinute, endMinute, stepMinutes } of windowsOn(schedule, day)) {
      const start = toInstant(schedule.zone, day * dayMinutes + startMinute)
      const end = toInstant(schedule.zone, day * dayMinutes + endMinute)
      if (start < end) windows.push({ start, end, stepMinutes })
    }
  }
  return windows
}

/** Overlapping windows made one, with the step of the first of them, or the longest of those that start there. */
function merge(windows: Window[]): Window[] {
  windows.sort((a, b) => a.start - b.start || b.stepMinutes - a.stepMinutes)
  const merged: Window[] = []
  for (const window of windows) {
    const last = merged.at(-1)
    if (last && window.start < last.end) {
      merged[merged.length - 1] = { ...last, end: Math.max(last.end, window.end) }
    } else merged.push(window)
  }
  return merged
}
