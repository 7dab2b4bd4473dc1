import { Temporal } from 'temporal-polyfill'

/** Instants are in minutes inside src/scheduling and in milliseconds elsewhere. */
export const minuteMillis = 60_000
export const hourMillis = 60 * minuteMillis
/** Minutes in a day without a clock change. */
export const dayMinutes = 1_440
export const dayMillis = dayMinutes * minuteMillis

/** Parses `YYYY-MM-DD` into days since 1970-01-01. Returns null for other text and dates such as 2026-02-30. */
export function parseDate(text: string): number | null {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return null
  const [month, day] = [Number(text.slice(5, 7)) - 1, Number(text.slice(8))]
  // Date.UTC reads the year 26 as 1926.
  const date = new Date(0)
  const millis = date.setUTCFullYear(Number(text.slice(0, 4)), month, day)
  // Date moves an impossible day into the next month.
  return date.getUTCMonth() === month && date.getUTCDate() === day ? millis / dayMillis : null
}

/** Returns the same date and time (UTC) some years before `at` (ms). 29 February becomes 1 March. */
export function yearsBefore(at: number, years: number): number {
  const date = new Date(at)
  return date.setUTCFullYear(date.getUTCFullYear() - years)
}

/** Formats days since 1970-01-01 as `YYYY-MM-DD`. */
export function formatDate(day: number): string {
  return new Date(day * dayMillis).toISOString().slice(0, 10)
}

const weekdayNames = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun']

/** Formats days since 1970-01-01 as `Tue 2026-12-01`. */
export function formatDay(day: number): string {
  return `${weekdayNames[weekdayOf(day)]} ${formatDate(day)}`
}

/** Parses a local `HH:MM` from 00:00 to 24:00 into minutes since midnight. Returns null for other text. */
export function parseTimeOfDay(text: string): number | null {
  if (!/^([01]\d|2[0-3]):[0-5]\d$|^24:00$/.test(text)) return null
  return Number(text.slice(0, 2)) * 60 + Number(text.slice(3))
}

/** Formats minutes since midnight (0 to 1440) as `HH:MM`. */
export function formatTimeOfDay(minute: number): string {
  return `${String(Math.floor(minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}`
}

/** Returns the weekday of a day counted from 1970-01-01 (a Thursday): 0 is Monday, 6 is Sunday. */
export function weekdayOf(day: number): number {
  return (((day + 3) % 7) + 7) % 7
}

/** Parses an RFC 3339 timestamp (upper-case `Z`, with seconds) into ms. Returns null for other text and fractional seconds. */
export function parseInstant(text: string): number | null {
  if (!/^\d{4}-\d{2}-\d{2}T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.0+)?Z$/.test(text)) return null
  try {
    return Temporal.Instant.from(`${text.slice(0, 19)}Z`).epochMilliseconds
  } catch {
    return null
  }
}

/** Formats an instant (ms) as `YYYY-MM-DDTHH:MM:SSZ`, without fractions of a second. */
export function formatInstant(millis: number): string {
  return `${new Date(millis).toISOString().slice(0, 19)}Z`
}
