import type { Listing } from '../directory/directory'
import type { Provider } from '../domain/provider'
import { type Region, regionRef } from '../domain/region'
import { horizonMinutes } from '../scheduling/availability'
import { dayMinutes, formatTimeOfDay, minuteMillis } from '../scheduling/calendar'
import { type Obstacle, obstacleAt } from '../scheduling/obstacle'
import { slotAt } from '../scheduling/slots'
import { localDay } from '../scheduling/time-zone'
import { type LocalWindow, windowsOn } from '../scheduling/working-hours'
import type { Context } from './context'
import { formatDay, formatLocal } from './free-slots'

/** Why a slot is not offered, in the order in which the reasons are looked for. */
export const slotReasons = [
  'provider_deactivated',
  'past',
  'horizon',
  'notice',
  'no_license',
  'region_deactivated',
  'license_ended',
  'license_not_started',
  'override',
  'outside_hours',
  'off_grid',
  'time_off',
  'taken',
  'not_listed',
] as const

export type SlotReason = (typeof slotReasons)[number]

/** Whether a slot is offered, and if not the first reason why. */
export interface SlotExplanation {
  readonly offered: boolean
  /** Null for a slot that is offered. */
  readonly reason: SlotReason | null
  /** In the operator's words, times in the provider's zone. */
  readonly why: string
  /** The request that has taken it. */
  readonly requestId: number | null
  /** Instants in ms at which slots start beside one that is off the grid. */
  readonly nearestStartsAt: readonly number[]
}

/**
 * Says whether a slot of a provider can be booked, by the one rule, and the first reason why not. With a
 * region, whether a search there shows it, which lists only those who hold a license there already.
 *
 * @param startsAt ms, as is `now`
 */
export function explainSlot(
  context: Context,
  provider: Provider,
  startsAt: number,
  region: Region | null,
  now: number,
): SlotExplanation {
  const listing = context.directory.findListing(provider.id)
  if (!listing) return refused('provider_deactivated', 'the provider is deactivated')
  const start = startsAt / minuteMillis
  const licensed = licensesIn(context, listing, region).map(({ interval }) => interval)
  const obstacle = obstacleAt(listing.calendar, licensed, start, now)
  if (obstacle) return explain(context, listing, start, obstacle, region, now)
  if (region && !context.directory.listLicensed(region.id, now).includes(listing)) {
    const why = `it can be booked, but no search in ${regionRef(region)} lists the provider before the license there starts`
    return refused('not_listed', why)
  }
  return { offered: true, reason: null, why: 'it is offered', requestId: null, nearestStartsAt: [] }
}

function refused(reason: SlotReason, why: string, more: Partial<SlotExplanation> = {}): SlotExplanation {
  return { offered: false, reason, why, requestId: null, nearestStartsAt: [], ...more }
}

function explain(
  context: Context,
  listing: Listing,
  start: number,
  { step, busy, nearest = [] }: Obstacle,
  region: Region | null,
  now: number,
): SlotExplanation {
  const { calendar, provider } = listing
  const { zone } = calendar.schedule
  const local = (minute: number) => formatLocal(zone, minute * minuteMillis)
  switch (step) {
    case 'past':
      return refused('past', `it is over: it is ${formatLocal(zone, now)} there now`)
    case 'horizon':
      return refused(
        'horizon',
        `slots are offered 30 days ahead; this one comes within reach at ${local(start - horizonMinutes)}`,
      )
    case 'notice':
      return refused(
        'notice',
        `the provider asks for ${provider.minimumNoticeMinutes} minutes' notice, which ended at ${local(
          start - provider.minimumNoticeMinutes,
        )}`,
      )
    case 'license':
      return explainLicense(context, listing, start, region)
    case 'override': {
      const day = overriddenDay(listing, start)
      return refused(
        'override',
        `other hours stand in for those of ${formatDay(day)}: ${hoursOn(listing, day)}`,
      )
    }
    case 'hours': {
      const day = localDay(zone, start)
      return refused('outside_hours', `it is outside the working hours: ${hoursAround(listing, day)}`)
    }
    case 'grid':
      return refused(
        'off_grid',
        nearest.length > 0
          ? `no slot starts then; the nearest start at ${nearest.map(local).join(' and ')}`
          : 'no slot starts then',
        { nearestStartsAt: nearest.map((minute) => minute * minuteMillis) },
      )
    case 'time_off':
      return refused(
        'time_off',
        `time off from ${local(busy?.start ?? start)} to ${local(busy?.end ?? start)}`,
      )
    case 'taken': {
      const held = listing.taken.find(({ startsAt }) => startsAt / minuteMillis === busy?.start)
      return refused('taken', `taken by request ${held?.requestId}, from ${local(busy?.start ?? start)}`, {
        requestId: held?.requestId ?? null,
      })
    }
  }
}

/** The licenses that count: of active regions, or of the one that is asked about. */
function licensesIn({ directory }: Context, { licenses }: Listing, region: Region | null) {
  return licenses.filter(
    ({ regionId }) => directory.findRegion(regionId) !== null && (!region || regionId === region.id),
  )
}

function explainLicense(
  context: Context,
  { provider, licenses, calendar }: Listing,
  start: number,
  region: Region | null,
): SlotExplanation {
  const regions = new Map(context.directory.listAllRegions().map((known) => [known.id, known]))
  const { zone } = calendar.schedule
  const slot = slotAt(start)
  const held = licenses
    .map((license, index) => ({
      ...license,
      region: regions.get(license.regionId) as Region,
      dates: provider.licenses[index] as { from: string; until: string | null },
    }))
    .filter(({ regionId }) => !region || regionId === region.id)
  const active = held.filter((license) => license.region.active)
  const dormant = held.find(
    ({ interval, region: { active: isActive } }) =>
      !isActive && interval.start <= slot.start && slot.end <= interval.end,
  )
  const ended = active.findLast(({ interval }) => interval.end < slot.end)
  const coming = active.find(({ interval }) => interval.start > slot.start)
  const name = (of: Region) => regionRef(of)
  if (dormant) return refused('region_deactivated', `the region ${name(dormant.region)} is deactivated`)
  if (ended) {
    const why = `the license for ${name(ended.region)} ended with ${ended.dates.until} in ${zone.name}`
    return refused('license_ended', why)
  }
  if (coming) {
    const why = `the license for ${name(coming.region)} starts with ${coming.dates.from} in ${zone.name}`
    return refused('license_not_started', why)
  }
  return refused(
    'no_license',
    `the provider holds no license ${region ? `for ${name(region)}` : 'for any active region'}`,
  )
}

/** The date whose override took the slot away: its own, or the one before where a window ran over midnight. */
function overriddenDay({ calendar: { schedule } }: Listing, start: number): number {
  const day = localDay(schedule.zone, start)
  return schedule.overrides.has(day) ? day : day - 1
}

function hoursOn({ calendar: { schedule } }: Listing, day: number): string {
  const windows = windowsOn(schedule, day)
  return windows.length === 0 ? 'none' : windows.map(formatWindow).join(', ')
}

/** The windows that may hold a slot of a date: its own, and those of the date before that run into it. */
function hoursAround(listing: Listing, day: number): string {
  const { schedule } = listing.calendar
  const before = windowsOn(schedule, day - 1).filter(({ endMinute }) => endMinute > dayMinutes)
  const own = `${formatDay(day)} has ${hoursOn(listing, day)}`
  return before.length === 0
    ? own
    : `${own}, ${formatDay(day - 1)} has ${before.map(formatWindow).join(', ')}`
}

function formatWindow({ startMinute, endMinute }: LocalWindow): string {
  const end =
    endMinute <= dayMinutes ? formatEnd(endMinute) : `${formatTimeOfDay(endMinute - dayMinutes)} the next day`
  return `${formatTimeOfDay(startMinute)} to ${end}`
}

function formatEnd(minute: number): string {
  return minute === dayMinutes ? '24:00' : formatTimeOfDay(minute)
}
