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

/** Each window since 2000-01-01 looked at, in the order in which they start: slow, and nothing to get wrong. */
function sinceTheBeginning(schedule: Schedule, { start, end }: { start: number; end: number }): Window[] {
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

/** Windows with their grids, whose first starts may lie apart by whole steps. */
const gridsFrom = (windows: readonly Window[], from: number) =>
  windows.map(({ start, end, stepMinutes }) => ({
    first: start >= from ? start : from + ((((start - from) % stepMinutes) + stepMinutes) % stepMinutes),
    end,
    stepMinutes,
  }))

describe('working time', () => {
  const likeTheSlowWay = ({ practice, now }: { practice: Practice; now: number }) => {
    const schedule = scheduleOf(practice)
    const range = monthFrom(Math.floor(now / minuteMillis))
    expect(gridsFrom(workingTime(schedule, range), range.start)).toEqual(
      gridsFrom(sinceTheBeginning(schedule, range), range.start),
    )
  }
  const runs = times(60, 10_000)

  test('is what looking at each window since 2000 finds', () => {
    fc.assert(fc.property(asked, likeTheSlowWay), { numRuns: runs })
  }, 3_600_000)

  test('of long and endless chains too, with pauses anywhere in them', () => {
    fc.assert(fc.property(chained, likeTheSlowWay), { numRuns: runs })
  }, 3_600_000)

  test('of one schedule is that at whatever moments it is asked about, one after the other', () => {
    const days = fc.array(fc.integer({ min: -60, max: 60 }), { minLength: 2, maxLength: 8 })
    fc.assert(
      fc.property(fc.oneof(asked, chained), days, ({ practice, now }, moments) => {
        const schedule = scheduleOf(practice)
        for (const away of moments) {
          const range = monthFrom(Math.floor(now / minuteMillis) + away * 1_440)
          expect(gridsFrom(workingTime(schedule, range), range.start)).toEqual(
            gridsFrom(sinceTheBeginning(schedule, range), range.start),
          )
        }
      }),
      { numRuns: runs },
    )
  }, 3_600_000)

  test('of a chain is counted from the skipped hour in which two shifts hand over', () => {
    const shift = { stepMinutes: 50 }
    const handover = practice({
      workingHours: [daily('12:00', '02:30', shift), daily('02:20', '12:10', shift)],
    })
    const start = minutes('2026-12-01T12:00:00Z')
    const [window] = workingTime(scheduleOf(handover), monthFrom(start))
    // 02:20 of 8 March 2026 was 03:20, after the end of the shift before at the moment of the change.
    expect(((window?.start as number) - minutes('2026-03-08T07:20:00Z')) % 50).toBe(0)
    likeTheSlowWay({ practice: handover, now: start * minuteMillis })
  })

  test('of a chain is counted from its last weekly pause, on whichever weekday that ended', () => {
    const step = { stepMinutes: 50 }
    const saturday = ['saturday'] as const
    const others = everyDay.filter((weekday) => weekday !== 'saturday')
    for (let day = 7; day <= 20; day++) {
      const [until, from] = [day, day + 1].map((day) => `2020-06-${String(day).padStart(2, '0')}`)
      likeTheSlowWay({
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

describe('a chain of windows that never breaks', () => {
  const step = { stepMinutes: 50 }
  const endless = practice({ workingHours: [daily('08:00', '20:00', step), daily('19:30', '08:30', step)] })

  /** A schedule and how many dates were looked up in it. */
  function counted(of: Practice, dayOff?: string) {
    let lookups = 0
    const schedule = scheduleOf(of)
    class Overrides extends Map<number, []> {
      override get(day: number): [] | undefined {
        lookups++
        return super.get(day)
      }
    }
    const overrides = new Overrides(dayOff === undefined ? [] : [[parseDate(dayOff) as number, []]])
    return { schedule: { ...schedule, overrides }, lookups: () => lookups }
  }

  test('is told by few of its dates, however many years it is old', () => {
    for (const [now, most] of [
      ['2026-12-01T12:00:00Z', 1_500],
      ['2126-12-01T12:00:00Z', 6_000],
    ] as const) {
      const { schedule, lookups } = counted(endless)
      workingTime(schedule, monthFrom(minutes(now)))
      expect(lookups()).toBeLessThan(most)
    }
  })

  test('is told by the dates in sight alone once it has been asked about, whatever date is asked about next', () => {
    const start = minutes('2026-12-01T12:00:00Z')
    const { schedule, lookups } = counted(endless)
    workingTime(schedule, monthFrom(start))
    for (let day = -5; day <= 30; day++) {
      const before = lookups()
      workingTime(schedule, { start: start + day * 1_440, end: start + day * 1_440 + 45 })
      // Its first date is looked for again where it is asked about dates that lie before all that it was asked about.
      if (day >= 0) expect(lookups() - before).toBeLessThan(12)
    }
    const before = lookups()
    for (let day = -5; day <= 30; day++) {
      workingTime(schedule, { start: start + day * 1_440, end: start + day * 1_440 + 45 })
    }
    expect(lookups() - before).toBeLessThan(36 * 6)
  })

  test('on either side of a date off is told by the dates in sight alone, asked about in turn', () => {
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

  test('without clock changes is told by those of the month and a week', () => {
    const { schedule, lookups } = counted({ ...endless, timeZone: 'UTC' })
    workingTime(schedule, monthFrom(minutes('2026-12-01T12:00:00Z')))
    expect(lookups()).toBeLessThan(60)
  })

  test('is one window, from the last slot that starts no later than the time asked about', () => {
    const start = minutes('2026-12-01T12:00:00Z')
    const [window, ...others] = workingTime(scheduleOf(endless), monthFrom(start))
    expect(others).toEqual([])
    expect(window?.start).toBeLessThanOrEqual(start)
    expect(window?.start).toBeGreaterThan(start - 50)
    // Counted from 08:00 of 2000-01-01, for the window of the evening before is of a date before.
    expect(((window?.start as number) - minutes('2000-01-01T13:00:00Z')) % 50).toBe(0)
  })
})
