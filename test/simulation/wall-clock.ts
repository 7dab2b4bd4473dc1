// Local times of a few zones, computed from their rules without zone data and independently of the service.

export const [minuteMillis, hourMillis, dayMillis] = [60_000, 3_600_000, 86_400_000]

/** The zones of the providers in the simulation. */
export const zoneNames = ['America/Toronto', 'Europe/London', 'Asia/Kolkata'] as const

export type ZoneName = (typeof zoneNames)[number] | 'Etc/UTC'

/** The start and end of summer time in a year, in ms. */
type Summer = (year: number) => readonly [begins: number, ends: number]

/** Standard offset from UTC in minutes. Summer time adds 60. */
const zones: Record<ZoneName, { readonly standard: number; readonly summer: Summer | null }> = {
  // From the second Sunday of March to the first Sunday of November. Clocks change at 02:00 local time.
  'America/Toronto': {
    standard: -300,
    summer: (year) => [sunday(year, 3, 2) + 7 * hourMillis, sunday(year, 11, 1) + 6 * hourMillis],
  },
  // From the last Sunday of March to the last Sunday of October. Clocks change at 01:00 UTC.
  'Europe/London': {
    standard: 0,
    summer: (year) => [lastSunday(year, 3) + hourMillis, lastSunday(year, 10) + hourMillis],
  },
  'Asia/Kolkata': { standard: 330, summer: null },
  'Etc/UTC': { standard: 0, summer: null },
}

/** The start (UTC, ms) of the nth Sunday of a month (1 to 12). */
function sunday(year: number, month: number, nth: number): number {
  const first = Date.UTC(year, month - 1, 1)
  const daysUntilSunday = (7 - new Date(first).getUTCDay()) % 7
  return first + (daysUntilSunday + 7 * (nth - 1)) * dayMillis
}

/** Requires a month of 31 days. */
function lastSunday(year: number, month: number): number {
  const last = Date.UTC(year, month - 1, 31)
  return last - new Date(last).getUTCDay() * dayMillis
}

/** The UTC offset of a zone at an instant (ms), in minutes. */
export function offsetAt(zone: ZoneName, at: number): number {
  const { standard, summer } = zones[zone]
  if (!summer) return standard
  const [begins, ends] = summer(new Date(at).getUTCFullYear())
  return begins <= at && at < ends ? standard + 60 : standard
}

/**
 * Converts a local time to an instant (ms).
 * @param day days since 1970-01-01
 * @param minutes minutes after midnight
 * @throws Error if clocks show this time twice or never
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

/** The local date at an instant (ms), in days since 1970-01-01. */
export function dayAt(zone: ZoneName, at: number): number {
  return Math.floor((at + offsetAt(zone, at) * minuteMillis) / dayMillis)
}

/** Formats a day as `2026-12-01`, which sorts as text. */
export function dateOf(day: number): string {
  return new Date(day * dayMillis).toISOString().slice(0, 10)
}

export function dayOf(date: string): number {
  return Date.parse(`${date}T00:00:00Z`) / dayMillis
}

/** The next clock change of a zone, in ms; infinite if the zone has none. */
export function nextChange(zone: ZoneName, after: number): number {
  const { summer } = zones[zone]
  const year = new Date(after).getUTCFullYear()
  const changes = summer ? [...summer(year), ...summer(year + 1)] : []
  return changes.find((at) => at > after) ?? Number.POSITIVE_INFINITY
}

export function instant(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19)}Z`
}
