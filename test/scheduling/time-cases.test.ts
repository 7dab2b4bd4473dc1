import { describe, expect, test } from 'bun:test'
import fixture from '../../fixtures/time-cases.json'
import type { WorkingWindow, weekdays } from '../../src/domain/provider'
import { formatDate, formatTimeOfDay, minuteMillis } from '../../src/scheduling/calendar'
import { offsetAt, toLocal } from '../../src/scheduling/time-zone'
import { builtInZones } from '../../src/zones/packed'
import { everyDay, type Practice, practice, slotsOf } from './provider'

/** A case of the fixture file. Windows are written `start-end` or `start-end/step`. */
interface TimeCase {
  readonly name: string
  readonly zone: string
  readonly now: string
  readonly date?: string
  readonly windows: readonly string[]
  readonly workingHours?: readonly {
    readonly weekdays: readonly (typeof weekdays)[number][]
    readonly windows: readonly string[]
    readonly from: string
    readonly until: string
  }[]
  readonly overrides?: readonly { readonly date: string; readonly windows: readonly string[] }[]
  readonly timeOff?: Practice['timeOff']
  readonly licenses?: Practice['licenses']
  readonly taken?: readonly string[]
  readonly minimumNoticeMinutes?: number
  readonly slots: readonly { readonly local: string; readonly utc: string }[]
}

const cases = fixture.cases as readonly TimeCase[]

describe('scheduling: named time cases', () => {
  for (const named of cases) {
    test(named.name, () => {
      expect(slotsOf(practiceOf(named), named.now)).toEqual(named.slots.map(({ utc }) => utc))
      expect(named.slots.map(({ utc }) => readingOf(utc, named.zone))).toEqual(
        named.slots.map(({ local }) => local),
      )
    })
  }

  test('every case has a unique name', () => {
    expect(new Set(cases.map(({ name }) => name)).size).toBe(cases.length)
  })
})

function practiceOf(named: TimeCase): Practice {
  const { zone, date, windows, workingHours = [], overrides = [], taken = [] } = named
  const onDate = date === undefined ? [] : [{ weekdays: everyDay, windows, from: date, until: date }]
  return practice({
    timeZone: zone,
    workingHours: [...onDate, ...workingHours].flatMap(({ windows, ...when }) =>
      windows.map((window) => ({ ...when, ...parseWindow(window) })),
    ),
    overrides: overrides.map(({ date, windows }) => ({ date, windows: windows.map(parseWindow) })),
    taken: taken.map((start) => Date.parse(start) / minuteMillis),
    ...(named.timeOff && { timeOff: named.timeOff }),
    ...(named.licenses && { licenses: named.licenses }),
    ...(named.minimumNoticeMinutes && { minimumNoticeMinutes: named.minimumNoticeMinutes }),
  })
}

function parseWindow(text: string): WorkingWindow {
  const [, start = '', end = '', step] = /^(\d\d:\d\d)-(\d\d:\d\d)(?:\/(\d+))?$/.exec(text) ?? []
  return { start, end, ...(step && { stepMinutes: Number(step) }) }
}

/** The local time and the offset of a UTC timestamp, as `2027-03-14 01:00 -05:00`. */
function readingOf(utc: string, zoneName: string): string {
  const zone = builtInZones().find(zoneName)
  if (!zone) throw new Error(`no zone ${zoneName}`)
  const instant = Date.parse(utc) / minuteMillis
  const local = toLocal(zone, instant)
  const offset = offsetAt(zone, instant)
  const day = Math.floor(local / 1_440)
  const sign = offset < 0 ? '-' : '+'
  return `${formatDate(day)} ${formatTimeOfDay(local - day * 1_440)} ${sign}${formatTimeOfDay(Math.abs(offset))}`
}
