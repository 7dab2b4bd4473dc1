import { dayMinutes, weekdayOf } from './calendar'
import type { Interval } from './interval'
import { fixedOffsetFrom, localDay, type TimeZone, toFirstInstant, toInstant } from './time-zone'

/** A window of local working time. Minutes count from the midnight at the start of the date. */
export interface LocalWindow {
  readonly startMinute: number
  /** Greater than startMinute; above 1440 if the window runs past midnight. */
  readonly endMinute: number
  /** Minutes from one slot start to the next; at least the length of a slot. */
  readonly stepMinutes: number
}

/** A weekly window between two inclusive dates, in days since 1970-01-01. */
export interface WorkingHours extends LocalWindow {
  /** Bit mask: Monday is 1, Sunday is 64. */
  readonly weekdays: number
  readonly fromDay: number
  readonly untilDay: number
}

/** A provider's weekly hours, time off, and overrides that replace the hours of a date. */
export interface Schedule {
  readonly zone: TimeZone
  readonly workingHours: readonly WorkingHours[]
  readonly overrides: ReadonlyMap<number, readonly LocalWindow[]>
  readonly timeOff: readonly Interval[]
}

/** Working time as instants (minutes). The slot grid begins at `start`. */
export interface Window extends Interval {
  readonly stepMinutes: number
}

/** Returns the windows that start on a local date. An override replaces the weekly windows. */
export function windowsOn(schedule: Schedule, day: number): readonly LocalWindow[] {
  const windows: LocalWindow[] = []
  eachWindow(schedule, day, (window) => windows.push(window))
  return windows
}

function eachWindow(
  { overrides, workingHours }: Schedule,
  day: number,
  visit: (window: LocalWindow) => void,
): void {
  const override = overrides.get(day)
  if (override) {
    for (const window of override) visit(window)
    return
  }
  const weekday = 1 << weekdayOf(day)
  for (const hours of workingHours) {
    if (hours.weekdays & weekday && hours.fromDay <= day && day <= hours.untilDay) visit(hours)
  }
}

// Overlapping windows of neighbouring dates form a chain. The slot grid begins at the start of the chain. The grid of an
// endless chain begins on this date, 2000-01-01, so that the grid does not depend on the requested range.
const endlessChainDay = 10_957

/**
 * Returns the working time that can hold a slot starting in `range`, ascending and without overlaps. Overlapping
 * windows merge. Adjacent windows keep separate slot grids. A window that began before the range is shortened: the new
 * start is the last slot start at or before the start of the range.
 */
export function workingTime(schedule: Schedule, range: Interval): Window[] {
  const { zone } = schedule
  const firstDay = localDay(zone, range.start) - 1
  const lastDay = localDay(zone, range.end) + 1
  const fromDay = Math.max(firstDay - 1, Math.min(firstDay, endlessChainDay))
  const windows = merge(windowsBetween(schedule, fromDay, lastDay))
  while (windows[0] && windows[0].end <= range.start) windows.shift()
  const [first] = windows
  if (first && first.start < range.start) {
    const begun = first.start < midnight(zone, firstDay) ? chainOver(schedule, firstDay) : first
    windows[0] = { start: lastStart(begun, range.start), end: first.end, stepMinutes: begun.stepMinutes }
  }
  return windows
}

/** Returns the windows that start on these dates, sorted by start, not merged. */
export function windowsBetween(schedule: Schedule, fromDay: number, untilDay: number): Window[] {
  const { zone } = schedule
  const windows: Window[] = []
  let fixed = fixedOffsetFrom(zone, fromDay * dayMinutes)
  let begins = 0
  const add = ({ startMinute, endMinute, stepMinutes }: LocalWindow) => {
    const isFixed = begins + endMinute < fixed.until
    const start = isFixed ? begins + startMinute - fixed.offset : toInstant(zone, begins + startMinute)
    const end = isFixed ? begins + endMinute - fixed.offset : toFirstInstant(zone, begins + endMinute)
    if (start < end) insert(windows, { start, end, stepMinutes })
  }
  for (let day = fromDay; day <= untilDay; day++) {
    begins = day * dayMinutes
    if (begins >= fixed.until) fixed = fixedOffsetFrom(zone, begins)
    eachWindow(schedule, day, add)
  }
  return windows
}

/** Working time that continues over several dates without a pause. The slot grid begins at `start`. */
interface Chain {
  readonly start: number
  readonly stepMinutes: number
  /** The last date with a pause before the chain, or endlessChainDay. */
  readonly pauseDay: number
  /** The last date that the chain is known to cover. */
  readonly untilDay: number
}

// Schedules are immutable, so their chains can be cached.
const chains = new WeakMap<Schedule, readonly Chain[]>()

// Maximum number of cached chains. Only chains longer than a week are cached, and the horizon contains at most five.
const rememberedChains = 5

function chainOver(schedule: Schedule, day: number): Chain {
  const known = chains.get(schedule) ?? []
  const found = known.find(({ pauseDay, untilDay }) => pauseDay < day && day <= untilDay)
  if (found) return found
  const earlier = known.filter(({ untilDay }) => untilDay < day).sort((a, b) => b.untilDay - a.untilDay)[0]
  const pauseDay = lastPause(schedule, day, earlier?.untilDay ?? endlessChainDay)
  const chain =
    earlier?.untilDay === pauseDay ? { ...earlier, untilDay: day } : chainAfter(schedule, pauseDay, day)
  if (day - chain.pauseDay > 7) {
    const others = known.filter((other) => other.pauseDay !== chain.pauseDay)
    chains.set(schedule, [chain, ...others].slice(0, rememberedChains))
  }
  return chain
}

/** Returns the chain that starts after the pause on `pauseDay` and is known to last until `untilDay`. */
function chainAfter(schedule: Schedule, pauseDay: number, untilDay: number): Chain {
  const ends = midnight(schedule.zone, pauseDay + 1)
  const windows = merge(windowsBetween(schedule, Math.max(pauseDay - 1, endlessChainDay), pauseDay))
  const { start, stepMinutes } = windows.find(({ end }) => end > ends) as Window
  return { start, stepMinutes, pauseDay, untilDay }
}

/**
 * Returns the last date after `since` and up to `day` with a pause in the working time. If no date has a pause, returns
 * `since`. Checks only dates near a change of the clock or the schedule. Without a change, two dates a week apart have the
 * same hours.
 */
function lastPause(schedule: Schedule, day: number, since: number): number {
  let date = day
  for (const change of [day + 2, ...changesUntil(schedule, day + 1)].sort((a, b) => b - a)) {
    for (date = Math.min(date, change + 1); date > change - 9; date--) {
      if (date <= since) return since
      if (pausesOn(schedule, date)) return date
    }
  }
  return since
}

/** Returns the dates until `day` on which the hours can differ from the hours a week earlier. */
function changesUntil({ zone, overrides, workingHours }: Schedule, day: number): number[] {
  const [from, until] = [(endlessChainDay - 1) * dayMinutes, (day + 2) * dayMinutes]
  const clockChanges = zone.transitions.filter((at) => from < at && at < until)
  return [
    ...clockChanges.map((at) => localDay(zone, at)),
    ...overrides.keys(),
    ...workingHours.flatMap(({ fromDay, untilDay }) => [fromDay, untilDay + 1]),
  ]
}

/** Returns false if one window begins before the date and covers the whole date. */
function pausesOn(schedule: Schedule, day: number): boolean {
  const [begins, ends] = [midnight(schedule.zone, day), midnight(schedule.zone, day + 1)]
  const windows = merge(windowsBetween(schedule, day - 1, day))
  return !windows.some(({ start, end }) => start < begins && ends <= end)
}

function midnight(zone: TimeZone, day: number): number {
  return toFirstInstant(zone, day * dayMinutes)
}

/** Returns the last start of a slot grid at or before `instant`. */
function lastStart({ start, stepMinutes }: Pick<Window, 'start' | 'stepMinutes'>, instant: number): number {
  return start + Math.floor((instant - start) / stepMinutes) * stepMinutes
}

function insert(windows: Window[], window: Window): void {
  let place = windows.length
  for (; place > 0; place--) {
    const before = windows[place - 1] as Window
    if (before.start < window.start) break
    if (before.start === window.start && before.stepMinutes >= window.stepMinutes) break
    windows[place] = before
  }
  windows[place] = window
}

/** Merges overlapping windows of a sorted list in place. The step of the first window applies. */
function merge(windows: Window[]): Window[] {
  let count = 0
  for (const window of windows) {
    const last = windows[count - 1]
    if (!last || last.end <= window.start) windows[count++] = window
    else if (last.end < window.end) {
      windows[count - 1] = { start: last.start, end: window.end, stepMinutes: last.stepMinutes }
    }
  }
  windows.length = count
  return windows
}
