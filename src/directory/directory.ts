import type { PartnerKey } from '../domain/partner'
import type { Provider } from '../domain/provider'
import type { Region } from '../domain/region'
import type { DirectoryChanges, Store, TakenSlot } from '../domain/store'
import { type Availability, availabilityAt, type Calendar } from '../scheduling/availability'
import { minuteMillis } from '../scheduling/calendar'
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
  /** The last answer for each region asked about, and for `anyRegion`. */
  readonly answers: Map<number, Availability>
}

// A booking names no region; ids of regions begin at 1.
const anyRegion = 0

/**
 * The read model: who may call, who is licensed where, who speaks what, who is free when. It is loaded from
 * the Store once and follows its record of changes; nothing else asks the database for these.
 */
export class Directory {
  /** The Store's version that all the rest shows. */
  version = 0
  #keys = new Map<string, PartnerKey>()
  #regions = new Map<number, Region>()
  #listings = new Map<number, Listing>()
  /** Listings by region of license, in order of provider id. */
  #licensedIn = new Map<number, Listing[]>()
  #catchingUp: Promise<void> | null = null

  private constructor(
    private readonly store: Store,
    private readonly findZone: (name: string) => TimeZone | null,
  ) {}

  static async load(store: Store, findZone: (name: string) => TimeZone | null): Promise<Directory> {
    const directory = new Directory(store, findZone)
    directory.#apply(await store.readDirectory(null))
    return directory
  }

  /** Brings the directory up to what is stored at this moment, by this process or another. */
  async catchUp(): Promise<void> {
    while ((await this.store.directoryVersion()) > this.version) {
      // Those who notice the same changes wait for one reading of them.
      this.#catchingUp ??= this.store
        .readDirectory(this.version)
        .then((changes) => this.#apply(changes))
        .finally(() => {
          this.#catchingUp = null
        })
      await this.#catchingUp
    }
  }

  knowsZone(name: string): boolean {
    return this.findZone(name) !== null
  }

  findKey(kid: string): PartnerKey | null {
    return this.#keys.get(kid) ?? null
  }

  /** The active region of an id. */
  findRegion(id: number): Region | null {
    const region = this.#regions.get(id)
    return region?.active ? region : null
  }

  /** A country's active regions in order of their codes. */
  listRegions(countryCode: string): Region[] {
    return [...this.#regions.values()]
      .filter((region) => region.active && region.countryCode === countryCode)
      .sort((a, b) => (a.code < b.code ? -1 : 1))
  }

  /** All regions, deactivated ones too, in order of id. */
  listAllRegions(): Region[] {
    return [...this.#regions.values()].sort((a, b) => a.id - b.id)
  }

  /** The active providers who hold a license in the region at `now` (ms), in order of id. */
  listLicensed(regionId: number, now: number): Listing[] {
    const minute = now / minuteMillis
    return (this.#licensedIn.get(regionId) ?? []).filter(
      ({ provider, licenses }) =>
        provider.active &&
        licenses.some(
          ({ regionId: held, interval }) =>
            held === regionId && interval.start <= minute && minute < interval.end,
        ),
    )
  }

  /** All active providers in order of id. */
  listListings(): Listing[] {
    return [...this.#listings.values()]
      .filter(({ provider }) => provider.active)
      .sort((a, b) => a.provider.id - b.provider.id)
  }

  /** All providers in order of id, deactivated ones too. */
  listProviders(): Provider[] {
    return [...this.#listings.values()].map(({ provider }) => provider).sort((a, b) => a.id - b.id)
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
  availabilityIn(listing: Listing, regionId: number, now: number): Availability {
    return this.#availability(listing, regionId, (held) => held === regionId, now)
  }

  /** The slots that can be had of a provider in any active region, at `now` (ms). */
  availabilityAnywhere(listing: Listing, now: number): Availability {
    const isActive = (regionId: number) => this.#regions.get(regionId)?.active ?? false
    return this.#availability(listing, anyRegion, isActive, now)
  }

  /** Whether the slot that starts at `startsAt` can be had of a provider in any active region; ms both. */
  isOffered(listing: Listing, startsAt: number, now: number): boolean {
    return this.availabilityAnywhere(listing, now).slots.includes(startsAt / minuteMillis)
  }

  #availability(
    { calendar, licenses, answers }: Listing,
    region: number,
    counts: (regionId: number) => boolean,
    now: number,
  ): Availability {
    const remembered = answers.get(region)
    if (remembered && remembered.heldFrom <= now && now < remembered.holdsUntil) return remembered
    const licensed = licenses.filter(({ regionId }) => counts(regionId)).map(({ interval }) => interval)
    const availability = availabilityAt(calendar, licensed, now)
    answers.set(region, availability)
    return availability
  }

  #apply(changes: DirectoryChanges): void {
    if (changes.keys) this.#keys = new Map(changes.keys.map((key) => [key.kid, key]))
    for (const provider of changes.providers) {
      const taken = changes.taken.get(provider.id)
      this.#replace(this.#list(provider, taken ?? this.#takenOf(provider.id)))
    }
    for (const [id, taken] of changes.taken) {
      const listing = this.#listings.get(id)
      if (listing) this.#replace(withTaken(listing, taken))
    }
    if (changes.regions) {
      this.#regions = new Map(changes.regions.map((region) => [region.id, region]))
      // Whether a region is active decides what a booking in any region can have.
      for (const { answers } of this.#listings.values()) answers.delete(anyRegion)
    }
    this.version = changes.version
  }

  #takenOf(providerId: number): readonly TakenSlot[] {
    return this.#listings.get(providerId)?.taken ?? []
  }

  #list(provider: Provider, taken: readonly TakenSlot[]): Listing {
    const zone = this.findZone(provider.timeZone)
    if (!zone) throw new Error(`the zone data does not know the zone of provider ${provider.ref}`)
    return {
      provider,
      calendar: {
        schedule: compileSchedule(provider, zone),
        taken: toIntervals(taken),
        minimumNoticeMinutes: provider.minimumNoticeMinutes,
      },
      taken,
      licenses: compileLicenses(provider.licenses, zone),
      answers: new Map(),
    }
  }

  #replace(listing: Listing): void {
    const { id } = listing.provider
    const before = this.#listings.get(id)
    this.#listings.set(id, listing)
    const regionsOf = ({ licenses }: Listing) => new Set(licenses.map(({ regionId }) => regionId))
    const after = regionsOf(listing)
    for (const regionId of before ? regionsOf(before) : []) {
      if (after.has(regionId)) continue
      const listed = this.#licensedIn.get(regionId) ?? []
      listed.splice(positionOf(id, listed), 1)
    }
    for (const regionId of after) {
      const listed = this.#licensedIn.get(regionId) ?? []
      const position = positionOf(id, listed)
      listed.splice(position, listed[position]?.provider.id === id ? 1 : 0, listing)
      this.#licensedIn.set(regionId, listed)
    }
  }
}

/** Minutes east of UTC that a provider's clock is at an instant (ms), by the zone data in use. */
export function localOffsetAt({ calendar }: Listing, at: number): number {
  return offsetAt(calendar.schedule.zone, Math.floor(at / minuteMillis))
}

function withTaken(listing: Listing, taken: readonly TakenSlot[]): Listing {
  return {
    ...listing,
    calendar: { ...listing.calendar, taken: toIntervals(taken) },
    taken,
    answers: new Map(),
  }
}

function toIntervals(taken: readonly TakenSlot[]): Interval[] {
  return taken.map(({ startsAt, endsAt }) => ({ start: startsAt / minuteMillis, end: endsAt / minuteMillis }))
}

/** Where the listing of a provider stands, or would have to stand, among listings in order of id. */
function positionOf(id: number, listings: readonly Listing[]): number {
  let low = 0
  let high = listings.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((listings[middle] as Listing).provider.id < id) low = middle + 1
    else high = middle
  }
  return low
}
