import type { Clock } from '../domain/clock'
import type {
  DirectoryChanges,
  DirectoryFeed,
  TakenSlot,
  UnreadableProvider,
  Version,
} from '../domain/directory-feed'
import type { PartnerKey } from '../domain/partner'
import type { Provider } from '../domain/provider'
import type { Region } from '../domain/region'
import { type Availability, availabilityAt, type Calendar, isAvailableAt } from '../scheduling/availability'
import { dayMinutes, minuteMillis } from '../scheduling/calendar'
import type { Interval } from '../scheduling/interval'
import { offsetAt, type TimeZone } from '../scheduling/time-zone'
import { compileLicenses, compileSchedule, type LicensedTime } from './compile'

/** A provider as they are listed. Replaced, never changed: what is worked out from one can be kept beside it. */
export interface Listing {
  readonly provider: Provider
  readonly calendar: Calendar
  /** What the calendar has as taken, with the requests that hold it. */
  readonly taken: readonly TakenSlot[]
  readonly licenses: readonly LicensedTime[]
}

/** The active providers who hold a license in a region. Replaced, never changed, as soon as others do. */
export interface Roster {
  /** In order. */
  readonly ids: readonly number[]
  /** ms: from then on it is so (inclusive), until then (exclusive). */
  readonly heldFrom: number
  readonly holdsUntil: number
}

/** A provider who is left out of all that partners see, and why. */
export interface UnlistedProvider extends UnreadableProvider {
  readonly fault: string
}

/** What the directory is made from. */
export interface DirectorySources {
  readonly feed: DirectoryFeed
  readonly findZone: (name: string) => TimeZone | null
  readonly clock: Clock
  /** Is told of each provider who is left out. */
  readonly report: (fault: string) => void
}

/** How long slots stay known that are over: a clock may be set back a little. */
const keptMillis = 7 * dayMinutes * minuteMillis

/**
 * The read model: who may call, who is licensed where, who speaks what, who is free when. It is loaded once and
 * follows the feed of changes; nothing else asks the database for these.
 */
export class Directory {
  #version: Version | null = null
  #keys = new Map<string, PartnerKey>()
  #regions = new Map<number, Region>()
  /** Active ones, of the countries that were asked about: those that there are, since others are refused. */
  #regionsOfCountries = new Map<string, readonly Region[]>()
  /** All providers who can be read, those without a listing too. */
  #providers = new Map<number, Provider>()
  #listings = new Map<number, Listing>()
  /** By provider, those without a listing too. */
  #taken = new Map<number, readonly TakenSlot[]>()
  #unlisted = new Map<number, UnlistedProvider>()
  /** Ids of listings by region of license, be it of another time, in order. */
  #licensedIn = new Map<number, number[]>()
  /** By region, until a listing of it is replaced. */
  #rosters = new Map<number, Roster>()
  #reading: Promise<void> | null = null

  private constructor(private readonly sources: DirectorySources) {}

  /** @throws Refusal database_unusable naming a record, other than a provider's, that cannot be read */
  static async load(sources: DirectorySources): Promise<Directory> {
    const directory = new Directory(sources)
    await directory.catchUp()
    return directory
  }

  /** The version of what is stored that all the rest shows. */
  get version(): Version {
    return this.#version as Version
  }

  /** Brings the directory up to what is stored at this moment, by this process or another. */
  async catchUp(): Promise<void> {
    // A reading under way may have begun before what this caller has to see: whoever comes meanwhile shares the next.
    if (this.#reading) await this.#reading.catch(() => {})
    this.#reading ??= this.#read().finally(() => {
      this.#reading = null
    })
    await this.#reading
  }

  async #read(): Promise<void> {
    const { feed, clock } = this.sources
    const changes = await feed.changesSince(this.#version, clock.now() - keptMillis)
    if (changes) this.#apply(changes)
  }

  knowsZone(name: string): boolean {
    return this.sources.findZone(name) !== null
  }

  /** All keys that partners ever had, in order of issue. */
  listKeys(): PartnerKey[] {
    return [...this.#keys.values()]
  }

  findKey(kid: string): PartnerKey | null {
    return this.#keys.get(kid) ?? null
  }

  /** The active region of an id. */
  findRegion(id: number): Region | null {
    const region = this.#regions.get(id)
    return region?.active ? region : null
  }

  /** A country's active regions in order of their codes: the same object for as long as regions are the same. */
  listRegions(countryCode: string): readonly Region[] {
    const known = this.#regionsOfCountries.get(countryCode)
    if (known) return known
    const regions = [...this.#regions.values()]
      .filter((region) => region.active && region.countryCode === countryCode)
      .sort((a, b) => (a.code < b.code ? -1 : 1))
    this.#regionsOfCountries.set(countryCode, regions)
    return regions
  }

  /** All regions, deactivated ones too, in order of id. */
  listAllRegions(): Region[] {
    return [...this.#regions.values()].sort((a, b) => a.id - b.id)
  }

  /** Who is licensed in a region at `now` (ms): the same object for as long as that are the same. */
  rosterOf(regionId: number, now: number): Roster {
    const known = this.#rosters.get(regionId)
    if (known && known.heldFrom <= now && now < known.holdsUntil) return known
    const roster = this.#makeRoster(regionId, Math.floor(now / minuteMillis))
    this.#rosters.set(regionId, roster)
    return roster
  }

  #makeRoster(regionId: number, minute: number): Roster {
    let changesAt = Infinity
    const ids = (this.#licensedIn.get(regionId) ?? []).filter((id) => {
      let isLicensed = false
      for (const { regionId: held, interval } of this.findListing(id)?.licenses ?? []) {
        if (held !== regionId || interval.end <= minute) continue
        const isHeld = interval.start <= minute
        changesAt = Math.min(changesAt, isHeld ? interval.end : interval.start)
        isLicensed ||= isHeld
      }
      return isLicensed
    })
    return { ids, heldFrom: minute * minuteMillis, holdsUntil: changesAt * minuteMillis }
  }

  /** The active providers who hold a license in the region at `now` (ms), in order of id. */
  listLicensed(regionId: number, now: number): Listing[] {
    return this.rosterOf(regionId, now).ids.flatMap((id) => this.findListing(id) ?? [])
  }

  /** All active providers in order of id. */
  listListings(): Listing[] {
    return [...this.#listings.values()]
      .filter(({ provider }) => provider.active)
      .sort((a, b) => a.provider.id - b.provider.id)
  }

  /** All providers in order of id, deactivated ones and those who are left out of searches too. */
  listProviders(): Provider[] {
    return [...this.#providers.values()].sort((a, b) => a.id - b.id)
  }

  /** Those who are left out of searches since their record cannot be read or used. */
  listUnlisted(): UnlistedProvider[] {
    return [...this.#unlisted.values()].sort((a, b) => a.id - b.id)
  }

  /** Those of whom nothing is known but what they are called. */
  listUnreadable(): UnreadableProvider[] {
    return this.listUnlisted().filter(({ id }) => !this.#providers.has(id))
  }

  /** A provider, active or not. */
  findAnyListing(providerId: number): Listing | null {
    return this.#listings.get(providerId) ?? null
  }

  /** An active provider. */
  findListing(providerId: number): Listing | null {
    const listing = this.#listings.get(providerId)
    return listing?.provider.active ? listing : null
  }

  /** The slots that can be had of a provider in a region, at `now` (ms). */
  availabilityIn({ calendar, licenses }: Listing, regionId: number, now: number): Availability {
    const held = licenses.filter((license) => license.regionId === regionId)
    return availabilityAt(
      calendar,
      held.map(({ interval }) => interval),
      now,
    )
  }

  /** The slots that can be had of a provider in any active region, at `now` (ms). */
  availabilityAnywhere(listing: Listing, now: number): Availability {
    return availabilityAt(listing.calendar, this.#licensedTime(listing), now)
  }

  /** Whether the slot that starts at `startsAt` can be had of a provider in any active region; ms both. */
  isOffered(listing: Listing, startsAt: number, now: number): boolean {
    return isAvailableAt(listing.calendar, this.#licensedTime(listing), startsAt / minuteMillis, now)
  }

  /** When a provider's licenses hold, of the regions that are active. */
  #licensedTime({ licenses }: Listing): Interval[] {
    return licenses
      .filter(({ regionId }) => this.#regions.get(regionId)?.active)
      .map(({ interval }) => interval)
  }

  #apply(changes: DirectoryChanges): void {
    if (changes.keys) this.#keys = new Map(changes.keys.map((key) => [key.kid, key]))
    for (const [id, taken] of changes.taken) {
      this.#taken.set(id, taken)
      const listing = this.#listings.get(id)
      // Nobody is licensed otherwise by it, so the rosters stay.
      if (listing) this.#listings.set(id, withTaken(listing, taken))
    }
    for (const provider of changes.providers) {
      this.#providers.set(provider.id, provider)
      this.#tryToList(provider, this.#taken.get(provider.id) ?? [])
    }
    for (const unreadable of changes.unreadable) {
      this.#providers.delete(unreadable.id)
      this.#leaveOut({ ...unreadable, fault: 'the record cannot be read' })
    }
    if (changes.regions) {
      this.#regions = new Map(changes.regions.map((region) => [region.id, region]))
      this.#regionsOfCountries.clear()
    }
    this.#version = changes.version
  }

  /** One provider who cannot be listed must not keep the others from being so. */
  #tryToList(provider: Provider, taken: readonly TakenSlot[]): void {
    const { id, ref, active, timeZone } = provider
    const zone = this.sources.findZone(timeZone)
    if (!zone) {
      this.#leaveOut({ id, ref, active, fault: `the zone data does not know the time zone ${timeZone}` })
      return
    }
    try {
      this.#replace(toListing(provider, zone, taken))
      this.#unlisted.delete(id)
    } catch {
      this.#leaveOut({ id, ref, active, fault: 'the record cannot be read' })
    }
  }

  #leaveOut(unlisted: UnlistedProvider): void {
    const { id, ref, active, fault } = unlisted
    const isKnown = this.#unlisted.get(id)?.fault === fault
    this.#unlist(id)
    this.#unlisted.set(id, unlisted)
    if (active && !isKnown) this.sources.report(`provider ${ref} is left out of searches: ${fault}`)
  }

  #unlist(id: number): void {
    this.#moveLicenses(id, this.#listings.get(id), undefined)
    this.#listings.delete(id)
  }

  #replace(listing: Listing): void {
    const { id } = listing.provider
    this.#moveLicenses(id, this.#listings.get(id), listing)
    this.#listings.set(id, listing)
  }

  #moveLicenses(id: number, before: Listing | undefined, after: Listing | undefined): void {
    const [left, entered] = [regionsOf(before), regionsOf(after)]
    for (const regionId of left.union(entered)) {
      this.#rosters.delete(regionId)
      if (left.has(regionId) === entered.has(regionId)) continue
      const ids = this.#licensedIn.get(regionId) ?? []
      if (left.has(regionId)) ids.splice(positionOf(id, ids), 1)
      else ids.splice(positionOf(id, ids), 0, id)
      this.#licensedIn.set(regionId, ids)
    }
  }
}

function regionsOf(listing: Listing | undefined): Set<number> {
  return new Set(listing?.licenses.map(({ regionId }) => regionId))
}

function toListing(provider: Provider, zone: TimeZone, taken: readonly TakenSlot[]): Listing {
  return {
    provider,
    calendar: {
      schedule: compileSchedule(provider, zone),
      taken: taken.map(toInterval),
      minimumNoticeMinutes: provider.minimumNoticeMinutes,
    },
    taken,
    licenses: compileLicenses(provider.licenses, zone),
  }
}

/** Minutes east of UTC that a provider's clock is at an instant (ms), by the zone data in use. */
export function localOffsetAt({ calendar }: Listing, at: number): number {
  return offsetAt(calendar.schedule.zone, Math.floor(at / minuteMillis))
}

/** A listing of which these slots are taken, and no others. */
export function withTaken(listing: Listing, taken: readonly TakenSlot[]): Listing {
  const calendar = { ...listing.calendar, taken: taken.map(toInterval) }
  return { ...listing, calendar, taken }
}

/** When a slot is taken, in the engine's minutes. */
export function toInterval({ startsAt, endsAt }: TakenSlot): Interval {
  return { start: startsAt / minuteMillis, end: endsAt / minuteMillis }
}

/** Where an id stands, or would have to stand, among ids in order. */
function positionOf(id: number, ids: readonly number[]): number {
  let low = 0
  let high = ids.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((ids[middle] as number) < id) low = middle + 1
    else high = middle
  }
  return low
}
