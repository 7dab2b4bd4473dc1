import moment from 'moment-timezone'
import type { WorkingWindow } from '../../src/domain/provider'
import type { Practice } from './provider'

/**
 * Computes the slots of a practice independently of src/scheduling. Tests compare the two results. The computation
 * scans each minute of about eighty days. It takes local times from the moment-timezone library.
 */

const millis = 60_000
const day = 1_440
const slot = 45
const daysBehind = 45
const daysAhead = 38
const namesOfDays = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'] as const

export interface OracleSlots {
  /** The starts of the slots, in minutes since 1970-01-01T00:00Z. */
  readonly slots: number[]
  /** False if working time may have begun before the scanned range. The grid of its slots is then unknown. */
  readonly seesBeginnings: boolean
}

/** @param now milliseconds since 1970-01-01T00:00Z */
export function oracleSlots(practice: Practice, now: number): OracleSlots {
  const minute = Math.floor(now / millis)
  const clock = watchClock(practice.timeZone, minute - daysBehind * day, minute + daysAhead * day)
  const { slots, seesBeginnings } = slotsWithin(practice, clock)
  const fromMillis = now + practice.minimumNoticeMinutes * millis
  const toMillis = now + 30 * 24 * 60 * 60 * 1000
  return {
    slots: slots.filter((start) => start * millis >= fromMillis && start * millis < toMillis),
    seesBeginnings,
  }
}

export function slotsWithin(practice: Omit<Practice, 'minimumNoticeMinutes'>, clock: Clock): OracleSlots {
  const { from, to } = clock
  const covered = new Uint8Array(to - from)
  const joined = new Uint8Array(to - from)
  const stepFrom = new Uint16Array(to - from)
  const busy = new Uint8Array(to - from)

  const firstDate = Math.floor(from / day)
  for (let date = firstDate + 2; date < Math.floor(to / day) - 2; date++) {
    const text = isoDate(date * day * millis)
    for (const { start, end, stepMinutes = slot } of windowsOf(practice, text)) {
      const begins = clock.afterGap(text, minutesOf(start))
      const ends = clock.firstShowing(text, minutesOf(end) + (minutesOf(end) <= minutesOf(start) ? day : 0))
      if (begins < ends) stepFrom[begins - from] = Math.max(stepFrom[begins - from] ?? 0, stepMinutes)
      for (let at = begins; at < ends; at++) {
        covered[at - from] = 1
        if (at > begins) joined[at - from] = 1
      }
    }
  }
  for (const start of practice.taken) mark(busy, start - from, start + slot - from)
  for (const absence of practice.timeOff) {
    const { begins, ends } = absentAt(clock, absence)
    mark(busy, begins - from, ends - from)
  }
  const licensed = new Uint8Array(to - from)
  for (const { from: first, until } of practice.licenses) {
    mark(licensed, clock.midnight(first, 0) - from, (until === null ? to : clock.midnight(until, 1)) - from)
  }

  const slots: number[] = []
  let seesBeginnings = true
  for (let begins = 0; begins < covered.length; begins++) {
    if (!covered[begins] || joined[begins]) continue
    let ends = begins + 1
    while (joined[ends]) ends++
    if (begins < 5 * day && ends > (daysBehind - 1) * day) seesBeginnings = false
    const step = stepFrom[begins] ?? slot
    for (let at = begins; at + slot <= ends; at += step) {
      if (isAll(busy, at, 0) && isAll(licensed, at, 1)) slots.push(at + from)
    }
  }
  return { slots, seesBeginnings }
}

export function absentAt(clock: Clock, { from, until }: Practice['timeOff'][number]) {
  return { begins: beginningOf(clock, from), ends: endOf(clock, until) }
}

function mark(tape: Uint8Array, begins: number, ends: number): void {
  if (begins < ends) tape.fill(1, Math.max(begins, 0), Math.max(ends, 0))
}

function isAll(tape: Uint8Array, at: number, value: number): boolean {
  return tape.subarray(at, at + slot).every((minute) => minute === value)
}

function windowsOf(
  { overrides, workingHours }: Pick<Practice, 'overrides' | 'workingHours'>,
  date: string,
): readonly WorkingWindow[] {
  const override = overrides.find((override) => override.date === date)
  if (override) return override.windows
  const name = namesOfDays[new Date(`${date}T00:00:00Z`).getUTCDay()]
  return workingHours.filter(
    ({ weekdays, from = '', until = '9' }) =>
      weekdays.some((weekday) => weekday === name) && from <= date && date <= until,
  )
}

function beginningOf(clock: Clock, text: string): number {
  if (text.endsWith('Z')) return Date.parse(text) / millis
  if (text.includes('T')) return clock.firstShowing(text.slice(0, 10), minutesOf(text.slice(11)))
  return clock.midnight(text, 0)
}

function endOf(clock: Clock, text: string): number {
  if (text.endsWith('Z')) return Date.parse(text) / millis
  if (text.includes('T')) return clock.lastShowing(text.slice(0, 10), minutesOf(text.slice(11)))
  return clock.midnight(text, 1)
}

export interface Clock {
  /** The range begins at `from` and ends before `to`, in minutes since 1970-01-01T00:00Z. */
  readonly from: number
  readonly to: number
  /**
   * The first instant at which the clock shows a minute of a date. A skipped minute is counted as if the clock had not
   * changed.
   */
  afterGap(date: string, minute: number): number
  /** The first instant at which the clock shows the minute. A skipped minute gives the instant of the clock change. */
  firstShowing(date: string, minute: number): number
  /** The last instant at which the clock shows the minute. A skipped minute gives the instant of the clock change. */
  lastShowing(date: string, minute: number): number
  /** Returns the start of the date `daysLater` days after `date`. Instants outside the range become `from` or `to`. */
  midnight(date: string, daysLater: number): number
}

/** Reads the clock of a zone at each minute from `from` to `to`, in minutes since 1970-01-01T00:00Z. */
export function watchClock(zoneName: string, from: number, to: number): Clock {
  const zone = moment.tz.zone(zoneName)
  if (!zone) throw new Error(`moment-timezone knows no ${zoneName}`)
  // Local time differs from UTC by less than a day, so the arrays are a day longer at both ends.
  const first = new Float64Array(to - from + 2 * day).fill(Number.NaN)
  const last = new Float64Array(to - from + 2 * day).fill(Number.NaN)
  const jumps: { readonly at: number; readonly before: number; readonly after: number }[] = []
  let previous: number | undefined
  for (let instant = from; instant < to; instant++) {
    const reading = instant - Math.round(zone.utcOffset(instant * millis))
    const place = reading - from + day
    if (Number.isNaN(first[place])) first[place] = instant
    last[place] = instant
    if (previous !== undefined && reading > previous + 1) {
      jumps.push({ at: instant, before: previous, after: reading })
    }
    previous = reading
  }
  const readingOf = (date: string, minute: number) => Date.parse(`${date}T00:00Z`) / millis + minute
  const jumpOver = (reading: number) => jumps.find(({ before, after }) => before < reading && reading < after)
  const shown = (tape: Float64Array, reading: number): number => {
    const instant = tape[reading - from + day]
    if (instant === undefined || Number.isNaN(instant)) throw new Error('a reading outside what was watched')
    return instant
  }
  const firstShown = (reading: number) => jumpOver(reading)?.at ?? shown(first, reading)
  return {
    from,
    to,
    afterGap(date, minute) {
      const reading = readingOf(date, minute)
      const jump = jumpOver(reading)
      return jump ? jump.at + (reading - jump.before - 1) : shown(first, reading)
    },
    firstShowing: (date, minute) => firstShown(readingOf(date, minute)),
    lastShowing(date, minute) {
      const reading = readingOf(date, minute)
      return jumpOver(reading)?.at ?? shown(last, reading)
    },
    midnight(date, daysLater) {
      const reading = readingOf(date, daysLater * day)
      if (reading < from + day) return from
      return reading > to - day ? to : firstShown(reading)
    },
  }
}

function minutesOf(time: string): number {
  const [hours = 0, minutes = 0] = time.split(':').map(Number)
  return hours * 60 + minutes
}

function isoDate(instant: number): string {
  return new Date(instant).toISOString().slice(0, 10)
}
