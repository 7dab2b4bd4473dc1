import type { TimeZone } from '../../scheduling/time-zone'

/** The time. Each request reads it once and passes it on. */
export interface Clock {
  /** Milliseconds since 1970-01-01T00:00Z. */
  now(): number
}

/** The machine's clock. */
export const systemClock: Clock = { now: () => Date.now() }

/** A clock that shows `startsAt` (ms) when it is made and ticks on from there. */
export function clockStartingAt(startsAt: number): Clock {
  const made = performance.now()
  return { now: () => startsAt + Math.floor(performance.now() - made) }
}

/** Waits. */
export function pause(millis: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, millis))
}

/** Milliseconds of a monotonic clock: for durations only. */
export function elapsedMillis(): number {
  return performance.now()
}

/** Which time zone data is meant. */
export interface ZoneEdition {
  /** As `2026f`, or `unknown`. */
  readonly edition: string
  /** The zoneinfo folder that it was read from; null for the data that is built in. */
  readonly folder: string | null
}

/** The time zones that the service knows, from one edition of the IANA data. */
export interface ZoneData extends ZoneEdition {
  /** How the edition stands to the built-in one; what is newer is current too. */
  readonly age: 'current' | 'older' | 'unknown'
  /** Every name, links included. */
  readonly names: readonly string[]
  /** The zone of an IANA name, links included, its case as IANA writes it; null for every other text. */
  find(name: string): TimeZone | null
  /** The names of the zones that people in a country (ISO 3166-1 alpha-2) live by; none for a code that is none. */
  zonesOf(country: string): readonly string[]
  /** The data that is built in, be it the one in use or not. */
  readonly builtIn: Pick<ZoneData, 'edition' | 'find'>
}
