import { dayMinutes, formatDay, formatTimeOfDay, minuteMillis } from './calendar'

/**
 * The rules of one IANA zone as values: `offsets[i]` (minutes east of UTC) holds from `transitions[i - 1]`
 * until `transitions[i]` (minutes since 1970-01-01T00:00Z, ascending), so there is one offset more than
 * there are transitions.
 */
export interface TimeZone {
  readonly name: string
  readonly transitions: readonly number[]
  readonly offsets: readonly number[]
}

/** The zone's offset from UTC at an instant, in minutes, east positive. */
export function offsetAt(zone: TimeZone, instant: number): number {
  return zone.offsets[ruleAt(zone, instant)] as number
}

/** The local reading of an instant, in minutes since the local 1970-01-01T00:00. */
export function toLocal(zone: TimeZone, instant: number): number {
  return instant + offsetAt(zone, instant)
}

/**
 * The local reading of an instant as people read it: `Tue 2026-12-01 09:00`. Of one that the clock shows twice it is told
 * which: `Sun 2026-11-01 01:30 (UTC-04:00)`.
 */
export function formatLocal(zone: TimeZone, instant: number): string {
  const local = toLocal(zone, Math.floor(instant))
  const day = Math.floor(local / dayMinutes)
  const isTwice = toFirstInstant(zone, local) !== toLastInstant(zone, local)
  const which = isTwice ? ` (${formatOffset(offsetAt(zone, Math.floor(instant)))})` : ''
  return `${formatDay(day)} ${formatTimeOfDay(local - day * dayMinutes)}${which}`
}

/** Minutes east of UTC as `UTC-04:00`. */
function formatOffset(minutes: number): string {
  return `UTC${minutes < 0 ? '-' : '+'}${formatTimeOfDay(Math.abs(minutes))}`
}

/** The local date of an instant, in days since 1970-01-01. */
export function localDay(zone: TimeZone, instant: number): number {
  return Math.floor(toLocal(zone, instant) / dayMinutes)
}

/**
 * The instant of a local reading (minutes since the local 1970-01-01T00:00), by the rule that Temporal
 * calls 'compatible' (RFC 5545 §3.3.5 has the same): a reading that the clock skips moves on by the length
 * of the gap, one that it shows twice means the first time.
 */
export function toInstant(zone: TimeZone, local: number): number {
  return local - (zone.offsets[firstRuleOf(zone, local)] as number)
}

/** A stretch of local readings, each of which the clock shows once, at one offset from UTC. */
export interface Steady {
  readonly offset: number
  /** The first reading that is no longer part of it. */
  readonly until: number
}

/** What can be said without a look at the zone of the readings from one on; nothing where `until` is not after it. */
export function steadyFrom(zone: TimeZone, local: number): Steady {
  const rule = ruleAt(zone, local - dayMinutes)
  const offset = zone.offsets[rule] as number
  return { offset, until: (zone.transitions[rule] ?? Infinity) + offset }
}

/** The first instant at which the clock shows a local reading, or the moment of the change that skips it. */
export function toFirstInstant(zone: TimeZone, local: number): number {
  return shownUnder(zone, firstRuleOf(zone, local), local)
}

/** The last instant at which the clock shows a local reading, or the moment of the change that skips it. */
export function toLastInstant(zone: TimeZone, local: number): number {
  let rule = ruleAt(zone, local + dayMinutes)
  while (rule > 0 && local - (zone.offsets[rule] as number) < (zone.transitions[rule - 1] as number)) rule--
  return shownUnder(zone, rule, local)
}

/** When a reading is shown under a rule, at the latest the change that ends the rule. */
function shownUnder(zone: TimeZone, rule: number, local: number): number {
  return Math.min(local - (zone.offsets[rule] as number), zone.transitions[rule] ?? Infinity)
}

/** The first rule under which the clock shows a reading, or that by whose end it skips it. */
function firstRuleOf(zone: TimeZone, local: number): number {
  // No offset is a day or more, so the rule in force a day earlier is the earliest that can apply.
  for (let rule = ruleAt(zone, local - dayMinutes); ; rule++) {
    const ends = zone.transitions[rule]
    if (ends === undefined || local - (zone.offsets[rule] as number) < ends) return rule
    // Past the end of this rule: unless the next rule can show this reading too, the clock skips it.
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

/** The day that today or tomorrow is by a clock at `now` (ms), counted from 1970-01-01; null for any other word. */
export function namedDay(word: string, clock: TimeZone, now: number): number | null {
  const today = localDay(clock, now / minuteMillis)
  if (word === 'today') return today
  return word === 'tomorrow' ? today + 1 : null
}
