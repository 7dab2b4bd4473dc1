import { homeZonesOf } from '../domain/home-zones'
import type { MemberProfile } from '../domain/member'
import type { ZoneData } from '../domain/zone-data'
import { minuteMillis } from '../scheduling/calendar'
import { formatLocal, offsetAt, type TimeZone } from '../scheduling/time-zone'

/** By what the clocks of members are told. */
export type Clocks = Pick<ZoneData, 'find' | 'zonesOf'>

/** What the clock shows where a member is, as far as what they told of the place allows. */
export interface MemberTime {
  /** As `Tue 2026-12-01 09:00`: the earliest and the latest that it may be there, mostly the same. */
  readonly earliest: string
  readonly latest: string
  /** The zones (IANA) that it may be told by, the likeliest first. */
  readonly zones: readonly string[]
}

/**
 * The time at an instant where a member is; null where it cannot be told.
 *
 * @param at ms
 */
export function memberTimeAt(
  zones: Clocks,
  profile: Pick<MemberProfile, 'country' | 'state'>,
  at: number,
): MemberTime | null {
  const minute = at / minuteMillis
  const found = homeZonesOf(profile, zones.zonesOf).flatMap((name): readonly TimeZone[] => {
    const zone = zones.find(name)
    return zone ? [{ ...zone, name }] : []
  })
  const offset = (zone: TimeZone) => offsetAt(zone, Math.floor(minute))
  const [earliest] = found.toSorted((a, b) => offset(a) - offset(b))
  const [latest] = found.toSorted((a, b) => offset(b) - offset(a))
  if (!earliest || !latest) return null
  // One zone of each time is enough to tell it by.
  const told = found.filter(
    (zone, place) => found.findIndex((other) => offset(other) === offset(zone)) === place,
  )
  return {
    earliest: formatLocal(earliest, minute),
    latest: formatLocal(latest, minute),
    zones: told.map(({ name }) => name),
  }
}
