import { dayMinutes, formatDay, formatTimeOfDay, minuteMillis } from './calendar'

/**
 * The offsets of one IANA zone. `offsets[i]` (minutes east of UTC) applies from `transitions[i - 1]` to `transitions[i]`
 * (minutes since 1970-01-01T00:00Z, ascending). There is one more offset than transitions.
 */
export interface TimeZone {
  readonly name: string
  readonly transitions: readonly number[]
  readonly offsets: readonly number[]
}

/** Returns the zone's offset from UTC at an instant, in minutes, east positive. */
export function offsetAt(zone: TimeZone, instant: number): number {
  return zone.offsets[ruleAt(zone, instant)] as number
}

/** Returns the local time of an instant, in minutes since the local 1970-01-01T00:00. */
export function toLocal(zone: TimeZone, instant: number): number {
  return instant + offsetAt(zone, instant)
}

/**
 * Formats an instant (minutes) in local time: `Tue 2026-12-01 09:00`. Adds the offset to a local time that occurs twice:
 * `Sun 2026-11-01 01:30 (UTC-04:00)`.
 */
export function formatLocal(zone: TimeZone, instant: number): string {
  const local = toLocal(zone, Math.floor(instant))
  const day = Math.floor(local / dayMinutes)
  const isTwice = toFirstInstant(zone, local) !== toLastInstant(zone, local)
  const which = isTwice ? ` (${formatOffset(offsetAt(zone, Math.floor(instant)))})` : ''
  return `${formatDay(day)} ${formatTimeOfDay(local - day * dayMinutes)}${which}`
}

function formatOffset(minutes: number): string {
  return `UTC${minutes < 0 ? '-' : '+'}${formatTimeOfDay(Math.abs(minutes))}`
}

/** Returns the local date of an instant, in days since 1970-01-01. */
export function localDay(zone: TimeZone, instant: number): number {
  return Math.floor(toLocal(zone, instant) / dayMinutes)
}

/**
 * Converts a local time (minutes since the local 1970-01-01T00:00) to an instant, like Temporal's 'compatible' and RFC 5545
 * §3.3.5. A skipped time moves forward by the length of the gap. A repeated time means its first occurrence.
 */
export function toInstant(zone: TimeZone, local: number): number {
  return local - (zone.offsets[firstRuleOf(zone, local)] as number)
}

/** A range of local times that all have the same offset from UTC. A time that occurs twice means its first occurrence. */
interface FixedOffset {
  readonly offset: number
  /** The first local time after the range. */
  readonly until: number
}

/** Returns the range that starts at a local time. The range is empty if `until` is not after that time. */
export function fixedOffsetFrom(zone: TimeZone, local: number): FixedOffset {
  const rule = ruleAt(zone, local - dayMinutes)
  const offset = zone.offsets[rule] as number
  return { offset, until: (zone.transitions[rule] ?? Infinity) + offset }
}

/** Returns the first instant of a local time, or the instant of the clock change that skips it. */
export function toFirstInstant(zone: TimeZone, local: number): number {
  return shownUnder(zone, firstRuleOf(zone, local), local)
}

/** Returns the last instant of a local time, or the instant of the clock change that skips it. */
export function toLastInstant(zone: TimeZone, local: number): number {
  let rule = ruleAt(zone, local + dayMinutes)
  while (rule > 0 && local - (zone.offsets[rule] as number) < (zone.transitions[rule - 1] as number)) rule--
  return shownUnder(zone, rule, local)
}

/** Converts a local time to an instant by a rule's offset. Returns at most the end of the rule. */
function shownUnder(zone: TimeZone, rule: number, local: number): number {
  return Math.min(local - (zone.offsets[rule] as number), zone.transitions[rule] ?? Infinity)
}

/** Returns the first rule (index into `offsets`) for a local time. For a skipped time, returns the rule before the gap. */
function firstRuleOf(zone: TimeZone, local: number): number {
  // Offsets are shorter than a day, so the rule in force a day earlier is the earliest candidate.
  for (let rule = ruleAt(zone, local - dayMinutes); ; rule++) {
    const ends = zone.transitions[rule]
    if (ends === undefined || local - (zone.offsets[rule] as number) < ends) return rule
    // The rule at this index has ended. If the next rule starts only after `local`, the clock skips `local`.
    if (local - (zone.offsets[rule + 1] as number) < ends) return rule
  }
}

function ruleAt(zone: TimeZone, instant: number): number {
  let low = 0
  let high = zone.transitions.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((zone.transitions[middle] as number) <= instant) low = middle + 1
    else high = middle
  }
  return low
}

/** Returns the local date of `today` or `tomorrow` at `now` (ms), in days since 1970-01-01; null for other words. */
export function namedDay(word: string, clock: TimeZone, now: number): number | null {
  const today = localDay(clock, now / minuteMillis)
  if (word === 'today') return today
  return word === 'tomorrow' ? today + 1 : null
}
