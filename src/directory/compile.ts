import {
  absencesOf,
  type License,
  type Provider,
  type TimeOff,
  type WeeklyHours,
  type WorkingWindow,
  weekdays,
} from '../domain/provider'
import { slotMinutes } from '../scheduling/availability'
import { dayMinutes, minuteMillis, parseDate, parseInstant, parseTimeOfDay } from '../scheduling/calendar'
import { type Interval, union } from '../scheduling/interval'
import { type TimeZone, toFirstInstant, toLastInstant } from '../scheduling/time-zone'
import type { LocalWindow, Schedule, WorkingHours } from '../scheduling/working-hours'

/** A provider's schedule in the engine's numbers. The texts have been validated when they were loaded. */
export function compileSchedule(provider: Provider, zone: TimeZone): Schedule {
  const timeOff = absencesOf(provider)
  return {
    zone,
    workingHours: provider.workingHours.map(compileHours),
    overrides: provider.overrides.length === 0 ? none.overrides : compileOverrides(provider.overrides),
    // In the provider's order. Time off within a skipped hour stays as an empty interval.
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

/** A date means the whole local day, a local date-time every instant at which the clock shows it. */
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

/** @throws RangeError for a text that was not validated, which would otherwise be read as 1970 */
function readable(value: number | null): number {
  if (value === null) throw new RangeError('not a date or a time')
  return value
}

/** By working hours, the last schedule compiled in one zone, and its provider. */
interface Known {
  readonly schedules: Map<
    Provider['workingHours'],
    { readonly provider: Provider; readonly schedule: Schedule }
  >
  readonly licenses: Map<Provider['licenses'], readonly LicensedTime[]>
}

/** What else a schedule is made of. */
const others = ['overrides', 'timeOff', 'staffTimeOff'] as const

/** Compiles providers that are read together. Those with the same schedule share one object. */
export class CompiledOnce {
  readonly #zones = new Map<TimeZone, Known>()

  scheduleOf(provider: Provider, zone: TimeZone): Schedule {
    const { workingHours } = provider
    const { schedules } = this.#knownIn(zone)
    const known = schedules.get(workingHours)
    if (known && others.every((list) => known.provider[list] === provider[list])) return known.schedule
    const schedule = compileSchedule(provider, zone)
    schedules.set(workingHours, { provider, schedule })
    return schedule
  }

  licensesOf({ licenses }: Provider, zone: TimeZone): readonly LicensedTime[] {
    const known = this.#knownIn(zone).licenses
    const compiled = known.get(licenses) ?? compileLicenses(licenses, zone)
    known.set(licenses, compiled)
    return compiled
  }

  #knownIn(zone: TimeZone): Known {
    let known = this.#zones.get(zone)
    if (!known) {
      known = { schedules: new Map(), licenses: new Map() }
      this.#zones.set(zone, known)
    }
    return known
  }
}
