import { expect, test } from 'bun:test'
import type { ZoneData } from '../../src/domain/ports/time'
import { zoneDataNote, zonesUnlikeBuiltIn } from '../../src/operations/maintenance'
import { minuteMillis } from '../../src/scheduling/calendar'
import type { TimeZone } from '../../src/scheduling/time-zone'
import { builtInZones } from '../../src/zones/packed'

const builtIn = builtInZones()
const now = Date.parse('2026-11-21T12:00:00Z')
const minutes = (timestamp: string) => Date.parse(timestamp) / minuteMillis

/** A folder's data in which some zones are others. */
function folderWith(others: readonly TimeZone[], edition: Pick<ZoneData, 'edition' | 'age'>): ZoneData {
  const zones = new Map(others.map((zone) => [zone.name, zone]))
  return {
    ...edition,
    folder: '/zones',
    names: [...new Set([...builtIn.names, ...zones.keys()])],
    find: (name) => zones.get(name) ?? builtIn.find(name),
    zonesOf: builtIn.zonesOf,
    builtIn,
  }
}

/** Noon UTC all year but for an hour, from one moment to another. */
const utcBut = (name: string, from: string, until: string): TimeZone => ({
  name,
  transitions: [minutes(from), minutes(until)],
  offsets: [0, 60, 0],
})
const older = { edition: '2025b', age: 'older' } as const

test('zones differ that are an hour off at any minute of the year to come, and no others', () => {
  const data = folderWith(
    [
      utcBut('Etc/UTC', '2027-01-01T00:00:00Z', '2027-01-01T00:01:00Z'),
      utcBut('Etc/UCT', '2026-01-01T00:00:00Z', '2026-11-21T12:01:00Z'),
      utcBut('Zulu', '2026-01-01T00:00:00Z', '2026-11-21T12:00:00Z'),
      utcBut('Etc/Universal', '2027-11-21T11:58:00Z', '2027-11-21T11:59:00Z'),
      utcBut('Universal', '2027-11-21T12:00:00Z', '2028-01-01T00:00:00Z'),
      // That the built-in data does not know a name is no difference.
      utcBut('Mars/Olympus', '2026-01-01T00:00:00Z', '2028-01-01T00:00:00Z'),
    ],
    older,
  )
  expect(zonesUnlikeBuiltIn(data, now)).toEqual(['Etc/UCT', 'Etc/UTC', 'Etc/Universal'])
  expect(zonesUnlikeBuiltIn(builtIn, now)).toEqual([])
})

test('data of the built-in edition or a later one is not worth a note, whatever it says', () => {
  const apart = [utcBut('Etc/UTC', '2026-01-01T00:00:00Z', '2028-01-01T00:00:00Z')]
  expect(zoneDataNote(builtIn, now)).toBeNull()
  expect(zoneDataNote(folderWith(apart, { edition: '2099a', age: 'current' }), now)).toBeNull()
})

test('data that is older, or of an unknown edition, is told in one line with the zones that differ', () => {
  const of = (...names: string[]) =>
    names.map((name) => utcBut(name, '2026-01-01T00:00:00Z', '2028-01-01T00:00:00Z'))
  const { edition } = builtIn
  expect(zoneDataNote(folderWith(of('Zulu', 'UTC'), older), now)).toBe(
    `the zone data in /zones is of 2025b, older than the built-in ${edition}; within a year 2 zones differ: UTC, Zulu`,
  )
  expect(zoneDataNote(folderWith(of('UTC'), older), now)).toBe(
    `the zone data in /zones is of 2025b, older than the built-in ${edition}; within a year 1 zone differs: UTC`,
  )
  expect(zoneDataNote(folderWith([], { edition: 'unknown', age: 'unknown' }), now)).toBe(
    `the zone data in /zones does not tell its edition, unlike the built-in ${edition}; within a year no zones differ`,
  )
})
