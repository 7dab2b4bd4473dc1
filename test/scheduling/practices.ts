import fc from 'fast-check'
import moment from 'moment-timezone'
import type { WeeklyHours, WorkingWindow } from '../../src/domain/provider'
import { everyDay, type Practice } from './provider'

export interface Asked {
  readonly practice: Practice
  readonly now: number
}

const minute = 60_000
const day = 1_440 * minute

/** Zones with unusual clock changes. */
const awkward = [
  'America/Toronto',
  'Australia/Lord_Howe',
  'Pacific/Chatham',
  'America/St_Johns',
  'America/Santiago',
  'Pacific/Easter',
  'Africa/Cairo',
  'Asia/Beirut',
  'America/Havana',
  'Atlantic/Azores',
  'America/Scoresbysund',
  'America/Nuuk',
  'Antarctica/Troll',
  'Europe/Dublin',
  'Asia/Gaza',
  'Asia/Jerusalem',
  'Africa/Casablanca',
  'Africa/El_Aaiun',
  'America/Vancouver',
  'America/Edmonton',
  'America/Winnipeg',
  'Asia/Kathmandu',
  'Pacific/Apia',
  'Pacific/Kiritimati',
  'Etc/GMT+12',
  'UTC',
]

/** Instants after 2036 are not used, because the zone data ends in 2037. */
const firstMoment = Date.UTC(2026, 0, 1)
const lastMoment = Date.UTC(2037, 0, 1)

const zoneName = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...awkward) },
  { weight: 1, arbitrary: fc.constantFrom(...moment.tz.names()) },
)

interface Moment {
  readonly now: number
  /** The clock change near `now`, in ms since 1970; null if there is none. */
  readonly change: number | null
}

function momentIn(timeZone: string): fc.Arbitrary<Moment> {
  const changes = (moment.tz.zone(timeZone)?.untils ?? []).filter((at) => firstMoment < at && at < lastMoment)
  const anyTime = fc
    .integer({ min: firstMoment / minute, max: lastMoment / minute })
    .map((at) => ({ change: null, at }))
  const nearChange = (changes: readonly number[]) =>
    fc
      .tuple(fc.constantFrom(...changes), fc.integer({ min: -33 * 1_440, max: 2 * 1_440 }))
      .map(([change, minutes]) => ({ change, at: Math.round(change / minute) + minutes }))
  return fc
    .tuple(
      changes.length > 0
        ? fc.oneof({ weight: 4, arbitrary: nearChange(changes) }, { weight: 1, arbitrary: anyTime })
        : anyTime,
      fc.oneof(
        fc.constant(0),
        fc.constant(1),
        fc.constant(minute - 1),
        fc.integer({ min: 0, max: minute - 1 }),
      ),
    )
    .map(([{ change, at }, millis]) => ({ change, now: at * minute + millis }))
}

const minuteOfDay = fc.oneof(
  fc.integer({ min: 0, max: 95 }).map((quarter) => quarter * 15),
  fc.integer({ min: 0, max: 16 }).map((quarter) => quarter * 15),
  fc.constantFrom(0, 60, 120, 165, 180, 1_380, 1_410),
  fc.integer({ min: 0, max: 1_439 }),
)

const length = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 3, max: 40 }).map((quarter) => quarter * 15) },
  { weight: 2, arbitrary: fc.integer({ min: 1, max: 600 }) },
  { weight: 1, arbitrary: fc.integer({ min: 600, max: 1_439 }) },
)

const stepMinutes = fc.oneof(
  { weight: 4, arbitrary: fc.constant({}) },
  { weight: 1, arbitrary: fc.constantFrom(45, 50, 60, 90).map((stepMinutes) => ({ stepMinutes })) },
)

const window: fc.Arbitrary<WorkingWindow> = fc.oneof(
  {
    weight: 15,
    arbitrary: fc.tuple(minuteOfDay, length, stepMinutes).map(([start, length, step]) => ({
      start: timeOf(start),
      end: timeOf((start + length) % 1_440),
      ...step,
    })),
  },
  {
    weight: 5,
    arbitrary: fc
      .tuple(minuteOfDay, minuteOfDay, stepMinutes)
      .filter(([start, end]) => start !== end)
      .map(([start, end, step]) => ({ start: timeOf(start), end: timeOf(end), ...step })),
  },
  { weight: 1, arbitrary: stepMinutes.map((step) => ({ start: '00:00', end: '24:00', ...step })) },
)

/** A date that is `min` to `max` days after an instant. */
const dateAfter = (now: number, min: number, max: number) =>
  fc.integer({ min, max }).map((days) => new Date(now + days * day).toISOString().slice(0, 10))

function weeklyHours(now: number): fc.Arbitrary<WeeklyHours> {
  return fc
    .tuple(
      window,
      fc.oneof(fc.constant([...everyDay]), fc.subarray([...everyDay], { minLength: 1 })),
      fc.option(dateAfter(now, -10, 30), { freq: 4 }),
      fc.option(dateAfter(now, -2, 32), { freq: 4 }),
    )
    .map(([window, weekdays, from, until]) => ({
      ...window,
      weekdays,
      ...(from && { from }),
      ...(until && { until }),
    }))
}

function shifts(now: number): fc.Arbitrary<WeeklyHours[]> {
  return fc
    .tuple(
      fc.integer({ min: 0, max: 719 }),
      fc.integer({ min: 1, max: 90 }),
      fc.tuple(stepMinutes, stepMinutes),
      dateAfter(now, -36, 33),
      fc.oneof(fc.integer({ min: 0, max: 60 }), fc.integer({ min: 0, max: 60 }), fc.constant(null)),
    )
    .map(([start, overlap, [first, second], from, days]) => {
      const isEndless = days === null && overlap % 2 === 0
      const when = {
        weekdays: [...everyDay],
        ...(!isEndless && { from }),
        ...(days !== null && { until: new Date(Date.parse(from) + days * day).toISOString().slice(0, 10) }),
      }
      return [
        { ...when, ...first, start: timeOf(start), end: timeOf(start + 600) },
        { ...when, ...second, start: timeOf(start + 600 - overlap), end: timeOf((start + overlap) % 1_440) },
      ]
    })
}

function absence({ now, change }: Moment): fc.Arbitrary<Practice['timeOff'][number]> {
  const date =
    change === null
      ? dateAfter(now, -3, 31)
      : fc.oneof(dateAfter(now, -3, 31), { weight: 2, arbitrary: dateAfter(change, -1, 1) })
  const local = fc.tuple(date, minuteOfDay).map(([date, minute]) => `${date}T${timeOf(minute)}`)
  const instant = fc
    .integer({ min: -3 * 1_440, max: 31 * 1_440 })
    .map((minutes) => `${new Date(now + minutes * minute).toISOString().slice(0, 16)}:00Z`)
  const later = (text: string, minutes: number) => {
    const from = Date.parse(text.endsWith('Z') ? text : `${text}Z`)
    return new Date(from + minutes * minute).toISOString().slice(0, 16)
  }
  return fc.oneof(
    fc.tuple(date, date).map((dates) => {
      const [from = '', until = ''] = dates.sort()
      return { from, until }
    }),
    date.map((date) => ({ from: date, until: date })),
    fc
      .tuple(local, fc.integer({ min: 1, max: 600 }))
      .map(([from, minutes]) => ({ from, until: later(from, minutes) })),
    fc
      .tuple(instant, fc.integer({ min: 1, max: 3_000 }))
      .map(([from, minutes]) => ({ from, until: `${later(from, minutes)}:00Z` })),
  )
}

function license(now: number): fc.Arbitrary<Practice['licenses'][number]> {
  return fc.oneof(
    { weight: 3, arbitrary: fc.constant({ from: '2015-01-01', until: null }) },
    {
      weight: 2,
      arbitrary: fc
        .tuple(dateAfter(now, -60, 32), fc.option(fc.integer({ min: 0, max: 60 })))
        .map(([from, days]) => ({
          from,
          until: days === null ? null : new Date(Date.parse(from) + days * day).toISOString().slice(0, 10),
        })),
    },
  )
}

function renewal(now: number): fc.Arbitrary<Practice['licenses'][number][]> {
  return fc.tuple(dateAfter(now, -3, 32), fc.constantFrom(-1, 0, 1, 1, 1, 2)).map(([until, days]) => [
    { from: '2015-01-01', until },
    { from: new Date(Date.parse(until) + days * day).toISOString().slice(0, 10), until: null },
  ])
}

/** The start of a taken slot, in minutes since 1970. */
const takenAfter = (now: number) =>
  fc.integer({ min: -1_440, max: 31 * 1_440 }).map((minutes) => Math.floor(now / minute) + minutes)

const notice = fc.oneof(
  { weight: 3, arbitrary: fc.constant(0) },
  { weight: 2, arbitrary: fc.integer({ min: 1, max: 3 * 1_440 }) },
  { weight: 1, arbitrary: fc.integer({ min: 29 * 1_440, max: 32 * 1_440 }) },
)

/** Any practice in any zone, often with an instant near a clock change. */
export const asked: fc.Arbitrary<Asked> = zoneName
  .chain((timeZone) => momentIn(timeZone).map((moment) => ({ timeZone, moment })))
  .chain(({ timeZone, moment, moment: { now } }) =>
    fc.record({
      now: fc.constant(now),
      practice: fc.record({
        timeZone: fc.constant(timeZone),
        workingHours: fc.oneof(
          { weight: 5, arbitrary: fc.array(weeklyHours(now), { maxLength: 4 }) },
          { weight: 1, arbitrary: shifts(now) },
        ),
        overrides: fc.uniqueArray(
          fc.record({ date: dateAfter(now, -3, 33), windows: fc.array(window, { maxLength: 3 }) }),
          { maxLength: 4, selector: ({ date }) => date },
        ),
        timeOff: fc.array(absence(moment), { maxLength: 3 }),
        licenses: fc.oneof(
          fc.array(license(now), { minLength: 1, maxLength: 3 }),
          fc.array(license(now), { maxLength: 1 }),
          renewal(now),
        ),
        taken: fc.array(takenAfter(now), { maxLength: 5 }),
        minimumNoticeMinutes: notice,
      }),
    }),
  )

/** Working time without a gap for years, except at overrides and clock changes. */
export const chained: fc.Arbitrary<Asked> = zoneName
  .chain((timeZone) => momentIn(timeZone).map(({ now }) => ({ timeZone, now })))
  .chain(({ timeZone, now }) => {
    const longAgo = dateAfter(now, -9_000, -20)
    const exception = fc.record({ date: longAgo, windows: fc.array(window, { maxLength: 2 }) })
    const hours = fc
      .tuple(shifts(now), fc.option(longAgo, { freq: 1 }), fc.option(longAgo, { freq: 3 }))
      .map(([shifts, from, until]) =>
        shifts.map(({ from: _, until: __, ...shift }, index) => ({
          ...shift,
          ...(from && { from }),
          ...(until && index === 0 && { until }),
        })),
      )
    return fc.record({
      now: fc.constant(now),
      practice: fc.record({
        timeZone: fc.constant(timeZone),
        workingHours: fc
          .tuple(hours, fc.array(weeklyHours(now), { maxLength: 2 }))
          .map(([shifts, others]) => [...shifts, ...others]),
        overrides: fc.uniqueArray(exception, { maxLength: 3, selector: ({ date }) => date }),
        timeOff: fc.constant([]),
        licenses: fc.constant([{ from: '2000-01-01', until: null }]),
        taken: fc.constant([]),
        minimumNoticeMinutes: fc.constant(0),
      }),
    })
  })

function timeOf(minute: number): string {
  return `${String(Math.floor(minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}`
}
