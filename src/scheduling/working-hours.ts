import { dayMinutes, weekdayOf } from './calendar'
import type { Interval } from './interval'
import { localDay, steadyFrom, type TimeZone, toFirstInstant, toInstant } from './time-zone'

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
  /** A bit for each, from that of Monday, 1, to that of Sunday, 64. */
  readonly weekdays: number
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

/** The windows that start on some dates, in order of their starts, not yet merged. */
export function windowsBetween(schedule: Schedule, fromDay: number, untilDay: number): Window[] {
  const { zone } = schedule
  const windows: Window[] = []
  let steady = steadyFrom(zone, fromDay * dayMinutes)
  let begins = 0
  const add = ({ startMinute, endMinute, stepMinutes }: LocalWindow) => {
    const isSteady = begins + endMinute < steady.until
    const start = isSteady ? begins + startMinute - steady.offset : toInstant(zone, begins + startMinute)
    const end = isSteady ? begins + endMinute - steady.offset : toFirstInstant(zone, begins + endMinute)
    if (start < end) insert(windows, { start, end, stepMinutes })
  }
  for (let day = fromDay; day <= untilDay; day++) {
    begins = day * dayMinutes
    if (begins >= steady.until) steady = steadyFrom(zone, begins)
    eachWindow(schedule, day, add)
  }
  return windows
}

/** Working time that goes on over whole dates, from the window with which it began. */
interface Chain {
  readonly start: number
  readonly stepMinutes: number
  /** The last date with a pause before it, or that from which endless chains are counted. */
  readonly pauseDay: number
  /** The last date until which it is known to go on. */
  readonly untilDay: number
}

// A schedule never changes, so neither does where its chains begin.
const chains = new WeakMap<Schedule, readonly Chain[]>()

// As many of more than a week as can be asked about in turn within the horizon.
const rememberedChains = 5

/** The chain that goes on over a date without a pause. */
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

/** The chain that begins on a date with a pause, or before its end, and goes on until another date. */
function chainAfter(schedule: Schedule, pauseDay: number, untilDay: number): Chain {
  const ends = midnight(schedule.zone, pauseDay + 1)
  const windows = merge(windowsBetween(schedule, Math.max(pauseDay - 1, endlessChainDay), pauseDay))
  const { start, stepMinutes } = windows.find(({ end }) => end > ends) as Window
  return { start, stepMinutes, pauseDay, untilDay }
}

/**
 * The last date after `since` and up to `day` on which the working time pauses; `since` if there is none. A date is
 * like the one a week later unless the clock or the schedule changes between them, so the days before a change tell all.
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
function lastStart({ start, stepMinutes }: Pick<Window, 'start' | 'stepMinutes'>, instant: number): number {
  return start + Math.floor((instant - start) / stepMinutes) * stepMinutes
}

/** Puts a window among those in order of start, before which goes at one start the one of the longest step. */
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

/** Makes overlapping ones one, in a list in order of starts, with the step of the first of them. */
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
