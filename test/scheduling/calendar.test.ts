import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import {
  formatDate,
  formatInstant,
  formatTimeOfDay,
  parseDate,
  parseInstant,
  parseTimeOfDay,
  weekdayOf,
  yearsBefore,
} from '../../src/scheduling/calendar'
import { words } from '../support/words'

describe('scheduling: dates', () => {
  test('dates are numbers of days since 1970-01-01', () => {
    expect(parseDate('1970-01-01')).toBe(0)
    expect(parseDate('1969-12-31')).toBe(-1)
    expect(parseDate('2000-02-29')).toBe(11_016)
    expect(parseDate('2027-03-14')).toBe(20_891)
    expect(parseDate('9999-12-31')).toBe(2_932_896)
  })

  test('formatting and parsing a date returns the same date', () => {
    fc.assert(
      fc.property(fc.integer({ min: -354_285, max: 2_932_896 }), (day) => {
        expect(parseDate(formatDate(day))).toBe(day)
      }),
    )
  })

  test('a date of the first century keeps its year', () => {
    for (const text of ['0001-01-01', '0050-06-15', '0099-12-31', '0100-01-01']) {
      expect(formatDate(parseDate(text) ?? Number.NaN)).toBe(text)
    }
  })

  for (const text of [
    ...words`2026-02-29 2100-02-29 2026-04-31 2026-00-10 2026-13-01 2026-01-00 2026-1-01 20260101 2026-01-01T00:00`,
    ' 2026-01-01',
    '2026-01-01\n',
    '+002026-01-01',
    '-002026-01-01',
    '２０２６-01-01',
    '',
  ]) {
    test(`parsing ${JSON.stringify(text)} as a date returns null`, () => {
      expect(parseDate(text)).toBeNull()
    })
  }

  test('Monday is weekday 0, also before 1970', () => {
    expect(weekdayOf(0)).toBe(3)
    expect(weekdayOf(parseDate('2027-03-14') ?? Number.NaN)).toBe(6)
    expect(weekdayOf(parseDate('1969-12-01') ?? Number.NaN)).toBe(0)
    expect(weekdayOf(parseDate('1900-01-01') ?? Number.NaN)).toBe(0)
  })
})

describe('scheduling: times of day', () => {
  test('times of day run from 00:00 to 24:00', () => {
    expect(parseTimeOfDay('00:00')).toBe(0)
    expect(parseTimeOfDay('09:30')).toBe(570)
    expect(parseTimeOfDay('23:59')).toBe(1_439)
    expect(parseTimeOfDay('24:00')).toBe(1_440)
    for (let minute = 0; minute < 1_440; minute++) {
      expect(parseTimeOfDay(formatTimeOfDay(minute))).toBe(minute)
    }
  })

  for (const text of [
    '24:01',
    '25:00',
    '12:60',
    '9:30',
    '09:30:00',
    '0930',
    ' 09:30',
    '09:30\n',
    '-1:00',
    '',
    '09.30',
  ]) {
    test(`parsing ${JSON.stringify(text)} as a time of day returns null`, () => {
      expect(parseTimeOfDay(text)).toBeNull()
    })
  }
})

describe('scheduling: instants', () => {
  test('instants are milliseconds since 1970-01-01T00:00Z', () => {
    expect(parseInstant('1970-01-01T00:00:00Z')).toBe(0)
    expect(parseInstant('2027-03-14T06:45:00Z')).toBe(Date.UTC(2027, 2, 14, 6, 45))
    expect(parseInstant('2027-03-14T06:45:30.000Z')).toBe(Date.UTC(2027, 2, 14, 6, 45, 30))
    expect(parseInstant('1969-12-31T23:59:59Z')).toBe(-1_000)
    expect(parseInstant('0001-01-01T00:00:00Z')).toBe(-62_135_596_800_000)
  })

  test('instants are formatted with seconds and without a fraction', () => {
    expect(formatInstant(Date.UTC(2027, 2, 14, 6, 45, 0, 999))).toBe('2027-03-14T06:45:00Z')
    expect(formatInstant(0)).toBe('1970-01-01T00:00:00Z')
  })

  for (const text of [
    '20270314T100000Z',
    '2027-03-14 10:00:00Z',
    ...words`2027-03-14T10:00:00z 2027-03-14t10:00:00Z 2027-03-14T10:00Z 2027-03-14T10:00:00
      2027-03-14T10:00:00+00:00 2027-03-14T10:00:00-00:00 2027-03-14T10:00:60Z 2027-03-14T23:59:60Z
      2027-03-14T24:00:00Z 2027-03-14T10:60:00Z 2027-03-14T10:00:00.Z 2027-03-14T10:00:00.5Z
      2027-03-14T10:00:00,0Z 2027-02-29T10:00:00Z 2027-13-01T10:00:00Z 2027-03-14T10:00:00Z[UTC]`,
    '2027-03-14T10:00:00Z\n',
    ' 2027-03-14T10:00:00Z',
    '+002027-03-14T10:00:00Z',
    '-000000-01-01T00:00:00Z',
    '',
  ]) {
    test(`parsing ${JSON.stringify(text)} as an instant returns null`, () => {
      expect(parseInstant(text)).toBeNull()
    })
  }
})

test('scheduling: some years before an instant, the date and the time are the same', () => {
  expect(yearsBefore(Date.UTC(2026, 10, 25, 9, 30, 5, 7), 7)).toBe(Date.UTC(2019, 10, 25, 9, 30, 5, 7))
  expect(yearsBefore(Date.UTC(2028, 1, 29, 12), 6)).toBe(Date.UTC(2022, 2, 1, 12))
})
