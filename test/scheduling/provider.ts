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

/** A practice in Toronto without working hours, licensed since 2000, with the given differences. */
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

/** Working hours on every day of the week. */
export function daily(start: string, end: string, different: Partial<WeeklyHours> = {}): WeeklyHours {
  return { weekdays: everyDay, start, end, ...different }
}

const builtIn = builtInZones()

/** The availability of a practice at `now` (ms). Compiles the practice and asks the engine. */
export function availabilityOf(of: Practice, now: number, zones: ZoneData = builtIn): Availability {
  const { calendar, licensed } = compile(of, zones)
  return availabilityAt(calendar, licensed, now)
}

/** The slots of a practice as UTC timestamps; `now` is a UTC timestamp too. */
export function slotsOf(of: Practice, now: string, zones: ZoneData = builtIn): string[] {
  return availabilityOf(of, Date.parse(now), zones).slots.map((start) => formatInstant(start * minuteMillis))
}

/** Returns whether the slot that starts at a minute is offered at `now` (ms). Asks only for that slot. */
export function offers(of: Practice, start: number, now: number): boolean {
  const { calendar, licensed } = compile(of, builtIn)
  return isAvailableAt(calendar, licensed, start, now)
}

/** The slots of a practice within a stretch of minutes at `now` (ms). Asks only for that stretch. */
export function slotsWithinOf(of: Practice, stretch: Interval, now: number): number[] {
  const { calendar, licensed } = compile(of, builtIn)
  return slotsWithin(calendar, licensed, stretch, now)
}

/** The reason why the slot that starts at a minute is not offered at `now` (ms), or null. */
export function obstacleOf(of: Practice, start: number, now: number): Obstacle | null {
  const { calendar, licensed } = compile(of, builtIn)
  return obstacleAt(calendar, licensed, start, now)
}

/** The reason why the provider cannot hold a session that starts at a UTC timestamp, or null. */
export function absenceOf(of: Practice, start: string): Absence | null {
  const { calendar, licensed } = compile(of, builtIn)
  return sessionObstacleAt(calendar, licensed, Date.parse(start) / minuteMillis)
}

/** The compiled schedule of a practice. */
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
    ...defaultStaffFields,
    licenses: licenses.map((license) => ({ ...license, regionId: 1 })),
    inPersonRegionIds: [],
  }
}
