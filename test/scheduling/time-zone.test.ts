import { describe, expect, test } from 'bun:test'
import moment from 'moment-timezone'
import { minuteMillis } from '../../src/scheduling/calendar'
import {
  fixedOffsetFrom,
  formatLocal,
  localDay,
  offsetAt,
  type TimeZone,
  toFirstInstant,
  toInstant,
  toLastInstant,
  toLocal,
} from '../../src/scheduling/time-zone'
import { builtInZones } from '../../src/zones/packed'

const zones = builtInZones()

function zoneOf(name: string): TimeZone {
  const zone = zones.find(name)
  if (!zone) throw new Error(`no zone ${name}`)
  return zone
}

/** The minutes from 1970-01-01T00:00 to a timestamp, which may be UTC or local. */
const minutes = (timestamp: string) => Date.parse(`${timestamp}Z`) / minuteMillis
const instantOf = (zone: string, local: string) =>
  new Date(toInstant(zoneOf(zone), minutes(local)) * minuteMillis).toISOString().slice(0, 16)

describe('scheduling: conversion of local times to instants', () => {
  const cases = [
    ['America/Toronto', '2027-03-14T01:59', '2027-03-14T06:59', 'just before the skipped hour'],
    ['America/Toronto', '2027-03-14T02:00', '2027-03-14T07:00', 'skipped: it moves on to 03:00'],
    ['America/Toronto', '2027-03-14T02:59', '2027-03-14T07:59', 'skipped: it moves on to 03:59'],
    ['America/Toronto', '2027-03-14T03:00', '2027-03-14T07:00', 'just after the skipped hour'],
    ['America/Toronto', '2027-11-07T00:59', '2027-11-07T04:59', 'just before the repeated hour'],
    ['America/Toronto', '2027-11-07T01:00', '2027-11-07T05:00', 'repeated: the first time'],
    ['America/Toronto', '2027-11-07T01:59', '2027-11-07T05:59', 'repeated: the first time'],
    ['America/Toronto', '2027-11-07T02:00', '2027-11-07T07:00', 'just after the repeated hour'],
    ['Australia/Lord_Howe', '2027-10-03T02:15', '2027-10-02T15:45', 'skipped half hour'],
    ['Australia/Lord_Howe', '2027-04-04T01:45', '2027-04-03T14:45', 'repeated half hour'],
    ['Antarctica/Troll', '2027-03-28T02:59', '2027-03-28T02:59', 'skipped: two hours'],
    ['America/Santiago', '2027-09-05T00:00', '2027-09-05T04:00', 'a skipped midnight'],
    ['America/Havana', '2027-11-07T00:00', '2027-11-07T04:00', 'a repeated midnight'],
    ['Pacific/Apia', '2011-12-30T09:00', '2011-12-30T19:00', 'a skipped date: it moves on by a day'],
    ['Pacific/Kwajalein', '1993-08-21T09:00', '1993-08-21T21:00', 'a skipped date: it moves on by a day'],
    [
      'Europe/Dublin',
      '2027-10-31T01:30',
      '2027-10-31T00:30',
      'repeated, in a zone with negative winter time',
    ],
  ] as const
  for (const [zone, local, utc, why] of cases) {
    test(`${zone} ${local} is ${utc}Z: ${why}`, () => {
      expect(instantOf(zone, local)).toBe(utc)
    })
  }

  const ends = [
    ['America/Toronto', '2027-03-14T01:59', '06:59', '06:59', 'just before the skipped hour'],
    ['America/Toronto', '2027-03-14T02:00', '07:00', '07:00', 'skipped: the instant of the change'],
    ['America/Toronto', '2027-03-14T02:59', '07:00', '07:00', 'skipped: the instant of the change'],
    ['America/Toronto', '2027-11-07T00:59', '04:59', '04:59', 'just before the repeated hour'],
    ['America/Toronto', '2027-11-07T01:00', '05:00', '06:00', 'repeated: both showings'],
    ['America/Toronto', '2027-11-07T01:59', '05:59', '06:59', 'repeated: both showings'],
    ['America/Toronto', '2027-11-07T02:00', '07:00', '07:00', 'just after the repeated hour'],
    ['Australia/Lord_Howe', '2027-04-04T01:45', '14:45', '15:15', 'repeated: both showings'],
    ['America/Scoresbysund', '2027-03-27T23:30', '01:00', '01:00', 'skipped: the instant of the change'],
  ] as const
  for (const [zone, local, first, last, why] of ends) {
    test(`${zone} ${local} is first at ${first}Z and last at ${last}Z: ${why}`, () => {
      const clockOf = (instant: number) => new Date(instant * minuteMillis).toISOString().slice(11, 16)
      expect(clockOf(toFirstInstant(zoneOf(zone), minutes(local)))).toBe(first)
      expect(clockOf(toLastInstant(zoneOf(zone), minutes(local)))).toBe(last)
    })
  }

  test('conversion agrees with a minute-by-minute scan around each clock change', () => {
    const faults: string[] = []
    let changes = 0
    for (const name of moment.tz.names()) {
      const library = moment.tz.zone(name)
      if (!library) throw new Error(`moment-timezone knows no ${name}`)
      const zone = zoneOf(name)
      for (const until of library.untils) {
        if (!(until > Date.UTC(2026, 0, 1) && until < Date.UTC(2038, 0, 1))) continue
        changes++
        const change = Math.round(until / minuteMillis)
        const firstShown = new Map<number, number>()
        const lastShown = new Map<number, number>()
        const readings: number[] = []
        for (let instant = change - 360; instant < change + 360; instant++) {
          const reading = instant - library.utcOffset(instant * minuteMillis)
          readings.push(reading)
          if (!firstShown.has(reading)) firstShown.set(reading, instant)
          lastShown.set(reading, instant)
        }
        const [before = 0, after = 0] = [readings[359], readings[360]]
        const skipped = after - before - 1
        for (const reading of [-61, -60, -31, -30, -1, 0, 1, 15, 29, 30, 59, 60, 61, 119, 120].map(
          (away) => before + away,
        )) {
          const expected = firstShown.get(reading) ?? firstShown.get(reading + skipped)
          const actual = toInstant(zone, reading)
          if (expected !== actual) faults.push(`${name} ${reading}: ${actual}, not ${expected}`)
          const [first, last] = [toFirstInstant(zone, reading), toLastInstant(zone, reading)]
          if (first !== (firstShown.get(reading) ?? change)) faults.push(`${name} ${reading}: first ${first}`)
          if (last !== (lastShown.get(reading) ?? change)) faults.push(`${name} ${reading}: last ${last}`)
        }
      }
    }
    expect(faults).toEqual([])
    expect(changes).toBeGreaterThan(2_000)
  })

  test('conversion subtracts the result of fixedOffsetFrom, in every zone', () => {
    for (const name of zones.names) {
      const zone = zoneOf(name)
      for (let local = minutes('2026-01-01T00:00'); local < minutes('2029-01-01T00:00'); local += 1_440) {
        const { offset, until } = fixedOffsetFrom(zone, local)
        for (const reading of [local, local + 779, local + 2_880, until - 1]) {
          if (!(local <= reading && reading < until && reading < Infinity)) continue
          const instant = reading - offset
          if (toInstant(zone, reading) !== instant || toFirstInstant(zone, reading) !== instant) {
            throw new Error(`${name} ${reading}`)
          }
        }
      }
    }
  })

  test('conversion to an instant and back returns the same local time, in every zone', () => {
    for (const name of zones.names) {
      const zone = zoneOf(name)
      for (
        let instant = minutes('2026-01-01T00:07');
        instant < minutes('2029-01-01T00:00');
        instant += 10_007
      ) {
        const local = toLocal(zone, instant)
        const again = toInstant(zone, local)
        expect(toLocal(zone, again)).toBe(local)
        expect(again).toBeLessThanOrEqual(instant)
      }
    }
  })
})

test('scheduling: a local time in a repeated hour is formatted with its offset', () => {
  expect(formatLocal(zoneOf('America/Toronto'), minutes('2026-12-01T14:00'))).toBe('Tue 2026-12-01 09:00')
  expect(formatLocal(zoneOf('America/Toronto'), minutes('2026-12-01T04:59:59'))).toBe('Mon 2026-11-30 23:59')
  const formatted = ['T04:59', 'T05:30', 'T06:30', 'T07:00'].map((time) =>
    formatLocal(zoneOf('America/Toronto'), minutes(`2026-11-01${time}`)),
  )
  expect(formatted).toEqual([
    'Sun 2026-11-01 00:59',
    'Sun 2026-11-01 01:30 (UTC-04:00)',
    'Sun 2026-11-01 01:30 (UTC-05:00)',
    'Sun 2026-11-01 02:00',
  ])
})

describe('scheduling: an invented zone', () => {
  const fixed: TimeZone = { name: 'Fixed', transitions: [], offsets: [345] }

  test('a zone without changes has one offset', () => {
    expect(offsetAt(fixed, -1e9)).toBe(345)
    expect(offsetAt(fixed, 1e9)).toBe(345)
    expect(toInstant(fixed, 345)).toBe(0)
    expect(localDay(fixed, -346)).toBe(-1)
  })

  test('a new offset applies from the exact minute of the change', () => {
    const zone: TimeZone = { name: 'Two', transitions: [1_000], offsets: [0, 60] }
    expect(offsetAt(zone, 999)).toBe(0)
    expect(offsetAt(zone, 1_000)).toBe(60)
  })

  test('if two changes are at the same instant, only the later one applies', () => {
    const zone: TimeZone = { name: 'Summer', transitions: [5_000, 5_000], offsets: [60, 0, 60] }
    for (let local = 4_900; local < 5_200; local++) expect(toInstant(zone, local)).toBe(local - 60)
  })

  test('a repeated local time means its first occurrence', () => {
    // The clock moves one hour forward at minute 10,000, and back two hours later.
    const zone: TimeZone = { name: 'Restless', transitions: [10_000, 10_120], offsets: [0, 60, 0] }
    expect(toInstant(zone, 9_999)).toBe(9_999)
    expect(toInstant(zone, 10_030)).toBe(10_030)
    expect(toInstant(zone, 10_060)).toBe(10_000)
    expect(toInstant(zone, 10_150)).toBe(10_090)
    expect(toInstant(zone, 10_179)).toBe(10_119)
    expect(toInstant(zone, 10_180)).toBe(10_180)
  })
})
