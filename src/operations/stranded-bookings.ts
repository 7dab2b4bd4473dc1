import type { Listing } from '../directory/directory'
import type { RequestRecord } from '../domain/booking-request'
import { isWorking, type Provider } from '../domain/provider'
import { Rule } from '../scheduling/availability'
import { minuteMillis } from '../scheduling/calendar'
import { slotAt } from '../scheduling/slots'
import type { Context } from './context'

/** Why a provider cannot hold what is booked: the directory or staff switched them off, an absence, or no license then. */
export type Impediment = 'deactivated' | 'suspended' | 'away' | 'unlicensed'

/** A booking to come that its provider cannot hold. */
export interface StrandedBooking {
  readonly requestId: number
  readonly provider: Provider
  /** ms */
  readonly startsAt: number
  readonly why: Impediment
}

/** The bookings after `now` (ms) that their providers cannot hold, by the one rule: those of each provider in order. */
export function listStrandedBookings({ directory }: Context, now: number): StrandedBooking[] {
  const isActive = (regionId: number) => directory.findRegion(regionId) !== null
  return directory.listProviders().flatMap(({ id }) => {
    const listing = directory.findAnyListing(id)
    return listing ? strandedOf(listing, isActive, now) : []
  })
}

/** Why the provider of a request cannot hold it, at `now` (ms); null if nothing speaks against it. */
export function impedimentOfRequest(
  { directory }: Context,
  { id, providerId, startsAt }: RequestRecord,
  now: number,
): Impediment | null {
  const listing = providerId === null ? null : directory.findAnyListing(providerId)
  if (!listing) return null
  const { provider } = listing
  if (startsAt === null) return isWorking(provider) ? null : switchedOff(provider)
  const isActive = (regionId: number) => directory.findRegion(regionId) !== null
  return strandedOf(listing, isActive, now).find(({ requestId }) => requestId === id)?.why ?? null
}

function strandedOf(
  { provider, calendar, licenses, taken }: Listing,
  isActive: (regionId: number) => boolean,
  now: number,
): StrandedBooking[] {
  const coming = taken.filter(({ startsAt }) => startsAt > now)
  const [first] = coming
  if (!first) return []
  const licensed = licenses.filter(({ regionId }) => isActive(regionId)).map(({ interval }) => interval)
  // A booking is no hindrance to itself; where the working hours have slots is not asked.
  const rule = new Rule({ ...calendar, taken: [] }, licensed, now, slotAt(first.startsAt / minuteMillis))
  return coming.flatMap(({ requestId, startsAt }) => {
    const why = impedimentOf(provider, rule, startsAt / minuteMillis)
    return why ? [{ requestId, provider, startsAt, why }] : []
  })
}

function impedimentOf(provider: Provider, rule: Rule, start: number): Impediment | null {
  if (!isWorking(provider)) return switchedOff(provider)
  if (!rule.isLicensed(start)) return 'unlicensed'
  return rule.isFree(start) ? null : 'away'
}

function switchedOff({ suspended }: Provider): Impediment {
  return suspended ? 'suspended' : 'deactivated'
}
