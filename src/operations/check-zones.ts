import type { ZoneData } from '../domain/zone-data'
import { dayMinutes, minuteMillis } from '../scheduling/calendar'
import { offsetAt, type TimeZone } from '../scheduling/time-zone'

const yearMinutes = 365 * dayMinutes

/**
 * The names, in order, of the zones whose clocks, some time in the year after `now` (ms), show another time by
 * the data in use than by the built-in data.
 */
export function zonesUnlikeBuiltIn({ names, find, builtIn }: ZoneData, now: number): string[] {
  const minute = Math.floor(now / minuteMillis)
  return names.toSorted().filter((name) => {
    const [used, known] = [find(name), builtIn.find(name)]
    return used && known && differ(used, known, minute)
  })
}

/**
 * What an operator is to be told of the zone data in use, in one line: that it is older than the built-in data, or
 * of an unknown edition, and what that does in the year after `now` (ms). Null where there is nothing to tell.
 */
export function zoneDataNote(zones: ZoneData, now: number): string | null {
  const { age, folder, edition, builtIn } = zones
  if (age === 'current') return null
  const names = zonesUnlikeBuiltIn(zones, now)
  const told = age === 'older' ? `is of ${edition}, older than` : 'does not tell its edition, unlike'
  const count = names.length === 1 ? '1 zone differs' : `${names.length || 'no'} zones differ`
  const list = names.length === 0 ? '' : `: ${names.join(', ')}`
  return `the zone data in ${folder} ${told} the built-in ${builtIn.edition}; within a year ${count}${list}`
}

/** Whether two zones are apart at a minute or at any of their changes in the year after it. */
function differ(a: TimeZone, b: TimeZone, minute: number): boolean {
  const changes = [...a.transitions, ...b.transitions].filter(
    (at) => minute < at && at < minute + yearMinutes,
  )
  return [minute, ...changes].some((at) => offsetAt(a, at) !== offsetAt(b, at))
}
