import type { Listing } from '../directory/listing'
import type { TakenSlot } from '../domain/ports/directory-feed'
import type { Provider } from '../domain/provider'
import { type Region, regionRef } from '../domain/region'
import { horizonMinutes, slotAt } from '../scheduling/availability'
import { dayMinutes, formatDate, formatDay, formatTimeOfDay, minuteMillis } from '../scheduling/calendar'
import { contains, type Interval } from '../scheduling/interval'
import { type Obstacle, obstacleAt, type Step, steps } from '../scheduling/obstacle'
import { formatLocal, localDay } from '../scheduling/time-zone'
import { type LocalWindow, windowsOn } from '../scheduling/working-hours'
import type { Context } from './context'

const licenseReasons = ['region_deactivated', 'license_ended', 'license_not_started', 'no_license'] as const

/** The reasons not to offer a slot, in the order of the checks. */
export const slotReasons = [
  'provider_deactivated' as const,
  ...steps.flatMap((step) => (step === 'license' ? licenseReasons : [step])),
  'not_listed' as const,
]

type SlotReason = (typeof slotReasons)[number]

interface SlotExplanation {
  readonly offered: boolean
  readonly reason: SlotReason | null
  /** Explanation for operators, in the provider's local time. */
  readonly why: string
  readonly requestId: number | null
  /** The start times (ms) of the nearest slots. Empty unless the slot is off the grid. */
  readonly nearestStartsAt: readonly number[]
}

/**
 * Returns whether a provider's slot can be booked. If not, returns the first reason. With a region, also checks that searches
 * in the region list the provider: the license must have started. @param startsAt ms @param now ms
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
  const licensed = regionLicenses(context, listing, region).map(({ interval }) => interval)
  const obstacle = obstacleAt(listing.calendar, licensed, start, now)
  if (obstacle?.step === 'license') return explainLicense(context, listing, start, region)
  if (obstacle) {
    const { why, ...more } = explanations[obstacle.step]({ listing, start, obstacle, now })
    return refused(obstacle.step, why, more)
  }
  if (region && !context.directory.listLicensed(region.id, now).includes(listing)) {
    const why = `the slot can be booked, but searches in ${regionRef(region)} list the provider only after the license there starts`
    return refused('not_listed', why)
  }
  return { offered: true, reason: null, why: 'the slot is offered', requestId: null, nearestStartsAt: [] }
}

function refused(reason: SlotReason, why: string, more: Partial<SlotExplanation> = {}): SlotExplanation {
  return { offered: false, reason, why, requestId: null, nearestStartsAt: [], ...more }
}

/** A slot that the availability rule rejects. `start` is in minutes, `now` in ms. */
interface RejectedSlot {
  readonly listing: Listing
  readonly start: number
  readonly obstacle: Obstacle
  readonly now: number
}

type Explain = (rejected: RejectedSlot) => Partial<SlotExplanation> & { readonly why: string }

const explanations: Record<Exclude<Step, 'license'>, Explain> = {
  past: ({ listing, now }) => ({
    why: `the slot is in the past: the provider's local time is ${localTime(listing, now / minuteMillis)}`,
  }),
  horizon: ({ listing, start }) => ({
    why: `slots are offered 30 days ahead; this one can be booked from ${localTime(listing, start - horizonMinutes)}`,
  }),
  notice({ listing, start }) {
    const { minimumNoticeMinutes } = listing.provider
    const ended = localTime(listing, start - minimumNoticeMinutes)
    return { why: `the provider requires ${minimumNoticeMinutes} minutes' notice; the deadline was ${ended}` }
  },
  override({ listing, obstacle }) {
    const day = obstacle.day as number
    return { why: `an override replaces the hours of ${formatDay(day)}: ${hoursOn(listing, day)}` }
  },
  outside_hours({ listing, start }) {
    const day = localDay(listing.calendar.schedule.zone, start)
    return { why: `the slot is outside the working hours: ${hoursAround(listing, day)}` }
  },
  off_grid({ listing, obstacle: { nearest = [] } }) {
    const starts = nearest.map((minute) => localTime(listing, minute)).join(' and ')
    return {
      why:
        starts === ''
          ? 'no slot starts at this time'
          : `no slot starts at this time; the nearest slots start at ${starts}`,
      nearestStartsAt: nearest.map((minute) => minute * minuteMillis),
    }
  },
  time_off({ listing, obstacle }) {
    const { start, end } = obstacle.busy as Interval
    return {
      why: `the provider has time off from ${localTime(listing, start)} to ${localTime(listing, end)}`,
    }
  },
  taken({ listing, obstacle }) {
    const { start } = obstacle.busy as Interval
    const { requestId } = listing.taken.find(({ startsAt }) => startsAt / minuteMillis === start) as TakenSlot
    return {
      why: `the slot is taken by request ${requestId}, which starts at ${localTime(listing, start)}`,
      requestId,
    }
  },
}

function localTime({ calendar }: Listing, minute: number): string {
  return formatLocal(calendar.schedule.zone, minute)
}

function regionLicenses({ directory }: Context, { licenses }: Listing, region: Region | null) {
  return licenses.filter(
    ({ regionId }) => directory.findRegion(regionId) !== null && (!region || regionId === region.id),
  )
}

function explainLicense(
  { directory }: Context,
  { licenses, calendar }: Listing,
  start: number,
  region: Region | null,
): SlotExplanation {
  const slot = slotAt(start)
  const { zone } = calendar.schedule
  const regions = new Map(directory.listAllRegions().map((known) => [known.id, known]))
  const held = licenses
    .map(({ regionId, interval }) => ({ interval, region: regions.get(regionId) as Region }))
    .filter((license) => !region || license.region.id === region.id)
  const dormant = held.find((license) => !license.region.active && contains(license.interval, slot))
  if (dormant) return refused('region_deactivated', `the region ${regionRef(dormant.region)} is deactivated`)
  // The nearest license has the smallest gap to the start or the end of the slot.
  const lacking = ({ interval: { start, end } }: { interval: Interval }) =>
    Math.max(slot.end - end, start - slot.start)
  const [nearest] = held.filter((license) => license.region.active).sort((a, b) => lacking(a) - lacking(b))
  if (!nearest) {
    const place = region ? `for ${regionRef(region)}` : 'for any active region'
    return refused('no_license', `the provider holds no license ${place}`)
  }
  const { interval } = nearest
  const of = `the license for ${regionRef(nearest.region)}`
  const date = (minute: number) => `${formatDate(localDay(zone, minute))} in ${zone.name}`
  return interval.end < slot.end
    ? refused('license_ended', `${of} ended on ${date(interval.end - 1)}`)
    : refused('license_not_started', `${of} starts on ${date(interval.start)}`)
}

function hoursOn({ calendar: { schedule } }: Listing, day: number): string {
  const windows = windowsOn(schedule, day)
  return windows.length === 0 ? 'none' : windows.map(windowText).join(', ')
}

/** Formats the windows of a date. Adds windows of the day before if they run past midnight. */
function hoursAround(listing: Listing, day: number): string {
  const { schedule } = listing.calendar
  const before = windowsOn(schedule, day - 1).filter(({ endMinute }) => endMinute > dayMinutes)
  const hours = `${formatDay(day)} has ${hoursOn(listing, day)}`
  if (before.length === 0) return hours
  return `${hours}, ${formatDay(day - 1)} has ${before.map(windowText).join(', ')}`
}

function windowText({ startMinute, endMinute }: LocalWindow): string {
  const start = formatTimeOfDay(startMinute)
  if (endMinute <= dayMinutes) return `${start} to ${formatTimeOfDay(endMinute)}`
  return `${start} to ${formatTimeOfDay(endMinute - dayMinutes)} the next day`
}
