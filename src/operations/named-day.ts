import { minuteMillis } from '../scheduling/calendar'
import { localDay, type TimeZone } from '../scheduling/time-zone'

/** The day that today or tomorrow is by a clock at `now` (ms), counted from 1970-01-01; null for any other word. */
export function namedDay(word: string, clock: TimeZone, now: number): number | null {
  const today = localDay(clock, now / minuteMillis)
  if (word === 'today') return today
  return word === 'tomorrow' ? today + 1 : null
}
