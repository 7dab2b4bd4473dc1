import { isDeepStrictEqual } from 'node:util'
import { dayMinutes, formatDate, minuteMillis, parseDate, parseTimeOfDay } from '../../scheduling/calendar'
import { contains, type Interval, union } from '../../scheduling/interval'
import { absenceForm, absencesOf, type License, type TimeOff, type WeeklyHours, weekdays } from '../provider'
import type { ProviderAfter } from './compare-directory'

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
 * How many elements of each list of a provider a change takes away, if they still mattered; of working hours 1 if any time is
 * taken away. What is over, or what something else covers, is no loss.
 *
 * @param since the first day, counted from 1970-01-01, that is not over everywhere
 */
export const lossOf: Record<
  LosableField,
  (before: ProviderAfter, after: ProviderAfter, since: number) => number
> = {
  licenses: (before, after, since) =>
    before.licenses.filter((license) => isLicenseLost(license, after.licenses, since)).length,
  workingHours: ({ workingHours }, after, since) =>
    workingHours.some((hours) => areHoursLost(hours, after.workingHours, since)) ? 1 : 0,
  overrides: (before, after, since) =>
    before.overrides.filter(
      (override) => epochDay(override.date) >= since && !isAmong(override, after.overrides),
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
  return { start: from ? epochDay(from) : -Infinity, end: until ? epochDay(until) + 1 : Infinity }
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

/** Whether some time of a week is worked by these hours, from a day on, and by no others that hold for as long. */
function areHoursLost(hours: WeeklyHours, left: readonly WeeklyHours[], since: number): boolean {
  const { start, end } = daysOf(hours)
  if (end <= since) return false
  const season = { start: Math.max(start, since), end }
  const others = left.filter((one) => contains(daysOf(one), season)).flatMap(timesOf)
  // What runs past a Sunday goes on with the Monday, of either.
  const shifts = [-weekMinutes, 0, weekMinutes]
  const worked = union(
    others.flatMap(({ start, end }) => shifts.map((by) => ({ start: start + by, end: end + by }))),
  )
  return timesOf(hours).some((time) => !worked.some((one) => contains(one, time)))
}

/** The times of a week that hours are, in minutes since its Monday began. */
function timesOf(hours: WeeklyHours): Interval[] {
  const [from, until] = [minuteOf(hours.start), minuteOf(hours.end)]
  const end = until > from ? until : until + dayMinutes
  return hours.weekdays.map((name) => {
    const midnight = weekdays.indexOf(name) * dayMinutes
    return { start: midnight + from, end: midnight + end }
  })
}

function missing(before: readonly unknown[], after: readonly unknown[]): number {
  return before.filter((value) => !after.includes(value)).length
}

function isAmong(value: unknown, others: readonly unknown[]): boolean {
  return others.some((other) => isDeepStrictEqual(value, other))
}

// The texts have been validated.
function epochDay(date: string): number {
  return parseDate(date) as number
}

function minuteOf(time: string): number {
  return parseTimeOfDay(time) as number
}
