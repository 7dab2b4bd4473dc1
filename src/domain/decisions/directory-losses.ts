import { isDeepStrictEqual } from 'node:util'
import { dayMinutes, formatDate, minuteMillis, parseDate, parseTimeOfDay } from '../../scheduling/calendar'
import { contains, type Interval, union } from '../../scheduling/interval'
import { absenceForm, absencesOf, type License, type TimeOff, type WeeklyHours, weekdays } from '../provider'
import type { ProviderAfter } from './compare-directory'

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
 * Each function counts the elements that a load removes from a list. For working hours, the result is 1 if any time is
 * removed. Ignores past elements, and elements that remaining elements cover.
 * @param since today's date in UTC-12, in days since 1970-01-01
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
      (override) =>
        epochDay(override.date) >= since &&
        !after.overrides.some((other) => isDeepStrictEqual(override, other)),
    ).length,
  timeOff: (before, after, since) =>
    before.timeOff.filter((absence) => isAbsenceLost(absence, absencesOf(after), since)).length,
  modalities: (before, after) => missing(before.modalities, after.modalities),
  inPersonRegions: (before, after) => missing(before.inPersonRegionIds, after.inPersonRegionIds),
  languagesSpoken: (before, after) => missing(before.languagesSpoken, after.languagesSpoken),
}

/** Returns today's date in the westernmost zone (UTC-12), in days since 1970-01-01. @param now ms */
export function firstDayAt(now: number): number {
  return Math.floor(now / minuteMillis / dayMinutes - 0.5)
}

function isLicenseLost(license: License, remaining: readonly License[], since: number): boolean {
  const { start, end } = daysOf(license)
  if (end <= since) return false
  const covered = union(remaining.filter(({ regionId }) => regionId === license.regionId).map(daysOf))
  return !covered.some((days) => contains(days, { start: Math.max(start, since), end }))
}

function daysOf({ from, until }: { from?: string | null; until?: string | null }): Interval {
  return { start: from ? epochDay(from) : -Infinity, end: until ? epochDay(until) + 1 : Infinity }
}

function isAbsenceLost(absence: TimeOff, remaining: readonly TimeOff[], since: number): boolean {
  if (absence.until.slice(0, 10) < formatDate(since)) return false
  const form = absenceForm(absence.from)
  // Boundaries of the same form can be compared as text.
  return !remaining.some(
    ({ from, until }) => absenceForm(from) === form && from <= absence.from && absence.until <= until,
  )
}

const weekMinutes = 7 * dayMinutes

/** Returns true if the remaining hours do not cover these hours. Ignores days before `since`. */
function areHoursLost(hours: WeeklyHours, remaining: readonly WeeklyHours[], since: number): boolean {
  const { start, end } = daysOf(hours)
  if (end <= since) return false
  const season = { start: Math.max(start, since), end }
  const others = remaining.filter((one) => contains(daysOf(one), season)).flatMap(timesOf)
  // Hours that pass Sunday midnight continue on Monday.
  const shifts = [-weekMinutes, 0, weekMinutes]
  const worked = union(
    others.flatMap(({ start, end }) => shifts.map((by) => ({ start: start + by, end: end + by }))),
  )
  return timesOf(hours).some((time) => !worked.some((one) => contains(one, time)))
}

/** Returns these hours in minutes since Monday 00:00, one interval for each weekday. */
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

// The dates and times are valid, because the lists were validated before.
function epochDay(date: string): number {
  return parseDate(date) as number
}

function minuteOf(time: string): number {
  return parseTimeOfDay(time) as number
}
