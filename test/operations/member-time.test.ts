import { describe, expect, test } from 'bun:test'
import { homeZonesOf } from '../../src/domain/region'
import { memberTimeAt } from '../../src/operations/members'
import { builtInZones } from '../../src/zones/packed'

const zones = builtInZones()
// 12:00 UTC in the northern winter.
const noon = Date.UTC(2026, 11, 1, 12)

const there = (country: string, state: string | null, at = noon) =>
  memberTimeAt(zones, { country, state }, at)
const only = (time: string, ...names: string[]) => ({ earliest: time, latest: time, zones: names })

describe('operations: the local time of a member', () => {
  test.each([
    ['US', 'CO', only('Tue 2026-12-01 05:00', 'America/Denver')],
    ['US', 'us-co', only('Tue 2026-12-01 05:00', 'America/Denver')],
    ['US', ' Colorado ', only('Tue 2026-12-01 05:00', 'America/Denver')],
    ['US', 'new york', only('Tue 2026-12-01 07:00', 'America/New_York')],
    ['AU', 'VIC', only('Tue 2026-12-01 23:00', 'Australia/Melbourne')],
    ['AU', 'ＶＩＣ', only('Tue 2026-12-01 23:00', 'Australia/Melbourne')],
    ['GB', null, only('Tue 2026-12-01 12:00', 'Europe/London')],
    ['FR', 'Bretagne', only('Tue 2026-12-01 13:00', 'Europe/Paris')],
  ])(
    'country %s, state %s with a single time zone: the result is the local time in this zone',
    (country, state, expected) => expect(there(country, state)).toEqual(expected),
  )

  test.each([
    ['US', 'KS', ['Tue 2026-12-01 05:00', 'Tue 2026-12-01 06:00'], ['America/Chicago', 'America/Denver']],
    [
      'CA',
      'Québec',
      ['Tue 2026-12-01 07:00', 'Tue 2026-12-01 08:00'],
      ['America/Toronto', 'America/Halifax'],
    ],
    ['US', 'TN', ['Tue 2026-12-01 06:00', 'Tue 2026-12-01 07:00'], ['America/Chicago', 'America/New_York']],
  ] as const)(
    'country %s, state %s with several time zones: the result is the range of local times',
    (country, state, [earliest, latest], names) =>
      expect(there(country, state)).toEqual({ earliest, latest, zones: names }),
  )

  test('the local time is not a range while all clocks of a region agree', () => {
    expect(there('CA', 'NT')).toEqual(there('CA', 'AB'))
    const [winter, summer] = [noon, Date.UTC(2026, 6, 1, 12)].map((at) => there('US', 'AZ', at))
    expect([winter?.earliest === winter?.latest, summer?.earliest === summer?.latest]).toEqual([true, false])
  })

  test.each(['Nowhere', 'CA-ON', 'Ontario'])(
    'if the state %s is unknown, the local time is a range over the whole country',
    (state) => {
      const time = there('US', state)
      expect([time?.earliest, time?.latest]).toEqual(['Tue 2026-12-01 02:00', 'Tue 2026-12-01 07:00'])
    },
  )

  test('the local time is unknown if the country is invalid', () => {
    expect(there('(unreadable)', null)).toBeNull()
    expect(there('ZZ', null)).toBeNull()
  })
})

test('operations: every zone of a region is in the zone data and belongs to the country of the region', () => {
  const countries = { CA: 13, US: 51, AU: 8 }
  const found = Object.entries(countries).map(([country]) => {
    const codes = Array.from({ length: country === 'AU' ? 26 * 26 * 27 : 26 * 26 }, (_, place) => {
      const letter = (at: number) => String.fromCharCode(65 + at)
      const third = Math.floor(place / 676)
      return letter(Math.floor(place / 26) % 26) + letter(place % 26) + (third === 0 ? '' : letter(third - 1))
    })
    const zonesOfStates = codes.map((state) => homeZonesOf({ country, state }, () => []))
    const known = zonesOfStates.filter((names) => names.length > 0)
    for (const name of known.flat()) expect(zones.find(name), name).not.toBeNull()
    for (const name of known.flat()) expect(zones.zonesOf(country), name).toContain(name)
    return [country, known.length]
  })
  expect(Object.fromEntries(found)).toEqual(countries)
})
