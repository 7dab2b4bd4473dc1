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

// Windows of neighbouring dates that overlap form a chain, whose slots are counted from its beginning; a
// chain is followed back this far, so that the grid does not depend on when it is looked at.
const chainDays = 7

/**
 * The working time that may hold a slot starting in `range`, as instants in ascending order that never
 * overlap: overlapping windows become one, windows that merely meet stay two, each with a grid of its own.
 * Both ends of a window are converted from local time, so on the day of a clock change it has its true length.
 */
export function workingTime(schedule: Schedule, range: Interval): Window[] {
  const windows: Window[] = []
  const lastDay = localDay(schedule.zone, range.end)
  for (let day = localDay(schedule.zone, range.start) - 1 - chainDays; day <= lastDay; day++) {
    for (const { startMinute, endMinute, stepMinutes } of windowsOn(schedule, day)) {
      const start = toInstant(schedule.zone, day * dayMinutes + startMinute)
      const end = toInstant(schedule.zone, day * dayMinutes + endMinute)
      if (start < end) windows.push({ start, end, stepMinutes })
    }
  }
  return merge(windows).filter((window) => window.end > range.start)
}

/** Overlapping windows made one, with the longest of their steps: a break that one of them asks for is kept. */
function merge(windows: Window[]): Window[] {
  windows.sort((a, b) => a.start - b.start)
  const merged: Window[] = []
  for (const window of windows) {
    const last = merged.at(-1)
    if (last && window.start < last.end) {
      merged[merged.length - 1] = {
        start: last.start,
        end: Math.max(last.end, window.end),
        stepMinutes: Math.max(last.stepMinutes, window.stepMinutes),
      }
    } else merged.push(window)
  }
  return merged
}
