import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { slotMinutes } from '../../src/scheduling/availability'
import { formatInstant, minuteMillis } from '../../src/scheduling/calendar'
import { asked } from './practices'
import { absenceOf, availabilityOf, daily, type Practice, practice } from './provider'

// Toronto is five hours behind in December: 14:00Z is 09:00 there.
const ten = '2026-12-02T15:00:00Z'
const works = { workingHours: [daily('09:15', '12:00')] }
const day = Date.parse('2026-12-02T00:00:00Z') / (24 * 60 * minuteMillis)

describe('a session that is booked', () => {
  const rows: [what: string, different: Partial<Practice>, step: string | null][] = [
    ['within the hours', works, null],
    ['off the grid', { workingHours: [daily('09:20', '12:00')] }, null],
    ['beside another, and less ahead than the notice', { ...works, minimumNoticeMinutes: 43_200 }, null],
    ['in no hours', {}, 'outside_hours'],
    ['that begins before the hours', { workingHours: [daily('10:01', '12:00')] }, 'outside_hours'],
    ['that ends with the hours', { workingHours: [daily('09:00', '10:45')] }, null],
    ['that ends after the hours', { workingHours: [daily('09:00', '10:44')] }, 'outside_hours'],
    ['in hours that run over midnight', { workingHours: [daily('22:00', '11:00')] }, null],
    ['on a date without work', { ...works, overrides: [{ date: '2026-12-02', windows: [] }] }, 'override'],
    [
      'on a date with other hours that have it off their grid',
      { ...works, overrides: [{ date: '2026-12-02', windows: [{ start: '09:50', end: '12:00' }] }] },
      null,
    ],
    ['within time off', { ...works, timeOff: [{ from: '2026-12-02', until: '2026-12-02' }] }, 'time_off'],
    [
      'off the grid, within time off',
      { workingHours: [daily('09:20', '12:00')], timeOff: [{ from: '2026-12-02', until: '2026-12-02' }] },
      'time_off',
    ],
    [
      'that ends as time off begins',
      { ...works, timeOff: [{ from: '2026-12-02T10:45', until: '2026-12-02T12:00' }] },
      null,
    ],
    ['without a license', { ...works, licenses: [] }, 'license'],
    ['after the license', { ...works, licenses: [{ from: '2020-01-01', until: '2026-12-01' }] }, 'license'],
    [
      'on the last day of the license',
      { ...works, licenses: [{ from: '2020-01-01', until: '2026-12-02' }] },
      null,
    ],
  ]
  test.each(rows)('%s', (_, different, step) => {
    const start = Date.parse(ten) / minuteMillis
    const taken = [start, start + slotMinutes]
    expect(absenceOf(practice({ taken, ...different }), ten)?.step ?? null).toBe(step as never)
  })

  test('is told with what stands in its way', () => {
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

test('whatever slot is offered, the provider is there for it once it is booked', () => {
  let offered = 0
  fc.assert(
    fc.property(asked, ({ practice: of, now }) => {
      const { slots } = availabilityOf(of, now)
      for (const start of [...slots.slice(0, 3), ...slots.slice(-3)]) {
        offered++
        const booked = { ...of, taken: [...of.taken, start] }
        expect(absenceOf(booked, formatInstant(start * minuteMillis))).toBeNull()
      }
    }),
    { numRuns: 300 },
  )
  expect(offered).toBeGreaterThan(100)
})
