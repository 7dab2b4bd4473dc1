import { expect, test } from 'bun:test'
import type { ZoneData } from '../../src/domain/ports/time'
import { zoneDataNote, zonesUnlikeBuiltIn } from '../../src/operations/maintenance'
import { minuteMillis } from '../../src/scheduling/calendar'
import type { TimeZone } from '../../src/scheduling/time-zone'
import { builtInZones } from '../../src/zones/packed'

const builtIn = builtInZones()
const now = Date.parse('2026-11-21T12:00:00Z')
const minutes = (timestamp: string) => Date.parse(timestamp) / minuteMillis

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

/** A zone with the time of UTC. Between two instants, its clock is one hour ahead. */
const utcExcept = (name: string, from: string, until: string): TimeZone => ({
  name,
  transitions: [minutes(from), minutes(until)],
  offsets: [0, 60, 0],
})
const older = { edition: '2025b', age: 'older' } as const

test('operations: a zone differs from the built-in data if it is an hour off at any minute of the next year', () => {
  const data = folderWith(
    [
      utcExcept('Etc/UTC', '2027-01-01T00:00:00Z', '2027-01-01T00:01:00Z'),
      utcExcept('Etc/UCT', '2026-01-01T00:00:00Z', '2026-11-21T12:01:00Z'),
      utcExcept('Zulu', '2026-01-01T00:00:00Z', '2026-11-21T12:00:00Z'),
      utcExcept('Etc/Universal', '2027-11-21T11:58:00Z', '2027-11-21T11:59:00Z'),
      utcExcept('Universal', '2027-11-21T12:00:00Z', '2028-01-01T00:00:00Z'),
      utcExcept('Mars/Olympus', '2026-01-01T00:00:00Z', '2028-01-01T00:00:00Z'),
    ],
    older,
  )
  expect(zonesUnlikeBuiltIn(data, now)).toEqual(['Etc/UCT', 'Etc/UTC', 'Etc/Universal'])
  expect(zonesUnlikeBuiltIn(builtIn, now)).toEqual([])
})

test('operations: zoneDataNote is null for built-in zone data and for a current edition', () => {
  const apart = [utcExcept('Etc/UTC', '2026-01-01T00:00:00Z', '2028-01-01T00:00:00Z')]
  expect(zoneDataNote(builtIn, now)).toBeNull()
  expect(zoneDataNote(folderWith(apart, { edition: '2099a', age: 'current' }), now)).toBeNull()
})

test('operations: if the zone data is older or of an unknown edition, zoneDataNote lists the zones that differ', () => {
  const changedZones = (...names: string[]) =>
    names.map((name) => utcExcept(name, '2026-01-01T00:00:00Z', '2028-01-01T00:00:00Z'))
  const { edition } = builtIn
  expect(zoneDataNote(folderWith(changedZones('Zulu', 'UTC'), older), now)).toBe(
    `the zone data in /zones is edition 2025b, older than the built-in ${edition}: update it, or leave --zones out. Zones that differ in the next 12 months: UTC, Zulu`,
  )
  expect(zoneDataNote(folderWith(changedZones('UTC'), older), now)).toBe(
    `the zone data in /zones is edition 2025b, older than the built-in ${edition}: update it, or leave --zones out. Zones that differ in the next 12 months: UTC`,
  )
  expect(zoneDataNote(folderWith([], { edition: 'unknown', age: 'unknown' }), now)).toBe(
    `the zone data in /zones does not state its edition, unlike the built-in ${edition}: update it, or leave --zones out. Zones that differ in the next 12 months: none`,
  )
})
