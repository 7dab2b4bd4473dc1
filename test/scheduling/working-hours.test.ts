import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { minuteMillis, parseDate } from '../../src/scheduling/calendar'
import { localDay } from '../../src/scheduling/time-zone'
import { type Schedule, type Window, windowsBetween, workingTime } from '../../src/scheduling/working-hours'
import { times } from '../support/long'
import { asked, chained } from './practices'
import { daily, everyDay, type Practice, practice, scheduleOf } from './provider'

const minutes = (timestamp: string) => Date.parse(timestamp) / minuteMillis
const monthFrom = (start: number) => ({ start, end: start + 31 * 1_440 })

/** Merges every window since 2000-01-01 in order of start. This is a slow but simple reference implementation. */
function mergedSince2000(schedule: Schedule, { start, end }: { start: number; end: number }): Window[] {
  const lastDay = localDay(schedule.zone, end) + 1
  const all = windowsBetween(schedule, parseDate('2000-01-01') as number, lastDay)
  const merged: { start: number; end: number; stepMinutes: number }[] = []
  for (const window of all.sort((a, b) => a.start - b.start || b.stepMinutes - a.stepMinutes)) {
    const last = merged.at(-1)
    if (last && window.start < last.end) last.end = Math.max(last.end, window.end)
    else merged.push({ ...window })
  }
  return merged.filter((window) => window.end > start)
}

const gridsFrom = (windows: readonly Window[], from: number) =>
  windows.map(({ start, end, stepMinutes }) => ({
    first: start >= from ? start : from + ((((start - from) % stepMinutes) + stepMinutes) % stepMinutes),
    end,
    stepMinutes,
  }))

describe('scheduling: working time', () => {
  const expectFullMerge = ({ practice, now }: { practice: Practice; now: number }) => {
    const schedule = scheduleOf(practice)
    const range = monthFrom(Math.floor(now / minuteMillis))
    expect(gridsFrom(workingTime(schedule, range), range.start)).toEqual(
      gridsFrom(mergedSince2000(schedule, range), range.start),
    )
  }
  const runs = times(60, 10_000)

  test('working time equals the merge of every window since 2000', () => {
    fc.assert(fc.property(asked, expectFullMerge), { numRuns: runs })
  }, 3_600_000)

  test('working time without gaps equals the merge of every window since 2000', () => {
    fc.assert(fc.property(chained, expectFullMerge), { numRuns: runs })
  }, 3_600_000)

  test('working time of a range does not depend on previous queries', () => {
    const days = fc.array(fc.integer({ min: -60, max: 60 }), { minLength: 2, maxLength: 8 })
    fc.assert(
      fc.property(fc.oneof(asked, chained), days, ({ practice, now }, moments) => {
        const schedule = scheduleOf(practice)
        for (const away of moments) {
          const range = monthFrom(Math.floor(now / minuteMillis) + away * 1_440)
          expect(gridsFrom(workingTime(schedule, range), range.start)).toEqual(
            gridsFrom(mergedSince2000(schedule, range), range.start),
          )
        }
      }),
      { numRuns: runs },
    )
  }, 3_600_000)

  test('a chain breaks at a handover in a skipped hour', () => {
    const shift = { stepMinutes: 50 }
    const handover = practice({
      workingHours: [daily('12:00', '02:30', shift), daily('02:20', '12:10', shift)],
    })
    const start = minutes('2026-12-01T12:00:00Z')
    const [window] = workingTime(scheduleOf(handover), monthFrom(start))
    // On 8 March 2026 the clock moved from 02:00 to 03:00. The shift from 02:20 began at 03:20.
    expect(((window?.start as number) - minutes('2026-03-08T07:20:00Z')) % 50).toBe(0)
    expectFullMerge({ practice: handover, now: start * minuteMillis })
  })

  test('the slot grid of a chain starts at the end of the last weekly pause', () => {
    const step = { stepMinutes: 50 }
    const saturday = ['saturday'] as const
    const others = everyDay.filter((weekday) => weekday !== 'saturday')
    for (let day = 7; day <= 20; day++) {
      const [until, from] = [day, day + 1].map((day) => `2020-06-${String(day).padStart(2, '0')}`)
      expectFullMerge({
        practice: practice({
          timeZone: 'UTC',
          workingHours: [
            daily('08:00', '20:00', step),
            daily('19:30', '08:30', { ...step, weekdays: others, until: until as string }),
            daily('19:30', '07:30', { ...step, weekdays: saturday, until: until as string }),
            daily('19:30', '08:30', { ...step, from: from as string }),
          ],
        }),
        now: Date.parse('2026-12-01T12:00:00Z'),
      })
    }
  })
})

describe('scheduling: a chain of windows that never breaks', () => {
  const step = { stepMinutes: 50 }
  const endless = practice({ workingHours: [daily('08:00', '20:00', step), daily('19:30', '08:30', step)] })

  function counted(given: Practice, dayOff?: string) {
    let lookups = 0
    const schedule = scheduleOf(given)
    class Overrides extends Map<number, []> {
      override get(day: number): [] | undefined {
        lookups++
        return super.get(day)
      }
    }
    const overrides = new Overrides(dayOff === undefined ? [] : [[parseDate(dayOff) as number, []]])
    return { schedule: { ...schedule, overrides }, lookups: () => lookups }
  }

  test('the first query looks up few dates, even after 100 years', () => {
    for (const [now, most] of [
      ['2026-12-01T12:00:00Z', 1_500],
      ['2126-12-01T12:00:00Z', 6_000],
    ] as const) {
      const { schedule, lookups } = counted(endless)
      workingTime(schedule, monthFrom(minutes(now)))
      expect(lookups()).toBeLessThan(most)
    }
  })

  test('a later query looks up only the dates in range', () => {
    const start = minutes('2026-12-01T12:00:00Z')
    const { schedule, lookups } = counted(endless)
    workingTime(schedule, monthFrom(start))
    for (let day = -5; day <= 30; day++) {
      const before = lookups()
      workingTime(schedule, { start: start + day * 1_440, end: start + day * 1_440 + 45 })
      if (day >= 0) expect(lookups() - before).toBeLessThan(12)
    }
    const before = lookups()
    for (let day = -5; day <= 30; day++) {
      workingTime(schedule, { start: start + day * 1_440, end: start + day * 1_440 + 45 })
    }
    expect(lookups() - before).toBeLessThan(36 * 6)
  })

  test('repeated queries around a date off look up few dates', () => {
    const start = minutes('2026-12-01T12:00:00Z')
    const { schedule, lookups } = counted(endless, '2026-12-10')
    const ask = () => {
      for (const day of [0, 14, 5, 25, 1, 9]) {
        workingTime(schedule, { start: start + day * 1_440, end: start + day * 1_440 + 45 })
      }
    }
    ask()
    const before = lookups()
    ask()
    expect(lookups() - before).toBeLessThan(6 * 25)
  })

  test('without clock changes, a query reads the working hours of only one month and one week', () => {
    const { schedule, lookups } = counted({ ...endless, timeZone: 'UTC' })
    workingTime(schedule, monthFrom(minutes('2026-12-01T12:00:00Z')))
    expect(lookups()).toBeLessThan(60)
  })

  test('a chain is returned as one window', () => {
    const start = minutes('2026-12-01T12:00:00Z')
    const [window, ...others] = workingTime(scheduleOf(endless), monthFrom(start))
    expect(others).toEqual([])
    expect(window?.start).toBeLessThanOrEqual(start)
    expect(window?.start).toBeGreaterThan(start - 50)
    expect(((window?.start as number) - minutes('2000-01-01T13:00:00Z')) % 50).toBe(0)
  })
})
