import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { slotMinutes } from '../../src/scheduling/availability'
import { formatInstant, minuteMillis } from '../../src/scheduling/calendar'
import { asked } from './practices'
import { absenceOf, availabilityOf, daily, type Practice, practice } from './provider'

// Toronto is five hours behind UTC in December: 14:00Z is 09:00 there.
const ten = '2026-12-02T15:00:00Z'
const works = { workingHours: [daily('09:15', '12:00')] }
const day = Date.parse('2026-12-02T00:00:00Z') / (24 * 60 * minuteMillis)

describe('scheduling: absenceOf says why a provider cannot hold a session', () => {
  const rows: [what: string, different: Partial<Practice>, step: string | null][] = [
    ['within the working hours has no obstacle', works, null],
    ['off the grid has no obstacle', { workingHours: [daily('09:20', '12:00')] }, null],
    [
      'next to another one and within the minimum notice has no obstacle',
      { ...works, minimumNoticeMinutes: 43_200 },
      null,
    ],
    ['outside all working hours is reported as outside_hours', {}, 'outside_hours'],
    [
      'that begins before the working hours is reported as outside_hours',
      { workingHours: [daily('10:01', '12:00')] },
      'outside_hours',
    ],
    ['that ends with the working hours has no obstacle', { workingHours: [daily('09:00', '10:45')] }, null],
    [
      'that ends after the working hours is reported as outside_hours',
      { workingHours: [daily('09:00', '10:44')] },
      'outside_hours',
    ],
    [
      'in working hours that run over midnight has no obstacle',
      { workingHours: [daily('22:00', '11:00')] },
      null,
    ],
    [
      'on a date whose override has no windows is reported as override',
      { ...works, overrides: [{ date: '2026-12-02', windows: [] }] },
      'override',
    ],
    [
      'off the grid of the override of its date has no obstacle',
      { ...works, overrides: [{ date: '2026-12-02', windows: [{ start: '09:50', end: '12:00' }] }] },
      null,
    ],
    [
      'within time off is reported as time_off',
      { ...works, timeOff: [{ from: '2026-12-02', until: '2026-12-02' }] },
      'time_off',
    ],
    [
      'off the grid and within time off is reported as time_off',
      { workingHours: [daily('09:20', '12:00')], timeOff: [{ from: '2026-12-02', until: '2026-12-02' }] },
      'time_off',
    ],
    [
      'that ends when time off begins has no obstacle',
      { ...works, timeOff: [{ from: '2026-12-02T10:45', until: '2026-12-02T12:00' }] },
      null,
    ],
    ['without a license is reported as license', { ...works, licenses: [] }, 'license'],
    [
      'after the end of the license is reported as license',
      { ...works, licenses: [{ from: '2020-01-01', until: '2026-12-01' }] },
      'license',
    ],
    [
      'on the last day of the license has no obstacle',
      { ...works, licenses: [{ from: '2020-01-01', until: '2026-12-02' }] },
      null,
    ],
  ]
  test.each(rows)('a session %s', (_, different, step) => {
    const start = Date.parse(ten) / minuteMillis
    const taken = [start, start + slotMinutes]
    expect(absenceOf(practice({ taken, ...different }), ten)?.step ?? null).toBe(step as never)
  })

  test('a blocked session is reported with the date of the override or the time off', () => {
    const off = practice({ ...works, overrides: [{ date: '2026-12-02', windows: [] }] })
    expect(absenceOf(off, ten)).toEqual({ step: 'override', day })
    const away = practice({ ...works, timeOff: [{ from: '2026-12-02T09:00', until: '2026-12-02T11:00' }] })
    expect(absenceOf(away, ten)).toEqual({
      step: 'time_off',
      busy: {
        start: Date.parse('2026-12-02T14:00:00Z') / minuteMillis,
        end: Date.parse('2026-12-02T16:00:00Z') / minuteMillis,
      },
    })
  })
})

test('scheduling: a provider can hold a session in every offered slot', () => {
  let offered = 0
  fc.assert(
    fc.property(asked, ({ practice: given, now }) => {
      const { slots } = availabilityOf(given, now)
      for (const start of [...slots.slice(0, 3), ...slots.slice(-3)]) {
        offered++
        const booked = { ...given, taken: [...given.taken, start] }
        expect(absenceOf(booked, formatInstant(start * minuteMillis))).toBeNull()
      }
    }),
    { numRuns: 300 },
  )
  expect(offered).toBeGreaterThan(100)
})
