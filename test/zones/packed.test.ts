import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import moment from 'moment-timezone'
import packed from 'moment-timezone/data/packed/latest.json'
import { minuteMillis } from '../../src/scheduling/calendar'
import { offsetAt } from '../../src/scheduling/time-zone'
import { builtInZones } from '../../src/zones/packed'
import { times } from '../support/long'
import { notNames } from './names'

const zones = builtInZones()
const libraryOffset = (name: string, instant: number) =>
  0 - Math.round(moment.tz.zone(name)?.utcOffset(instant * minuteMillis) ?? Number.NaN)

describe('zones: the built-in zones', () => {
  test('the built-in zones are of edition 2026f or later', () => {
    expect(zones.edition >= '2026f').toBe(true)
    expect(zones.edition).toBe(moment.tz.dataVersion)
    expect([zones.folder, zones.age, zones.builtIn]).toEqual([null, 'current', zones])
  })

  test('the built-in zones include every name of moment-timezone', () => {
    expect(zones.names.length).toBeGreaterThanOrEqual(562)
    expect([...zones.names].sort()).toEqual(moment.tz.names().sort())
    for (const name of zones.names) expect(zones.find(name)?.name).toBe(name)
  })

  test('the built-in zones include every name that the runtime knows', () => {
    const names = Intl.supportedValuesOf('timeZone')
    expect(names.filter((name) => zones.find(name) === null)).toEqual([])
    expect(names.length).toBeGreaterThan(400)
  })

  for (const name of notNames) {
    test(`${JSON.stringify(name)} is not a built-in zone`, () => {
      expect(zones.find(name)).toBeNull()
    })
  }

  test('each look-up of a zone returns the same object', () => {
    expect(zones.find('America/Toronto')).toBe(zones.find('America/Toronto') as object as never)
  })

  test('a link has the rules of the linked zone', () => {
    for (const link of packed.links) {
      const [target = '', alias = ''] = link.split('|')
      expect(zones.find(alias)).toEqual({ ...zones.find(target), name: alias } as never)
    }
  })
})

describe('zones: the built-in rules', () => {
  test('each zone has ascending changes and offsets of less than a day', () => {
    for (const name of zones.names) {
      const zone = zones.find(name)
      if (!zone) throw new Error(name)
      expect(zone.offsets).toHaveLength(zone.transitions.length + 1)
      expect(zone.transitions.every((at, i) => i === 0 || at > (zone.transitions[i - 1] ?? Infinity))).toBe(
        true,
      )
      expect(zone.offsets.every((offset) => Math.abs(offset) < 1_440)).toBe(true)
    }
  })

  test('changes and offsets are whole minutes from 2000 on', () => {
    const from = Date.UTC(2000, 0, 1) / minuteMillis
    for (const name of zones.names) {
      const zone = zones.find(name)
      if (!zone) throw new Error(name)
      expect(zone.transitions.every(Number.isInteger)).toBe(true)
      expect(
        zone.offsets.every(
          (offset, i) => Number.isInteger(offset) || (zone.transitions[i] ?? Infinity) <= from,
        ),
      ).toBe(true)
    }
  })

  test('offsets agree with moment-timezone before, at and after each change from 2000 to 2037', () => {
    const faults: string[] = []
    let compared = 0
    for (const name of zones.names) {
      const zone = zones.find(name)
      const library = moment.tz.zone(name)
      if (!zone || !library) throw new Error(name)
      for (const until of library.untils) {
        if (!(until > Date.UTC(2000, 0, 1) && until < Date.UTC(2038, 0, 1))) continue
        const change = Math.round(until / minuteMillis)
        for (const instant of [change - 1, change, change + 1]) {
          compared++
          if (offsetAt(zone, instant) + 0 !== libraryOffset(name, instant)) faults.push(`${name} ${instant}`)
        }
      }
    }
    expect(faults).toEqual([])
    expect(compared).toBeGreaterThan(10_000)
  })

  test('offsets agree with moment-timezone at any time from 2000 to 2037', () => {
    const minutes = fc.integer({
      min: Date.UTC(2000, 0, 1) / minuteMillis,
      max: Date.UTC(2038, 0, 1) / minuteMillis - 1,
    })
    fc.assert(
      fc.property(fc.constantFrom(...zones.names), minutes, (name, instant) => {
        const zone = zones.find(name)
        expect(zone && offsetAt(zone, instant) + 0).toBe(libraryOffset(name, instant))
      }),
      { numRuns: times(5_000, 500_000) },
    )
  })

  test("zones follow the law of December 2026, even if the runtime's data is out of date", () => {
    const winter = Date.UTC(2026, 11, 1, 12) / minuteMillis
    const hoursIn = (name: string) => offsetAt(zones.find(name) as never, winter) / 60
    expect({
      vancouver: hoursIn('America/Vancouver'),
      edmonton: hoursIn('America/Edmonton'),
      winnipeg: hoursIn('America/Winnipeg'),
      inuvik: hoursIn('America/Inuvik'),
      yellowknife: hoursIn('America/Yellowknife'),
      rainyRiver: hoursIn('America/Rainy_River'),
      pacific: hoursIn('Canada/Pacific'),
      mountain: hoursIn('Canada/Mountain'),
      central: hoursIn('Canada/Central'),
      casablanca: hoursIn('Africa/Casablanca') + 0,
      elAaiun: hoursIn('Africa/El_Aaiun') + 0,
      havana: hoursIn('America/Havana'),
      cuba: hoursIn('Cuba'),
    }).toEqual({
      vancouver: -7,
      edmonton: -6,
      winnipeg: -5,
      inuvik: -6,
      yellowknife: -6,
      rainyRiver: -5,
      pacific: -7,
      mountain: -6,
      central: -5,
      casablanca: 0,
      elAaiun: 0,
      havana: -4,
      cuba: -4,
    })
  })
})
