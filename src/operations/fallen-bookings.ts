import type { Listing } from '../directory/directory'
import type { DirectoryComparison } from '../domain/compare-directory'
import type { TakenSlot } from '../domain/directory-feed'
import { isWorking, type Provider } from '../domain/provider'
import { minuteMillis } from '../scheduling/calendar'
import { type Absence, absenceAt } from '../scheduling/obstacle'
import { formatLocal } from '../scheduling/time-zone'
import type { Context } from './context'

/** A session to come that lies outside the provider's time, which it did not before. It stays booked. */
export interface FallenBooking {
  readonly requestId: number
  /** The provider's ref. */
  readonly provider: string
  /** ms */
  readonly startsAt: number
  /** As `Tue 2026-12-01 09:00`, in the provider's zone. */
  readonly local: string
  readonly timeZone: string
  readonly reason: 'provider_deactivated' | Absence['step']
}

/** The sessions that are not over at `now` (ms) and fall outside by a load: told of what is in memory, in order of provider and time. */
export function listFallenBookings(
  { directory }: Context,
  { changes }: DirectoryComparison,
  now: number,
): FallenBooking[] {
  const regions = directory.listAllRegions()
  const changed = changes.flatMap((change) => (change.noun === 'region' ? change.after : []))
  const [open, openAfter] = [activeIds(regions), activeIds([...regions, ...changed])]
  const areRegionsLost = open.difference(openAfter).size > 0
  const providers = new Map(
    changes.flatMap((change) => (change.noun === 'provider' ? [[change.after.id, change.after]] : [])),
  )
  return directory.listProviders().flatMap((provider) => {
    const after = providers.get(provider.id) ?? (areRegionsLost ? provider : null)
    const listing = after && directory.findAnyListing(provider.id)
    const taken = listing?.taken.filter(({ endsAt }) => endsAt > now) ?? []
    // Most are booked by nobody, and need not be compiled.
    const listed = taken.length > 0 ? directory.asListed(after as Provider) : null
    if (!listing || !listed) return []
    return taken.flatMap((slot) => {
      const reason = outsideOf(listed, openAfter, slot)
      return reason && !outsideOf(listing, open, slot) ? describe(listed, slot, reason) : []
    })
  })
}

/** The ids of the regions that are active, by the last that is told of each. */
function activeIds(regions: readonly { readonly id: number; readonly active: boolean }[]): Set<number> {
  const states = new Map(regions.map(({ id, active }) => [id, active]))
  return new Set([...states.keys()].filter((id) => states.get(id)))
}

function outsideOf(
  { provider, calendar, licenses }: Listing,
  regionIds: ReadonlySet<number>,
  { startsAt }: TakenSlot,
): FallenBooking['reason'] | null {
  if (!isWorking(provider)) return 'provider_deactivated'
  const licensed = licenses.filter(({ regionId }) => regionIds.has(regionId)).map(({ interval }) => interval)
  return absenceAt(calendar, licensed, startsAt / minuteMillis)?.step ?? null
}

function describe(
  { provider, calendar }: Listing,
  { requestId, startsAt }: TakenSlot,
  reason: FallenBooking['reason'],
): FallenBooking {
  const { zone } = calendar.schedule
  const local = formatLocal(zone, startsAt / minuteMillis)
  return { requestId, provider: provider.ref, startsAt, local, timeZone: zone.name, reason }
}
