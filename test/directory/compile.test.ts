import { describe, expect, test } from 'bun:test'
import { compileLicenses, compileSchedule } from '../../src/directory/compile'
import { defaultStaffFields, type Provider } from '../../src/domain/provider'
import { parseDate } from '../../src/scheduling/calendar'
import type { TimeZone } from '../../src/scheduling/time-zone'
import { provider } from '../support/builders'

const utc: TimeZone = { name: 'UTC', transitions: [], offsets: [0] }
const midnight = (date: string) => (parseDate(date) as number) * 1_440

function compiled(different: Partial<Provider>) {
  const lists = { workingHours: [], overrides: [], timeOff: [], ...defaultStaffFields, ...different }
  return compileSchedule({ ...provider('compiled'), ...lists } as unknown as Provider, utc)
}

describe('directory: a compiled schedule', () => {
  test('a compiled schedule has the weekdays as bits, and infinite limits if no dates are given', () => {
    const hours = { weekdays: ['wednesday', 'monday', 'sunday'], start: '22:00', end: '06:30' } as const
    const until = { ...hours, from: '2026-12-01', until: '2026-12-31', stepMinutes: 60 }
    const window = { startMinute: 1_320, endMinute: 1_830, weekdays: 0b1000101 }
    expect(compiled({ workingHours: [hours, until] }).workingHours).toEqual([
      { ...window, stepMinutes: 45, fromDay: -Infinity, untilDay: Infinity },
      { ...window, stepMinutes: 60, fromDay: 20_788, untilDay: 20_818 },
    ])
  })

  test('schedules without overrides and time off share their empty lists', () => {
    const [one, other] = [compiled({}), compiled({})]
    expect(one.overrides).toEqual(new Map())
    expect(one.timeOff).toEqual([])
    expect(one.overrides).toBe(other.overrides)
    expect(one.timeOff).toBe(other.timeOff)
  })

  const unreadable: Record<string, Partial<Provider>> = {
    'a time of day': { workingHours: [{ weekdays: ['monday'], start: '9', end: '17:00' }] },
    'the first date of working hours': {
      workingHours: [{ weekdays: ['monday'], start: '09:00', end: '17:00', from: '2026-02-30' }],
    },
    "an override's date": { overrides: [{ date: 'tomorrow', windows: [] }] },
    'an end of time off': { timeOff: [{ from: '2026-12-01', until: '2026-12-01T25:00' }] },
  }
  for (const [what, different] of Object.entries(unreadable)) {
    test(`a schedule is rejected if ${what} cannot be read`, () => {
      expect(() => compiled(different)).toThrow(RangeError)
    })
  }
})

describe('directory: compiled licenses', () => {
  test('compiled licenses keep their order, and adjoining licenses of one region become one', () => {
    const license = (regionId: number, from: string, until: string | null) => ({ regionId, from, until })
    expect(
      compileLicenses(
        [
          license(2, '2027-01-01', null),
          license(1, '2026-01-01', '2026-06-30'),
          license(3, '2020-01-01', null),
          license(1, '2026-07-01', '2026-12-31'),
        ],
        utc,
      ),
    ).toEqual([
      { regionId: 2, interval: { start: midnight('2027-01-01'), end: Infinity } },
      { regionId: 1, interval: { start: midnight('2026-01-01'), end: midnight('2027-01-01') } },
      { regionId: 3, interval: { start: midnight('2020-01-01'), end: Infinity } },
    ])
  })

  test('licenses are rejected if a date cannot be read', () => {
    expect(() => compileLicenses([{ regionId: 1, from: '2026-02-30', until: null }], utc)).toThrow(RangeError)
  })
})
