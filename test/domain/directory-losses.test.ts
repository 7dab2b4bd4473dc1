import { describe, expect, test } from 'bun:test'
import type { ProviderAfter } from '../../src/domain/decisions/compare-directory'
import { firstDayAt, type LosableField, lossOf } from '../../src/domain/decisions/directory-losses'
import { type WeeklyHours, weekdays } from '../../src/domain/provider'
import { parseDate } from '../../src/scheduling/calendar'
import { provider } from './values'

const since = parseDate('2026-12-01') as number

const hours = (start: string, end: string, different: Partial<WeeklyHours> = {}): WeeklyHours => ({
  weekdays: ['monday'],
  start,
  end,
  ...different,
})
const license = (from: string, until: string | null, regionId = 1) => ({ regionId, from, until })
const away = (from: string, until: string) => ({ from, until })
const day = (date: string, ...windows: { start: string; end: string }[]) => ({ date, windows })
const nine = { start: '09:00', end: '12:00' }

type Value = readonly unknown[] | Partial<ProviderAfter>

type Row = [change: string, before: Value, after: Value, lost: number]

const rows: Record<LosableField, Row[]> = {
  licenses: [
    ['removed', [license('2020-01-01', null)], [], 1],
    ['shortened at its end', [license('2020-01-01', null)], [license('2020-01-01', '2030-01-01')], 1],
    ['shortened at its future beginning', [license('2027-01-01', null)], [license('2027-01-02', null)], 1],
    ['shortened at its past beginning', [license('2020-01-01', null)], [license('2026-12-01', null)], 0],
    ['shortened to begin tomorrow', [license('2020-01-01', null)], [license('2026-12-02', null)], 1],
    ['that ended yesterday', [license('2020-01-01', '2026-11-30')], [], 0],
    ['that ends today', [license('2020-01-01', '2026-12-01')], [], 1],
    [
      'replaced by one for another region',
      [license('2020-01-01', null)],
      [license('2020-01-01', null, 2)],
      1,
    ],
    [
      'split into two without a gap',
      [license('2020-01-01', null)],
      [license('2020-01-01', '2026-12-31'), license('2027-01-01', null)],
      0,
    ],
    [
      'split into two with a gap of one day',
      [license('2020-01-01', null)],
      [license('2020-01-01', '2026-12-31'), license('2027-01-02', null)],
      1,
    ],
    ['made longer', [license('2020-01-01', '2027-01-01')], [license('2019-01-01', null)], 0],
  ],
  workingHours: [
    ['two removed', [hours('09:00', '12:00'), hours('13:00', '14:00')], [], 1],
    ['shorter by 10 minutes', [hours('09:00', '12:00')], [hours('09:10', '12:00')], 1],
    ['moved by an hour with the same length', [hours('09:00', '12:00')], [hours('10:00', '13:00')], 1],
    ['on another day', [hours('09:00', '12:00')], [hours('09:00', '12:00', { weekdays: ['tuesday'] })], 1],
    ['longer', [hours('09:00', '12:00')], [hours('08:00', '12:30')], 0],
    [
      'split into two without a gap',
      [hours('09:00', '12:00')],
      [hours('09:00', '10:00'), hours('10:00', '12:00')],
      0,
    ],
    [
      'over midnight from Sunday to Monday, split at midnight',
      [hours('22:00', '02:00', { weekdays: ['sunday'] })],
      [hours('22:00', '24:00', { weekdays: ['sunday'] }), hours('00:00', '02:00')],
      0,
    ],
    [
      'of Monday, covered by Sunday hours past midnight',
      [hours('00:00', '02:00')],
      [hours('22:00', '02:00', { weekdays: ['sunday'] })],
      0,
    ],
    ['of the future, removed', [hours('09:00', '12:00', { from: '2027-03-01', until: '2027-04-01' })], [], 1],
    ['of the past, removed', [hours('09:00', '12:00', { until: '2026-11-30' })], [], 0],
    ['with a new end date', [hours('09:00', '12:00')], [hours('09:00', '12:00', { until: '2027-06-30' })], 1],
    ['with longer steps', [hours('09:00', '12:00')], [hours('09:00', '12:00', { stepMinutes: 60 })], 0],
  ],
  overrides: [
    ['removed', [day('2026-12-24')], [], 1],
    ['with other hours', [day('2026-12-24', nine)], [day('2026-12-24')], 1],
    [
      'with keys in another order',
      [day('2026-12-24', nine)],
      [{ windows: [{ end: '12:00', start: '09:00' }], date: '2026-12-24' }],
      0,
    ],
    ['of a past date, removed', [day('2026-11-30')], [], 0],
    ['of today, removed', [day('2026-12-01')], [], 1],
    ['kept next to a new one', [day('2026-12-24')], [day('2026-12-25'), day('2026-12-24')], 0],
  ],
  timeOff: [
    ['removed', [away('2026-12-24', '2026-12-26')], [], 1],
    ['of the past, removed', [away('2026-11-24', '2026-11-30')], [], 0],
    ['that ends today, removed', [away('2026-11-24', '2026-12-01')], [], 1],
    ['made longer', [away('2026-12-24', '2026-12-26')], [away('2026-12-20', '2026-12-27')], 0],
    ['made shorter', [away('2026-12-24', '2026-12-26')], [away('2026-12-24', '2026-12-25')], 1],
    [
      'removed, but also entered by staff',
      [away('2026-12-24', '2026-12-26')],
      { timeOff: [], staffTimeOff: [away('2026-12-24', '2026-12-26')] },
      0,
    ],
    [
      'written in another form, which is not compared',
      [away('2026-12-24', '2026-12-24')],
      [away('2026-12-24T00:00', '2026-12-24T24:00')],
      1,
    ],
    [
      'in dates, replaced by local times that end as its last day begins',
      [away('2026-12-24', '2026-12-26')],
      [away('2026-12-23T00:00', '2026-12-26T00:00')],
      1,
    ],
    [
      'in local times, shortened',
      [away('2026-12-24T09:00', '2026-12-24T12:00')],
      [away('2026-12-24T09:00', '2026-12-24T11:00')],
      1,
    ],
    [
      'in instants, within longer ones',
      [away('2026-12-24T09:00:00Z', '2026-12-24T12:00:00Z')],
      [away('2026-12-24T08:00:00Z', '2026-12-24T12:00:00Z')],
      0,
    ],
  ],
  modalities: [
    ['one of two removed', ['in-video', 'in-person'], ['in-video'], 1],
    ['in another order', ['in-video', 'in-person'], ['in-person', 'in-video'], 0],
  ],
  inPersonRegions: [
    ['both removed', { inPersonRegionIds: [1, 2] }, { inPersonRegionIds: [] }, 2],
    ['one added', { inPersonRegionIds: [1] }, { inPersonRegionIds: [1, 2] }, 0],
  ],
  languagesSpoken: [['one replaced', ['en', 'fr'], ['en', 'fr-CA'], 1]],
}

describe.each(Object.entries(rows))('domain: data that a directory load removes from %s', (field, those) => {
  test.each(those)('is counted for this change: %s', (_, before, after, lost) => {
    const withValue = (value: Value) => ({
      ...provider,
      ...(Array.isArray(value) ? { [field]: value } : value),
    })
    expect(lossOf[field as LosableField](withValue(before), withValue(after), since)).toBe(lost)
  })
})

test('domain: an unchanged provider loses nothing', () => {
  const whole = {
    ...provider,
    workingHours: [hours('22:00', '06:00', { weekdays: [...weekdays] })],
    overrides: [day('2026-12-24')],
  }
  expect(Object.values(lossOf).map((loss) => loss(whole, whole, since))).toEqual([0, 0, 0, 0, 0, 0, 0])
})

test('domain: a date counts as past once it is over in UTC-12', () => {
  expect(firstDayAt(Date.UTC(2026, 11, 2, 11, 59, 59))).toBe(since)
  expect(firstDayAt(Date.UTC(2026, 11, 2, 12))).toBe(since + 1)
})
