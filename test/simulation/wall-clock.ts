// What clocks on walls show, by the rules as they are told to schoolchildren: no zone data, and nothing of the service's.

export const [minuteMillis, hourMillis, dayMillis] = [60_000, 3_600_000, 86_400_000]

/** The zones that providers of the simulation work in. */
export const zoneNames = ['America/Toronto', 'Europe/London', 'Asia/Kolkata'] as const

/** Those, and the one that tests know which have no need of clocks. */
export type ZoneName = (typeof zoneNames)[number] | 'Etc/UTC'

/** When the summer time of a year begins and ends, in ms. */
type Summer = (year: number) => readonly [begins: number, ends: number]

/** Minutes east of UTC; in summer an hour more. */
const zones: Record<ZoneName, { readonly standard: number; readonly summer: Summer | null }> = {
  // From the second Sunday of March to the first of November, at two in the morning by the clock as it stands.
  'America/Toronto': {
    standard: -300,
    summer: (year) => [sunday(year, 3, 2) + 7 * hourMillis, sunday(year, 11, 1) + 6 * hourMillis],
  },
  // From the last Sunday of March to the last of October, at one in the morning UTC.
  'Europe/London': {
    standard: 0,
    summer: (year) => [lastSunday(year, 3) + hourMillis, lastSunday(year, 10) + hourMillis],
  },
  'Asia/Kolkata': { standard: 330, summer: null },
  'Etc/UTC': { standard: 0, summer: null },
}

/** The start (UTC) of so many-th Sunday of a month, which is counted from 1. */
function sunday(year: number, month: number, nth: number): number {
  const first = Date.UTC(year, month - 1, 1)
  const daysUntilSunday = (7 - new Date(first).getUTCDay()) % 7
  return first + (daysUntilSunday + 7 * (nth - 1)) * dayMillis
}

/** Of months of 31 days. */
function lastSunday(year: number, month: number): number {
  const last = Date.UTC(year, month - 1, 31)
  return last - new Date(last).getUTCDay() * dayMillis
}

/** Minutes east of UTC that clocks are at an instant (ms). */
export function offsetAt(zone: ZoneName, at: number): number {
  const { standard, summer } = zones[zone]
  if (!summer) return standard
  const [begins, ends] = summer(new Date(at).getUTCFullYear())
  return begins <= at && at < ends ? standard + 60 : standard
}

/**
 * The instant (ms) at which clocks show so many minutes after the midnight of a day, which is counted from 1970-01-01.
 * Only times are asked for that clocks show once.
 */
export function instantAt(zone: ZoneName, day: number, minutes: number): number {
  const shown = day * dayMillis + minutes * minuteMillis
  const { standard } = zones[zone]
  const found = [standard, standard + 60]
    .map((offset) => ({ offset, at: shown - offset * minuteMillis }))
    .filter(({ offset, at }) => offsetAt(zone, at) === offset)
  const [only, second] = found
  if (!only || second) throw new Error(`${zone} shows this time not once: ${new Date(shown).toISOString()}`)
  return only.at
}

/** The day that calendars show at an instant (ms), counted from 1970-01-01. */
export function dayAt(zone: ZoneName, at: number): number {
  return Math.floor((at + offsetAt(zone, at) * minuteMillis) / dayMillis)
}

/** A day as `2026-12-01`, which sorts as text. */
export function dateOf(day: number): string {
  return new Date(day * dayMillis).toISOString().slice(0, 10)
}

/** The day of a date. */
export function dayOf(date: string): number {
  return Date.parse(`${date}T00:00:00Z`) / dayMillis
}

/** The next instant after another at which clocks of a zone are changed; never for one that does not change them. */
export function nextChange(zone: ZoneName, after: number): number {
  const { summer } = zones[zone]
  const year = new Date(after).getUTCFullYear()
  const changes = summer ? [...summer(year), ...summer(year + 1)] : []
  return changes.find((at) => at > after) ?? Number.POSITIVE_INFINITY
}

/** An instant (ms) as a slot's ends are written. */
export function instant(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19)}Z`
}
