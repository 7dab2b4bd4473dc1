import { compileLicenses, compileSchedule } from '../../src/directory/compile'
import type { ZoneData } from '../../src/domain/ports/time'
import {
  type License,
  type Provider,
  type TimeOff,
  unsaid,
  type WeeklyHours,
} from '../../src/domain/provider'
import {
  type Availability,
  availabilityAt,
  type Calendar,
  isAvailableAt,
  slotAt,
  slotsWithin,
} from '../../src/scheduling/availability'
import { formatInstant, minuteMillis } from '../../src/scheduling/calendar'
import type { Interval } from '../../src/scheduling/interval'
import { type Absence, type Obstacle, obstacleAt, sessionObstacleAt } from '../../src/scheduling/obstacle'
import type { Schedule } from '../../src/scheduling/working-hours'
import { builtInZones } from '../../src/zones/packed'

/** What decides when a provider can be had, in the words of a directory file. */
export interface Practice {
  readonly timeZone: string
  readonly workingHours: readonly WeeklyHours[]
  readonly overrides: Provider['overrides']
  readonly timeOff: readonly TimeOff[]
  readonly licenses: readonly Omit<License, 'regionId'>[]
  /** Starts of taken slots, in minutes since 1970-01-01T00:00Z. */
  readonly taken: readonly number[]
  readonly minimumNoticeMinutes: number
}

export const everyDay = [
  'monday',
  'tuesday',
  'wednesday',
  'thursday',
  'friday',
  'saturday',
  'sunday',
] as const

/** A practice in Toronto without any hours, licensed since 2000, or what differs. */
export function practice(different: Partial<Practice> = {}): Practice {
  return {
    timeZone: 'America/Toronto',
    workingHours: [],
    overrides: [],
    timeOff: [],
    licenses: [{ from: '2000-01-01', until: null }],
    taken: [],
    minimumNoticeMinutes: 0,
    ...different,
  }
}

/** Hours on every day of the week. */
export function daily(start: string, end: string, different: Partial<WeeklyHours> = {}): WeeklyHours {
  return { weekdays: everyDay, start, end, ...different }
}

const builtIn = builtInZones()

/** What a practice offers at `now` (ms), through the whole of the engine: texts compiled, then asked. */
export function availabilityOf(of: Practice, now: number, zones: ZoneData = builtIn): Availability {
  const { calendar, licensed } = compile(of, zones)
  return availabilityAt(calendar, licensed, now)
}

/** The same as UTC timestamps, at a UTC timestamp. */
export function slotsOf(of: Practice, now: string, zones: ZoneData = builtIn): string[] {
  return availabilityOf(of, Date.parse(now), zones).slots.map((start) => formatInstant(start * minuteMillis))
}

/** Whether a practice offers at `now` (ms) the slot that starts at a minute, asked of that slot alone. */
export function offers(of: Practice, start: number, now: number): boolean {
  const { calendar, licensed } = compile(of, builtIn)
  return isAvailableAt(calendar, licensed, start, now)
}

/** What a practice offers at `now` (ms) in a stretch of time (minutes), asked of that alone. */
export function slotsWithinOf(of: Practice, stretch: Interval, now: number): number[] {
  const { calendar, licensed } = compile(of, builtIn)
  return slotsWithin(calendar, licensed, stretch, now)
}

/** Why a practice does not offer at `now` (ms) the slot that starts at a minute. */
export function obstacleOf(of: Practice, start: number, now: number): Obstacle | null {
  const { calendar, licensed } = compile(of, builtIn)
  return obstacleAt(calendar, licensed, start, now)
}

/** What keeps the provider of a practice from a session that starts at a UTC timestamp. */
export function absenceOf(of: Practice, start: string): Absence | null {
  const { calendar, licensed } = compile(of, builtIn)
  return sessionObstacleAt(calendar, licensed, Date.parse(start) / minuteMillis)
}

/** When a practice works, in the engine's numbers. */
export function scheduleOf(of: Practice): Schedule {
  return compile(of, builtIn).calendar.schedule
}

function compile(of: Practice, zones: ZoneData): { calendar: Calendar; licensed: Interval[] } {
  const zone = zones.find(of.timeZone)
  if (!zone) throw new Error(`no zone ${of.timeZone}`)
  return {
    calendar: {
      schedule: compileSchedule(asProvider(of), zone),
      taken: of.taken.map(slotAt),
      minimumNoticeMinutes: of.minimumNoticeMinutes,
    },
    licensed: compileLicenses(asProvider(of).licenses, zone).map(({ interval }) => interval),
  }
}

function asProvider({ taken: _, licenses, ...of }: Practice): Provider {
  return {
    ...of,
    id: 1,
    ref: 'test',
    firstName: 'Marlow',
    lastName: 'Fernhill',
    credentials: null,
    pronouns: null,
    gender: null,
    bio: null,
    languagesSpoken: ['en'],
    modalities: ['in-video'],
    active: true,
    ...unsaid,
    licenses: licenses.map((license) => ({ ...license, regionId: 1 })),
    inPersonRegionIds: [],
  }
}
