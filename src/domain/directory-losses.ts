import { isDeepStrictEqual } from 'node:util'
import { dayMinutes, formatDate, minuteMillis, parseDate, parseTimeOfDay } from '../scheduling/calendar'
import { contains, type Interval, union } from '../scheduling/interval'
import type { ProviderAfter } from './compare-directory'
import { absenceForm, absencesOf, type License, type TimeOff, type WeeklyHours, weekdays } from './provider'

/** The lists of a provider of which something can be taken away. */
export const losableFields = [
  'licenses',
  'workingHours',
  'overrides',
  'timeOff',
  'modalities',
  'inPersonRegions',
  'languagesSpoken',
] as const

export type LosableField = (typeof losableFields)[number]

/**
 * What a change takes away of each list of a provider, if it still mattered: of working hours so many minutes a week, of
 * the others so many elements. What is over, or what something else covers, is no loss.
 *
 * @param since the first day, counted from 1970-01-01, that is not over everywhere
 */
export const lossOf: Record<
  LosableField,
  (before: ProviderAfter, after: ProviderAfter, since: number) => number
> = {
  licenses: (before, after, since) =>
    before.licenses.filter((license) => isLicenseLost(license, after.licenses, since)).length,
  workingHours: (before, after, since) => lostMinutes(before.workingHours, after.workingHours, since),
  overrides: (before, after, since) =>
    before.overrides.filter(
      (override) => dayOf(override.date) >= since && !isAmong(override, after.overrides),
    ).length,
  timeOff: (before, after, since) =>
    before.timeOff.filter((absence) => isAbsenceLost(absence, absencesOf(after), since)).length,
  modalities: (before, after) => missing(before.modalities, after.modalities),
  inPersonRegions: (before, after) => missing(before.inPersonRegionIds, after.inPersonRegionIds),
  languagesSpoken: (before, after) => missing(before.languagesSpoken, after.languagesSpoken),
}

/** The first day that is not over everywhere at an instant (ms): the clocks of the west are twelve hours behind. */
export function firstDayAt(now: number): number {
  return Math.floor(now / minuteMillis / dayMinutes - 0.5)
}

function isLicenseLost(license: License, left: readonly License[], since: number): boolean {
  const { start, end } = daysOf(license)
  if (end <= since) return false
  const held = union(left.filter(({ regionId }) => regionId === license.regionId).map(daysOf))
  return !held.some((days) => contains(days, { start: Math.max(start, since), end }))
}

/** From the day on which something begins until that after its last. */
function daysOf({ from, until }: { from?: string | null; until?: string | null }): Interval {
  return { start: from ? dayOf(from) : -Infinity, end: until ? dayOf(until) + 1 : Infinity }
}

function isAbsenceLost(absence: TimeOff, left: readonly TimeOff[], since: number): boolean {
  if (absence.until.slice(0, 10) < formatDate(since)) return false
  const form = absenceForm(absence.from)
  // Boundaries of one form sort as text.
  return !left.some(
    ({ from, until }) => absenceForm(from) === form && from <= absence.from && absence.until <= until,
  )
}

const weekMinutes = 7 * dayMinutes

/**
 * The minutes a week that are worked by some hours and not by others: of the week that loses the most, since hours may be
 * those of a season.
 */
export function lostMinutes(
  before: readonly WeeklyHours[],
  after: readonly WeeklyHours[],
  since: number,
): number {
  const [earlier, later] = [before.map(timesOf), after.map(timesOf)]
  const bounds = [...earlier, ...later].flatMap(({ days }) => [days.start, days.end])
  const seasons = new Set([since, ...bounds.filter((day) => since < day && day < Infinity)])
  return Math.max(...Array.from(seasons, (day) => beyond(weekOf(earlier, day), weekOf(later, day))))
}

/** Hours in numbers: the days of their season, and the time they are of a week, in minutes since its Monday began. */
interface WeekTimes {
  readonly days: Interval
  readonly times: readonly Interval[]
}

function timesOf(hours: WeeklyHours): WeekTimes {
  const [from, until] = [minuteOf(hours.start), minuteOf(hours.end)]
  const end = until > from ? until : until + dayMinutes
  const times = hours.weekdays.map((name) => {
    const midnight = weekdays.indexOf(name) * dayMinutes
    return { start: midnight + from, end: midnight + end }
  })
  return { days: daysOf(hours), times }
}

/** The time worked in a week by the hours of a day's season. */
function weekOf(hours: readonly WeekTimes[], day: number): Interval[] {
  return hours.flatMap(({ days, times }) => (days.start <= day && day < days.end ? times : []))
}

/** How much of one week's time lies in none of another's. */
function beyond(week: readonly Interval[], other: readonly Interval[]): number {
  // What runs past a Sunday goes on with the Monday, of either.
  const shifts = [-weekMinutes, 0, weekMinutes]
  const covered = union(
    other.flatMap(({ start, end }) => shifts.map((by) => ({ start: start + by, end: end + by }))),
  )
  const left = union(week).map((own) => length(own) - covered.reduce((sum, it) => sum + shared(own, it), 0))
  return left.reduce((sum, minutes) => sum + minutes, 0)
}

function length({ start, end }: Interval): number {
  return end - start
}

function shared(a: Interval, b: Interval): number {
  return Math.max(0, Math.min(a.end, b.end) - Math.max(a.start, b.start))
}

function missing(before: readonly unknown[], after: readonly unknown[]): number {
  return before.filter((value) => !after.includes(value)).length
}

function isAmong(value: unknown, others: readonly unknown[]): boolean {
  return others.some((other) => isDeepStrictEqual(value, other))
}

// The texts have been validated.
function dayOf(date: string): number {
  return parseDate(date) as number
}

function minuteOf(time: string): number {
  return parseTimeOfDay(time) as number
}
