import { dayMinutes, weekdayOf } from './calendar'
import type { Interval } from './interval'
import { localDay, type TimeZone, toFirstInstant, toInstant } from './time-zone'

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
 * A window that began before the range is told from the last slot of its grid that starts no later.
 */
export function workingTime(schedule: Schedule, range: Interval): Window[] {
  const { zone } = schedule
  const firstDay = localDay(zone, range.start) - 1
  // A window of the date after may carry on one that began before the end.
  const lastDay = localDay(zone, range.end) + 1
  const pauseDay = lastPause(schedule, firstDay)
  const fromDay = Math.max(pauseDay - 1, Math.min(firstDay, endlessChainDay))
  const [unbroken, untilDay] = [midnight(zone, pauseDay + 1), midnight(zone, firstDay + 1)]
  // What reaches over the end of that date goes on without a pause until there, whatever windows it is made of.
  const begun = merge(windowsBetween(schedule, fromDay, pauseDay)).map((window) =>
    window.end > unbroken ? { ...window, end: Math.max(window.end, untilDay) } : window,
  )
  return merge([...begun, ...windowsBetween(schedule, Math.max(firstDay, pauseDay + 1), lastDay)])
    .filter(({ end }) => end > range.start)
    .map((window) => ({ ...window, start: lastStart(window, range.start) }))
}

/** The windows that start on some dates, not yet merged. */
export function windowsBetween(schedule: Schedule, fromDay: number, untilDay: number): Window[] {
  const windows: Window[] = []
  for (let day = fromDay; day <= untilDay; day++) {
    for (const { startMinute, endMinute, stepMinutes } of windowsOn(schedule, day)) {
      const start = toInstant(schedule.zone, day * dayMinutes + startMinute)
      const end = toFirstInstant(schedule.zone, day * dayMinutes + endMinute)
      if (start < end) windows.push({ start, end, stepMinutes })
    }
  }
  return windows
}

/**
 * The last date up to `day` on which the working time pauses; where it never does, that of endless chains. A date is
 * like the one a week later unless the clock or the schedule changes between them, so the days before a change tell all.
 */
function lastPause(schedule: Schedule, day: number): number {
  if (pausesOn(schedule, day)) return day
  const told = [day + 2, ...changesUntil(schedule, day + 1)].flatMap((change) =>
    Array.from({ length: 10 }, (_, back) => change + 1 - back),
  )
  const dates = [...new Set(told)].filter((date) => endlessChainDay < date && date < day)
  return (
    dates.sort((a, b) => b - a).find((date) => pausesOn(schedule, date)) ?? Math.min(day, endlessChainDay)
  )
}

/** The dates until `day` that can differ from the date a week before: by the clock or the schedule. */
function changesUntil({ zone, overrides, workingHours }: Schedule, day: number): number[] {
  const [from, until] = [(endlessChainDay - 1) * dayMinutes, (day + 2) * dayMinutes]
  const clockChanges = zone.transitions.filter((at) => from < at && at < until)
  return [
    ...clockChanges.map((at) => localDay(zone, at)),
    ...overrides.keys(),
    ...workingHours.flatMap(({ fromDay, untilDay }) => [fromDay, untilDay + 1]),
  ]
}

/** Whether some moment of a date lies inside no window, be it where two of them meet. */
function pausesOn(schedule: Schedule, day: number): boolean {
  const [begins, ends] = [midnight(schedule.zone, day), midnight(schedule.zone, day + 1)]
  const windows = merge(windowsBetween(schedule, day - 1, day))
  return !windows.some(({ start, end }) => start < begins && ends <= end)
}

function midnight(zone: TimeZone, day: number): number {
  return toFirstInstant(zone, day * dayMinutes)
}

/** The last start on a window's grid that is not after `instant`, or its first. */
function lastStart({ start, stepMinutes }: Window, instant: number): number {
  return start + Math.max(0, Math.floor((instant - start) / stepMinutes)) * stepMinutes
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
