import { describe, expect, test } from 'bun:test'
import { horizonMinutes, slotMinutes } from '../../src/scheduling/availability'
import { formatInstant, minuteMillis } from '../../src/scheduling/calendar'
import { availabilityOf, daily, type Practice, practice, slotsOf } from './provider'

const dayMillis = 86_400_000
const at = (timestamp: string) => Date.parse(timestamp)

/** A practice with working time on one date, in Toronto by default. */
function on(date: string, start: string, end: string, different: Partial<Practice> = {}): Practice {
  return practice({ workingHours: [daily(start, end, { from: date, until: date })], ...different })
}

describe('scheduling: working time around the clock', () => {
  const always = practice({ workingHours: [daily('00:00', '24:00')] })
  const startsOn = (date: string, given: Practice, now: string) =>
    slotsOf(given, now).filter((utc) => localDateInToronto(utc) === date)

  test('working time from 00:00 to 24:00 every day has slots from the midnight of each date', () => {
    const sixty = practice({ workingHours: [daily('00:00', '24:00', { stepMinutes: 50 })] })
    const dates = ['2026-12-02', '2026-12-03', '2026-12-04']
    for (const date of dates) {
      const starts = startsOn(date, sixty, '2026-12-01T12:00:00Z')
      expect(starts).toHaveLength(28)
      expect(starts[0]).toBe(`${date}T05:00:00Z`)
      expect(starts[1]).toBe(`${date}T05:50:00Z`)
    }
  })

  test('a day of 23 hours has 30 slots, and a day of 25 hours has 33', () => {
    const spring = startsOn('2027-03-14', always, '2027-03-12T12:00:00Z')
    expect(spring).toHaveLength(30)
    expect(spring[0]).toBe('2027-03-14T05:00:00Z')
    expect(startsOn('2027-03-15', always, '2027-03-12T12:00:00Z')[0]).toBe('2027-03-15T04:00:00Z')
    const autumn = startsOn('2027-11-07', always, '2027-11-05T12:00:00Z')
    expect(autumn).toHaveLength(33)
    expect(startsOn('2027-11-08', always, '2027-11-05T12:00:00Z')[0]).toBe('2027-11-08T05:00:00Z')
  })

  test('working time around the clock has 960 slots in 30 days', () => {
    expect(slotsOf(always, '2026-12-01T05:00:00Z')).toHaveLength(960)
  })
})

describe('scheduling: windows that each overlap the window of the next date', () => {
  // Two shifts that overlap for half an hour at each handover.
  const shifts = (different: Parameters<typeof daily>[2] = {}) =>
    practice({ workingHours: [daily('08:00', '20:00', different), daily('19:30', '08:30', different)] })
  const offGrid = (first: string, step: number, slots: readonly string[]) =>
    slots.filter((utc) => (at(utc) - at(first)) % (step * minuteMillis) !== 0)

  test('a chain of five days has one slot grid, even across a clock change', () => {
    const chain = shifts({ from: '2027-03-12', until: '2027-03-16', stepMinutes: 50 })
    const slots = slotsOf(chain, '2027-03-11T12:00:00Z')
    expect(slots[0]).toBe('2027-03-12T13:00:00Z')
    expect(slots.at(-1)).toBe('2027-03-17T11:20:00Z')
    expect(offGrid('2027-03-12T13:00:00Z', 50, slots)).toEqual([])
    expect(slots).toHaveLength(Math.floor((5 * 1_440 - 30 - slotMinutes) / 50) + 1)
  })

  const moved = (given: Practice, earlier: string, later: string) => {
    const horizon = at(earlier) + horizonMinutes * minuteMillis
    const before = slotsOf(given, earlier).filter((utc) => at(utc) >= at(later))
    const after = slotsOf(given, later).filter((utc) => at(utc) < horizon)
    expect(before.length + after.length).toBeGreaterThan(0)
    return [
      ...before.filter((utc) => !after.includes(utc)).slice(0, 2),
      ...after.filter((utc) => !before.includes(utc)).slice(0, 2),
    ]
  }

  test('if they never stop, the slots stay the same after a clock change', () => {
    for (let day = 3; day < 15; day++) {
      const later = `2026-11-${String(day).padStart(2, '0')}T12:00:00Z`
      expect([later, moved(shifts(), '2026-11-02T12:00:00Z', later)]).toEqual([later, []])
    }
  })

  test('the slots of an endless chain stay the same until the answer expires, even across midnight', () => {
    const chain = shifts({ stepMinutes: 50 })
    const { slots, heldFrom, holdsUntil } = availabilityOf(chain, at('2026-12-02T04:40:30Z'))
    for (let later = heldFrom; later < holdsUntil; later += minuteMillis) {
      expect(availabilityOf(chain, later).slots.slice(0, 3)).toEqual(slots.slice(0, 3))
    }
  })

  test('a chain has the step of its first window', () => {
    const chain = practice({
      overrides: [
        { date: '2026-12-06', windows: [{ start: '20:00', end: '19:00' }] },
        { date: '2026-12-07', windows: [{ start: '18:00', end: '17:00' }] },
        { date: '2026-12-08', windows: [{ start: '16:00', end: '20:00', stepMinutes: 60 }] },
      ],
    })
    expect(slotsOf(chain, '2026-12-01T12:00:00Z').slice(0, 2)).toEqual([
      '2026-12-07T01:00:00Z',
      '2026-12-07T01:45:00Z',
    ])
    expect(moved(chain, '2026-11-07T04:00:00Z', '2026-12-01T12:00:00Z')).toEqual([])
  })

  test('an answer expires before another slot enters the horizon', () => {
    const chain = practice({
      timeZone: 'UTC',
      overrides: [
        { date: '2026-12-31', windows: [{ start: '20:00', end: '00:20', stepMinutes: 230 }] },
        { date: '2027-01-01', windows: [{ start: '00:10', end: '04:00' }] },
      ],
      timeOff: [{ from: '2026-12-31T20:00', until: '2026-12-31T20:45' }],
    })
    const later = at('2026-12-01T23:52:00Z')
    expect(availabilityOf(chain, later).slots).toEqual([at('2026-12-31T23:50:00Z') / minuteMillis])
    expect(availabilityOf(chain, at('2026-11-30T23:55:00Z')).holdsUntil).toBeLessThanOrEqual(later)
  })

  test('an override without windows ends a chain', () => {
    const chain = {
      ...shifts({ from: '2026-12-01', until: '2026-12-05' }),
      overrides: [{ date: '2026-12-03', windows: [] }],
    }
    const slots = slotsOf(chain, '2026-11-30T12:00:00Z')
    expect(slots).toContain('2026-12-01T13:00:00Z')
    expect(slots.filter((utc) => utc > '2026-12-03T13:30:00Z')[0]).toBe('2026-12-04T13:00:00Z')
  })
})

describe('scheduling: the limits of horizon and notice', () => {
  const slot = at('2026-12-01T14:00:00Z')
  const one = on('2026-12-01', '09:00', '09:45')
  const starts = (now: number, given: Practice = one) => availabilityOf(given, now).slots

  test('a slot is offered only if it is less than 30 days ahead, to the millisecond', () => {
    expect(starts(slot - 30 * dayMillis - 1)).toHaveLength(0)
    expect(starts(slot - 30 * dayMillis)).toHaveLength(0)
    expect(starts(slot - 30 * dayMillis + 1)).toHaveLength(1)
  })

  test('an answer expires when its first slot is no longer offered, to the millisecond', () => {
    expect(availabilityOf(one, slot - 12_345).holdsUntil).toBe(slot + 1)
    expect(availabilityOf({ ...one, minimumNoticeMinutes: 10 }, slot - 900_000).holdsUntil).toBe(
      slot - 600_000 + 1,
    )
  })

  test('an answer expires when another slot enters the horizon, to the millisecond', () => {
    expect(availabilityOf(one, slot - 30 * dayMillis - 12_345).holdsUntil).toBe(slot - 30 * dayMillis + 1)
  })

  test('an answer without slots expires after one day', () => {
    expect(availabilityOf(practice(), slot)).toEqual({
      slots: [],
      heldFrom: slot,
      holdsUntil: slot + dayMillis,
    })
  })

  test('a notice of 30 days or more leaves no slots', () => {
    const always = practice({ workingHours: [daily('00:00', '24:00')] })
    const now = at('2026-12-01T12:00:00Z')
    for (const minimumNoticeMinutes of [horizonMinutes, horizonMinutes + 1, 10 * horizonMinutes]) {
      const { slots, holdsUntil } = availabilityOf({ ...always, minimumNoticeMinutes }, now)
      expect(slots).toEqual([])
      expect(holdsUntil).toBeGreaterThan(now)
    }
    const last = on('2026-12-31', '07:00', '07:45', { minimumNoticeMinutes: horizonMinutes - 1 })
    expect(starts(now, last)).toHaveLength(0)
    expect(starts(now + 1, last)).toHaveLength(1)
    expect(starts(now + minuteMillis, last)).toHaveLength(1)
    expect(starts(now + minuteMillis + 1, last)).toHaveLength(0)
  })
})

describe('scheduling: dates before 1970 and after 2037', () => {
  test('dates before 1970 have the correct weekdays', () => {
    const mondays = practice({
      workingHours: [{ weekdays: ['monday'], start: '09:00', end: '09:45' }],
      licenses: [{ from: '1950-01-01', until: null }],
    })
    // 1 December 1969 was a Monday.
    expect(slotsOf(mondays, '1969-11-30T12:00:00Z').slice(0, 2)).toEqual([
      '1969-12-01T14:00:00Z',
      '1969-12-08T14:00:00Z',
    ])
  })

  test('clock changes after 2037 are applied', () => {
    const mornings = practice({ workingHours: [daily('09:00', '09:45')] })
    expect(slotsOf(mornings, '2060-07-01T00:00:00Z')[0]).toBe('2060-07-01T13:00:00Z')
    expect(slotsOf(mornings, '2060-12-01T00:00:00Z')[0]).toBe('2060-12-01T14:00:00Z')
  })
})

function localDateInToronto(utc: string): string {
  // The clock changes of 2027 are written out, so that this check does not depend on the code under test.
  const isSummer = utc >= '2027-03-14T07:00:00Z' && utc < '2027-11-07T06:00:00Z'
  return formatInstant(at(utc) - (isSummer ? 4 : 5) * 3_600_000).slice(0, 10)
}
