import { Temporal } from 'temporal-polyfill'

/** Milliseconds in a minute: instants are milliseconds outside scheduling and minutes inside it. */
export const minuteMillis = 60_000
/** Milliseconds in an hour. */
export const hourMillis = 60 * minuteMillis
/** Minutes in a local day without a clock change. */
export const dayMinutes = 1_440
/** Milliseconds in such a day, and in each of UTC. */
export const dayMillis = dayMinutes * minuteMillis

/**
 * A calendar date as the number of days since 1970-01-01, which is what the engine counts in.
 * Null for anything but `YYYY-MM-DD` naming a real day (2026-02-30 is none).
 */
export function parseDate(text: string): number | null {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return null
  const [month, day] = [Number(text.slice(5, 7)) - 1, Number(text.slice(8))]
  // Date.UTC would take the year 26 for 1926.
  const date = new Date(0)
  const millis = date.setUTCFullYear(Number(text.slice(0, 4)), month, day)
  // A day past its month's last is taken for one of the next.
  return date.getUTCMonth() === month && date.getUTCDate() === day ? millis / dayMillis : null
}

/** The `YYYY-MM-DD` of a day counted from 1970-01-01. */
export function formatDate(day: number): string {
  return new Date(day * dayMillis).toISOString().slice(0, 10)
}

const weekdayNames = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun']

/** A day counted from 1970-01-01 as people read it: `Tue 2026-12-01`. */
export function formatDay(day: number): string {
  return `${weekdayNames[weekdayOf(day)]} ${formatDate(day)}`
}

/** Minutes since midnight of a local `HH:MM`, from 00:00 to 24:00; null for anything else. */
export function parseTimeOfDay(text: string): number | null {
  if (!/^([01]\d|2[0-3]):[0-5]\d$|^24:00$/.test(text)) return null
  return Number(text.slice(0, 2)) * 60 + Number(text.slice(3))
}

/** The local `HH:MM` of a number of minutes since midnight, from 00:00 to 24:00. */
export function formatTimeOfDay(minute: number): string {
  return `${String(Math.floor(minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}`
}

/** The day of the week of a day counted from 1970-01-01 (a Thursday): 0 is Monday, 6 is Sunday. */
export function weekdayOf(day: number): number {
  return (((day + 3) % 7) + 7) % 7
}

/**
 * The instant, in milliseconds, of an RFC 3339 timestamp in UTC with an upper-case `Z`, seconds, and at
 * most a fraction of zeros. Null for everything else; Temporal and Date alone would take far more.
 */
export function parseInstant(text: string): number | null {
  if (!/^\d{4}-\d{2}-\d{2}T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.0+)?Z$/.test(text)) return null
  try {
    return Temporal.Instant.from(`${text.slice(0, 19)}Z`).epochMilliseconds
  } catch {
    return null
  }
}

/** An instant in milliseconds as `YYYY-MM-DDTHH:MM:SSZ`, a fraction of a second cut off. */
export function formatInstant(millis: number): string {
  return `${new Date(millis).toISOString().slice(0, 19)}Z`
}
