import type { TakenSlot, UnreadableProvider } from '../domain/ports/directory-feed'
import {
  absencesOf,
  isWorking,
  type License,
  type Provider,
  type TimeOff,
  type WeeklyHours,
  type WorkingWindow,
  weekdays,
} from '../domain/provider'
import { type Calendar, slotMinutes } from '../scheduling/availability'
import { dayMinutes, minuteMillis, parseDate, parseInstant, parseTimeOfDay } from '../scheduling/calendar'
import { type Interval, union } from '../scheduling/interval'
import { offsetAt, type TimeZone, toFirstInstant, toLastInstant } from '../scheduling/time-zone'
import type { LocalWindow, Schedule, WorkingHours } from '../scheduling/working-hours'

/** A provider as they are listed. Replaced, never changed: what is worked out from one can be kept beside it. */
export interface Listing {
  readonly provider: Provider
  readonly calendar: Calendar
  /** What the calendar has as taken, with the requests that hold it. */
  readonly taken: readonly TakenSlot[]
  readonly licenses: readonly LicensedTime[]
}

/** A provider who is left out of all that partners see, and why. */
export interface UnlistedProvider extends UnreadableProvider {
  readonly fault: string
}

export const nothingTaken: readonly never[] = []

/** Whether whoever finds one of two listings of a provider finds the other. */
export function isFoundAlike(one: Listing, other: Listing): boolean {
  const toldOf = ({ licenses, provider }: Listing) => {
    const { languagesSpoken, modalities, inPersonRegionIds } = provider
    return JSON.stringify([licenses, isWorking(provider), languagesSpoken, modalities, inPersonRegionIds])
  }
  return toldOf(one) === toldOf(other)
}

/** When a provider's licenses of a region hold. */
export function licensesIn(regionId: number, { licenses }: Listing): Interval[] {
  return licenses.filter((license) => license.regionId === regionId).map(({ interval }) => interval)
}

/** The same for each region of which there are any. */
export function heldByRegion(listing: Listing | undefined): Map<number, Interval[]> {
  const held = new Map<number, Interval[]>()
  for (const { regionId, interval } of listing?.licenses ?? []) {
    const others = held.get(regionId)
    if (others) others.push(interval)
    else held.set(regionId, [interval])
  }
  return held
}

export function toListing(
  provider: Provider,
  zone: TimeZone,
  taken: readonly TakenSlot[],
  compiled: CompiledOnce,
): Listing {
  return {
    provider,
    calendar: {
      schedule: compiled.scheduleOf(provider, zone),
      taken: toIntervals(taken),
      minimumNoticeMinutes: provider.minimumNoticeMinutes,
    },
    taken,
    licenses: compiled.licensesOf(provider, zone),
  }
}

/** Minutes east of UTC that a provider's clock is at an instant (ms), by the zone data in use. */
export function localOffsetAt({ calendar }: Listing, at: number): number {
  return offsetAt(calendar.schedule.zone, Math.floor(at / minuteMillis))
}

/** A listing of which these slots are taken, and no others. */
export function withTaken(listing: Listing, taken: readonly TakenSlot[]): Listing {
  const calendar = { ...listing.calendar, taken: toIntervals(taken) }
  return { ...listing, calendar, taken }
}

/** What is taken once these slots are too, in order. */
export function withBooked(taken: readonly TakenSlot[], booked: readonly TakenSlot[]): readonly TakenSlot[] {
  const ids = new Set(booked.map(({ requestId }) => requestId))
  const others = taken.filter(({ requestId }) => !ids.has(requestId))
  return [...others, ...booked].sort((a, b) => a.startsAt - b.startsAt)
}

function toIntervals(taken: readonly TakenSlot[]): readonly Interval[] {
  return taken.length > 0 ? taken.map(toInterval) : nothingTaken
}

/** When a slot is taken, in the engine's minutes. */
export function toInterval({ startsAt, endsAt }: TakenSlot): Interval {
  return { start: startsAt / minuteMillis, end: endsAt / minuteMillis }
}

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

/** What was compiled in one zone: the last schedule of those working hours, and of whom. */
interface Known {
  readonly schedules: Map<
    Provider['workingHours'],
    { readonly provider: Provider; readonly schedule: Schedule }
  >
  readonly licenses: Map<Provider['licenses'], readonly LicensedTime[]>
}

/** What else a schedule is made of. */
const others = ['overrides', 'timeOff', 'staffTimeOff'] as const

/** Compiles providers who are read together: what they have in common, down to the object, is made and held once. */
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
