import { type License, type Provider, type TimeOff, type WorkingWindow, weekdays } from '../domain/provider'
import { dayMinutes, minuteMillis, parseDate, parseInstant, parseTimeOfDay } from '../scheduling/calendar'
import type { Interval } from '../scheduling/interval'
import { slotMinutes } from '../scheduling/slots'
import { type TimeZone, toInstant } from '../scheduling/time-zone'
import type { LocalWindow, Schedule } from '../scheduling/working-hours'

/** A provider's schedule in the engine's numbers. The texts have been validated when they were loaded. */
export function compileSchedule(provider: Provider, zone: TimeZone): Schedule {
  return {
    zone,
    workingHours: provider.workingHours.map((hours) => ({
      ...compileWindow(hours),
      weekdays: weekdays.map((weekday) => hours.weekdays.includes(weekday)),
      fromDay: hours.from === undefined ? -Infinity : dayOf(hours.from),
      untilDay: hours.until === undefined ? Infinity : dayOf(hours.until),
    })),
    overrides: new Map(
      provider.overrides.map(({ date, windows }) => [dayOf(date), windows.map(compileWindow)]),
    ),
    // A skipped hour can leave nothing of an absence.
    timeOff: provider.timeOff
      .map((absence) => compileTimeOff(absence, zone))
      .filter(({ start, end }) => start < end),
  }
}

/** When a license holds: from the first moment of its first local date to the last of its last. */
export function compileLicense({ from, until }: License, zone: TimeZone): Interval {
  return {
    start: toInstant(zone, dayOf(from) * dayMinutes),
    end: until === null ? Infinity : toInstant(zone, (dayOf(until) + 1) * dayMinutes),
  }
}

function compileWindow({ start, end, stepMinutes = slotMinutes }: WorkingWindow): LocalWindow {
  const [startMinute, endMinute] = [timeOf(start), timeOf(end)]
  return { startMinute, endMinute: endMinute > startMinute ? endMinute : endMinute + dayMinutes, stepMinutes }
}

function compileTimeOff({ from, until }: TimeOff, zone: TimeZone): Interval {
  return { start: boundary(from, 0), end: boundary(until, 1) }

  /** A date stands for its first moment as a beginning, and as an end, `extraDays` later, for its last. */
  function boundary(text: string, extraDays: number): number {
    const instant = parseInstant(text)
    if (instant !== null) return instant / minuteMillis
    const [date = '', time] = text.split('T')
    if (time === undefined) return toInstant(zone, (dayOf(date) + extraDays) * dayMinutes)
    return toInstant(zone, dayOf(date) * dayMinutes + timeOf(time))
  }
}

function dayOf(date: string): number {
  return parseDate(date) as number
}

function timeOf(time: string): number {
  return parseTimeOfDay(time) as number
}
