import type { PartnerKey } from '../domain/partner'
import type {
  DirectoryChanges,
  DirectoryFeed,
  UnreadableProvider,
  Version,
} from '../domain/ports/directory-feed'
import type { Clock } from '../domain/ports/time'
import { isWorking, type Provider } from '../domain/provider'
import type { Region } from '../domain/region'
import { type Availability, availabilityAt, isAvailableAt, slotsWithin } from '../scheduling/availability'
import { dayMinutes, minuteMillis } from '../scheduling/calendar'
import type { Interval } from '../scheduling/interval'
import { CompiledOnce } from './compile'
import { Contents, type ContentsSources, nextTurn } from './contents'
import { type Listing, licensesIn, toListing, type UnlistedProvider } from './listing'
import type { Roster } from './roster'

/** What the directory is made from. */
export interface DirectorySources extends ContentsSources {
  readonly feed: DirectoryFeed
  readonly clock: Clock
}

/** How many providers are changed at once: more are changed aside, and others get their turn after each portion. */
const portion = 500

/** How long slots stay known that are over: a clock may be set back a little. */
const keptMillis = 7 * dayMinutes * minuteMillis

/**
 * The read model: who may call, who is licensed where, who speaks what, who is free when. It is loaded once and
 * follows the feed of changes; nothing else asks the database for these.
 */
export class Directory {
  #contents: Contents
  #reading: Promise<void> | null = null
  /** The feed's stamp when all that was committed by then was shown. */
  #stamp: number | null = null

  private constructor(private readonly sources: DirectorySources) {
    this.#contents = new Contents(sources)
  }

  /** @throws Refusal database_unusable naming a record, other than a provider's, that cannot be read */
  static async load(sources: DirectorySources): Promise<Directory> {
    const directory = new Directory(sources)
    await directory.catchUp()
    return directory
  }

  /** The version of what is stored that all the rest shows. */
  get version(): Version {
    return this.#contents.version as Version
  }

  /**
   * Brings the directory up to what is stored at this moment, by this process or another. Undefined where it is so
   * already: who asks for each request has nothing to wait for.
   */
  catchUp(): Promise<void> | undefined {
    return this.#isCurrent() ? undefined : this.#catchUp()
  }

  #isCurrent(): boolean {
    const stamp = this.sources.feed.stamp?.() ?? null
    return stamp !== null && stamp === this.#stamp
  }

  async #catchUp(): Promise<void> {
    // A reading under way may have begun before what this caller has to see: whoever comes meanwhile shares the next. Where
    // it fails, the database cannot be read: whoever waits is told so, and not made to wait once more.
    if (this.#reading) {
      await this.#reading
      if (this.#isCurrent()) return
    }
    this.#reading ??= this.#read().finally(() => {
      this.#reading = null
    })
    await this.#reading
  }

  async #read(): Promise<void> {
    const { feed, clock } = this.sources
    // Before all the rest: what is committed meanwhile has another.
    const stamp = feed.stamp?.() ?? null
    const after = clock.now() - keptMillis
    const changes = await feed.changesSince(this.#contents.version, after)
    if (changes) {
      await this.#show(changes)
      this.#contents.forgetPast(after)
    }
    this.#stamp = stamp
  }

  /** Whoever asks meanwhile is shown all that was, and then all that is. */
  async #show(changes: DirectoryChanges): Promise<void> {
    const { providers, unreadable, taken, booked } = changes
    if (providers.length + unreadable.length + taken.size + (booked?.size ?? 0) <= portion) {
      for (const _ of this.#contents.apply(changes));
      return
    }
    const next = await this.#contents.copy()
    await inPortions(next.apply(changes))
    this.#contents = next
  }

  knowsZone(name: string): boolean {
    return this.sources.findZone(name) !== null
  }

  /** All keys that partners ever had, in order of issue. */
  listKeys(): PartnerKey[] {
    return [...this.#contents.keys.values()]
  }

  findKey(kid: string): PartnerKey | null {
    return this.#contents.keys.get(kid) ?? null
  }

  /** The active region of an id. */
  findRegion(id: number): Region | null {
    const region = this.#contents.regions.get(id)
    return region?.active ? region : null
  }

  /** A country's active regions in order of their codes: the same object for as long as regions are the same. */
  listRegions(countryCode: string): readonly Region[] {
    const known = this.#contents.regionsOfCountries.get(countryCode)
    if (known) return known
    const regions = [...this.#contents.regions.values()]
      .filter((region) => region.active && region.countryCode === countryCode)
      .sort((a, b) => (a.code < b.code ? -1 : 1))
    this.#contents.regionsOfCountries.set(countryCode, regions)
    return regions
  }

  /** All regions, deactivated ones too, in order of id. */
  listAllRegions(): Region[] {
    return [...this.#contents.regions.values()].sort((a, b) => a.id - b.id)
  }

  /**
   * Who is licensed in a region at `now` (ms): the same object for as long as those are the same, and speak the same languages
   * and hold sessions in the same ways.
   */
  rosterOf(regionId: number, now: number): Roster {
    return this.#contents.licensesIn(regionId).rosterAt(now)
  }

  /** The active providers who hold a license in the region at `now` (ms), in order of id. */
  listLicensed(regionId: number, now: number): Listing[] {
    return this.rosterOf(regionId, now).ids.flatMap((id) => this.findListing(id) ?? [])
  }

  /** All active providers in order of id. */
  listListings(): Listing[] {
    return [...this.#contents.listings.values()]
      .filter(({ provider }) => isWorking(provider))
      .sort((a, b) => a.provider.id - b.provider.id)
  }

  /** All providers in order of id, deactivated ones and those who are left out of searches too. */
  listProviders(): Provider[] {
    return [...this.#contents.providers.values()].sort((a, b) => a.id - b.id)
  }

  /** Those who are left out of searches since their record cannot be read or used. */
  listUnlisted(): UnlistedProvider[] {
    return [...this.#contents.unlisted.values()].sort((a, b) => a.id - b.id)
  }

  /** Those of whom nothing is known but what they are called. */
  listUnreadable(): UnreadableProvider[] {
    return this.listUnlisted().filter(({ id }) => !this.#contents.providers.has(id))
  }

  /** A provider, active or not. */
  findAnyListing(providerId: number): Listing | null {
    return this.#contents.listings.get(providerId) ?? null
  }

  /** What would be listed of a provider who is as told, with the slots that are taken of them; null for one who cannot be. */
  asListed(provider: Provider): Listing | null {
    const zone = this.sources.findZone(provider.timeZone)
    return zone && toListing(provider, zone, this.#contents.takenOf(provider.id), new CompiledOnce())
  }

  /** An active provider. */
  findListing(providerId: number): Listing | null {
    const listing = this.#contents.listings.get(providerId)
    return listing && isWorking(listing.provider) ? listing : null
  }

  /** The slots that can be had of a provider in a region, at `now` (ms). */
  availabilityIn(listing: Listing, regionId: number, now: number): Availability {
    return availabilityAt(listing.calendar, licensesIn(regionId, listing), now)
  }

  /** Those of them that start in a stretch of time (minutes), in a fraction of the time if that is short. */
  slotsWithin(listing: Listing, regionId: number, stretch: Interval, now: number): number[] {
    return slotsWithin(listing.calendar, licensesIn(regionId, listing), stretch, now)
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
      .filter(({ regionId }) => this.#contents.regions.get(regionId)?.active)
      .map(({ interval }) => interval)
  }
}

/** Takes steps, and lets the event loop have a turn after each portion of them. */
async function inPortions(steps: Iterable<void>): Promise<void> {
  let taken = 0
  for (const _ of steps) {
    if (++taken % portion === 0) await nextTurn()
  }
}
