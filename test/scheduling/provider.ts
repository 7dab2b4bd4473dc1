import { compileLicenses, compileSchedule } from '../../src/directory/compile'
import type { ZoneData } from '../../src/domain/ports/time'
import {
  defaultStaffFields,
  type License,
  type Provider,
  type TimeOff,
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

/** Everything that decides when a provider is available, in the types of a directory file. */
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

/** A practice in Toronto without working hours, licensed since 2000. `different` overrides fields. */
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

export function daily(start: string, end: string, different: Partial<WeeklyHours> = {}): WeeklyHours {
  return { weekdays: everyDay, start, end, ...different }
}

const builtIn = builtInZones()

export function availabilityOf(given: Practice, now: number, zones: ZoneData = builtIn): Availability {
  const { calendar, licensed } = compile(given, zones)
  return availabilityAt(calendar, licensed, now)
}

/** The slots of a practice as UTC timestamps. `now` is a UTC timestamp too. */
export function slotsOf(given: Practice, now: string, zones: ZoneData = builtIn): string[] {
  return availabilityOf(given, Date.parse(now), zones).slots.map((start) =>
    formatInstant(start * minuteMillis),
  )
}

export function offers(given: Practice, start: number, now: number): boolean {
  const { calendar, licensed } = compile(given, builtIn)
  return isAvailableAt(calendar, licensed, start, now)
}

export function slotsWithinOf(given: Practice, stretch: Interval, now: number): number[] {
  const { calendar, licensed } = compile(given, builtIn)
  return slotsWithin(calendar, licensed, stretch, now)
}

export function obstacleOf(given: Practice, start: number, now: number): Obstacle | null {
  const { calendar, licensed } = compile(given, builtIn)
  return obstacleAt(calendar, licensed, start, now)
}

export function absenceOf(given: Practice, start: string): Absence | null {
  const { calendar, licensed } = compile(given, builtIn)
  return sessionObstacleAt(calendar, licensed, Date.parse(start) / minuteMillis)
}

export function scheduleOf(given: Practice): Schedule {
  return compile(given, builtIn).calendar.schedule
}

function compile(given: Practice, zones: ZoneData): { calendar: Calendar; licensed: Interval[] } {
  const zone = zones.find(given.timeZone)
  if (!zone) throw new Error(`no zone ${given.timeZone}`)
  return {
    calendar: {
      schedule: compileSchedule(asProvider(given), zone),
      taken: given.taken.map(slotAt),
      minimumNoticeMinutes: given.minimumNoticeMinutes,
    },
    licensed: compileLicenses(asProvider(given).licenses, zone).map(({ interval }) => interval),
  }
}

function asProvider({ taken: _, licenses, ...given }: Practice): Provider {
  return {
    ...given,
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
    ...defaultStaffFields,
    licenses: licenses.map((license) => ({ ...license, regionId: 1 })),
    inPersonRegionIds: [],
  }
}
