import type { TimeZone } from '../../scheduling/time-zone'

/** Each request reads the clock only once. */
export interface Clock {
  now(): number
}

export const systemClock: Clock = { now: () => Date.now() }

/** The zone data and the database support only the years 2000 to 2498. @param at ms */
export function isSupported(at: number): boolean {
  return at >= Date.UTC(2000, 0, 2) && at < Date.UTC(2499, 0)
}

export interface SettableClock extends Clock {
  readonly isFrozen: boolean
  set(at: number, isFrozen: boolean): void
}

/** Returns a clock that starts at `startsAt` (ms) and then runs at normal speed, unless it is frozen. */
export function clockStartingAt(startsAt: number, isFrozen = false): SettableClock {
  let [from, since, frozen] = [startsAt, performance.now(), isFrozen]
  return {
    now: () => (frozen ? from : from + Math.floor(performance.now() - since)),
    get isFrozen() {
      return frozen
    },
    set(at, isFrozen) {
      ;[from, since, frozen] = [at, performance.now(), isFrozen]
    },
  }
}

export function pause(millis: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, millis))
}

/** Reads a monotonic clock: for durations only. */
export function elapsedMillis(): number {
  return performance.now()
}

export interface ZoneEdition {
  /** For example `2026f`, or `unknown`. */
  readonly edition: string
  readonly folder: string | null
}

/** The time zones of one edition of the IANA data. */
export interface ZoneData extends ZoneEdition {
  /** Compared with the built-in edition. An equal or newer edition is `current`. */
  readonly age: 'current' | 'older' | 'unknown'
  readonly names: readonly string[]
  /** Finds a zone by IANA name or by IANA link. Case-sensitive. Returns null for other names. */
  find(name: string): TimeZone | null
  /** Returns the zones of a country (ISO 3166-1 alpha-2); none for an unknown code. */
  zonesOf(country: string): readonly string[]
  /** The built-in data, even if other data is in use. */
  readonly builtIn: Pick<ZoneData, 'edition' | 'find'>
}
