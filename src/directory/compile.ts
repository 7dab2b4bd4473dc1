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

/** Converts a provider's schedule to the numbers of src/scheduling. The schedule was validated at load. */
export function compileSchedule(provider: Provider, zone: TimeZone): Schedule {
  const timeOff = absencesOf(provider)
  return {
    zone,
    workingHours: provider.workingHours.map(compileHours),
    overrides: provider.overrides.length === 0 ? none.overrides : compileOverrides(provider.overrides),
    // Same order as in the provider's record. Time off that lies in a skipped hour becomes an empty interval.
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

// Shared to save memory, because most providers have no overrides and no time off.
const none: Pick<Schedule, 'overrides' | 'timeOff'> = { overrides: new Map(), timeOff: [] }

function compileOverrides(overrides: Provider['overrides']): Schedule['overrides'] {
  return new Map(overrides.map(({ date, windows }) => [dayOf(date), windows.map(compileWindow)]))
}

export interface LicensedTime {
  readonly regionId: number
  readonly interval: Interval
}

/** Returns when licenses are valid, merged by region. The first and the last local date are valid in full. */
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

/** Dates cover whole local days. If a local time occurs twice, a start is the earlier instant, an end the later instant. */
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

/** Converts a local date-time, or a date (its midnight), to minutes since the local 1970-01-01T00:00. */
export function localMinuteOf(text: string): number {
  const [date = '', time = '00:00'] = text.split('T')
  return dayOf(date) * dayMinutes + timeOf(time)
}

function dayOf(date: string): number {
  return readable(parseDate(date))
}

function timeOf(time: string): number {
  return readable(parseTimeOfDay(time))
}

/** @throws RangeError for null, because arithmetic would treat null as 0 */
function readable(value: number | null): number {
  if (value === null) throw new RangeError('not a date or a time')
  return value
}

/** The cached results for one zone. The keys are the lists of providers, compared by identity. */
interface Known {
  readonly schedules: Map<
    Provider['workingHours'],
    { readonly provider: Provider; readonly schedule: Schedule }
  >
  readonly licenses: Map<Provider['licenses'], readonly LicensedTime[]>
}

/** A schedule depends on these lists of the provider and on workingHours. */
const others = ['overrides', 'timeOff', 'staffTimeOff'] as const

/** Compiles the providers of one read. Providers with the same list objects share one schedule. */
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
