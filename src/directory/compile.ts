import {
  absencesOf,
  type License,
  type Provider,
  type TimeOff,
  type WeeklyHours,
  type WorkingWindow,
  weekdays,
} from '../domain/provider'
import { dayMinutes, minuteMillis, parseDate, parseInstant, parseTimeOfDay } from '../scheduling/calendar'
import { type Interval, union } from '../scheduling/interval'
import { slotMinutes } from '../scheduling/slots'
import { type TimeZone, toFirstInstant, toLastInstant } from '../scheduling/time-zone'
import type { LocalWindow, Schedule, WorkingHours } from '../scheduling/working-hours'

/** A provider's schedule in the engine's numbers. The texts have been validated when they were loaded. */
export function compileSchedule(provider: Provider, zone: TimeZone): Schedule {
  const timeOff = absencesOf(provider)
  return {
    zone,
    workingHours: provider.workingHours.map(compileHours),
    overrides: provider.overrides.length === 0 ? none.overrides : compileOverrides(provider.overrides),
    // In the provider's order; of one that lies in a skipped hour alone nothing is left but its place.
    timeOff: timeOff.length === 0 ? none.timeOff : timeOff.map((absence) => compileTimeOff(absence, zone)),
  }
}

function compileHours({ weekdays: days, from, until, ...hours }: WeeklyHours): WorkingHours {
  const { startMinute, endMinute, stepMinutes } = compileWindow(hours)
  return {
    startMinute,
    endMinute,
    stepMinutes,
    weekdays: days.reduce((bits, weekday) => bits | (1 << weekdays.indexOf(weekday)), 0),
    fromDay: from === undefined ? -Infinity : dayOf(from),
    untilDay: until === undefined ? Infinity : dayOf(until),
  }
}

// Most have neither, and there are many of them in memory.
const none: Pick<Schedule, 'overrides' | 'timeOff'> = { overrides: new Map(), timeOff: [] }

function compileOverrides(overrides: Provider['overrides']): Schedule['overrides'] {
  return new Map(overrides.map(({ date, windows }) => [dayOf(date), windows.map(compileWindow)]))
}

/** When licenses of one region hold. */
export interface LicensedTime {
  readonly regionId: number
  readonly interval: Interval
}

/**
 * When a provider's licenses hold, each from the first moment of its first local date to the last of its last;
 * those of one region that meet or overlap are one.
 */
export function compileLicenses(licenses: readonly License[], zone: TimeZone): LicensedTime[] {
  const times = licenses.map((license) => ({
    regionId: license.regionId,
    interval: compileLicense(license, zone),
  }))
  const regions = new Set(times.map(({ regionId }) => regionId))
  if (regions.size === times.length) return times
  return Array.from(
    Map.groupBy(times, ({ regionId }) => regionId),
    ([regionId, held]) =>
      union(held.map(({ interval }) => interval)).map((interval) => ({ regionId, interval })),
  ).flat()
}

function compileLicense({ from, until }: License, zone: TimeZone): Interval {
  return {
    start: toFirstInstant(zone, dayOf(from) * dayMinutes),
    end: until === null ? Infinity : toFirstInstant(zone, (dayOf(until) + 1) * dayMinutes),
  }
}

function compileWindow({ start, end, stepMinutes = slotMinutes }: WorkingWindow): LocalWindow {
  const [startMinute, endMinute] = [timeOf(start), timeOf(end)]
  return { startMinute, endMinute: endMinute > startMinute ? endMinute : endMinute + dayMinutes, stepMinutes }
}

/** Dates stand for the whole of them, local date-times for all that the clock shows between them. */
export function compileTimeOff({ from, until }: TimeOff, zone: TimeZone): Interval {
  const [start, end] = [parseInstant(from), parseInstant(until)]
  if (start !== null && end !== null) return { start: start / minuteMillis, end: end / minuteMillis }
  return {
    start: toFirstInstant(zone, localMinuteOf(from)),
    end: until.includes('T')
      ? toLastInstant(zone, localMinuteOf(until))
      : toFirstInstant(zone, localMinuteOf(until) + dayMinutes),
  }
}

/** The minute of a local date-time, or of a date's midnight, since the local 1970-01-01T00:00. */
function localMinuteOf(text: string): number {
  const [date = '', time = '00:00'] = text.split('T')
  return dayOf(date) * dayMinutes + timeOf(time)
}

function dayOf(date: string): number {
  return readable(parseDate(date))
}

function timeOf(time: string): number {
  return readable(parseTimeOfDay(time))
}

/** @throws RangeError for a text that is not what was loaded: read as 1970 it would offer what is not to be had */
function readable(value: number | null): number {
  if (value === null) throw new RangeError('not a date or a time')
  return value
}
