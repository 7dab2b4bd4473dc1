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

interface DirectorySources extends ContentsSources {
  readonly feed: DirectoryFeed
  readonly clock: Clock
}

/** Changes to more providers than this are applied to a copy. Each portion has this many providers. */
const portion = 500

/** Past slots are kept this long, because a clock may be set back a little. */
const keptMillis = 7 * dayMinutes * minuteMillis

/**
 * The in-memory read model of partner keys, regions, providers, licenses, schedules and taken slots.
 * After the first load, the directory follows the feed of changes.
 */
export class Directory {
  #contents: Contents
  #reading: Promise<void> | null = null
  /** The feed's stamp, taken before the last completed read. */
  #stamp: number | null = null

  private constructor(private readonly sources: DirectorySources) {
    this.#contents = new Contents(sources)
  }

  /** @throws Refusal database_unusable if a record other than a provider cannot be read */
  static async load(sources: DirectorySources): Promise<Directory> {
    const directory = new Directory(sources)
    await directory.catchUp()
    return directory
  }

  /** The stored version that this directory shows. */
  get version(): Version {
    return this.#contents.version as Version
  }

  /** Applies everything that any process has committed. Returns undefined if nothing is new. */
  catchUp(): Promise<void> | undefined {
    return this.#isCurrent() ? undefined : this.#catchUp()
  }

  #isCurrent(): boolean {
    const stamp = this.sources.feed.stamp?.() ?? null
    return stamp !== null && stamp === this.#stamp
  }

  async #catchUp(): Promise<void> {
    // Callers that arrive during a read share the next read, because the current read may miss their changes. If the
    // current read fails, these callers get the same error.
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
    // Read the stamp first, because a commit during the read changes it.
    const stamp = feed.stamp?.() ?? null
    const after = clock.now() - keptMillis
    const changes = await feed.changesSince(this.#contents.version, after)
    if (changes) {
      await this.#show(changes)
      this.#contents.forgetPast(after)
    }
    this.#stamp = stamp
  }

  /** Readers see either the whole old state or the whole new state. */
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

  /** Returns all keys ever issued, in order of issue. */
  listKeys(): PartnerKey[] {
    return [...this.#contents.keys.values()]
  }

  findKey(kid: string): PartnerKey | null {
    return this.#contents.keys.get(kid) ?? null
  }

  findRegion(id: number): Region | null {
    const region = this.#contents.regions.get(id)
    return region?.active ? region : null
  }

  /** Returns a country's active regions by code. The array is the same object until regions change. */
  listRegions(countryCode: string): readonly Region[] {
    const known = this.#contents.regionsOfCountries.get(countryCode)
    if (known) return known
    const regions = [...this.#contents.regions.values()]
      .filter((region) => region.active && region.countryCode === countryCode)
      .sort((a, b) => (a.code < b.code ? -1 : 1))
    this.#contents.regionsOfCountries.set(countryCode, regions)
    return regions
  }

  /** Returns all regions by id, including deactivated ones. */
  listAllRegions(): Region[] {
    return [...this.#contents.regions.values()].sort((a, b) => a.id - b.id)
  }

  /** Returns the providers licensed in a region at `now` (ms). Returns the same object until search results can change. */
  rosterOf(regionId: number, now: number): Roster {
    return this.#contents.licensesIn(regionId).rosterAt(now)
  }

  /** Returns the active providers licensed in a region at `now` (ms), by id. */
  listLicensed(regionId: number, now: number): Listing[] {
    return this.rosterOf(regionId, now).ids.flatMap((id) => this.findListing(id) ?? [])
  }

  listListings(): Listing[] {
    return [...this.#contents.listings.values()]
      .filter(({ provider }) => isWorking(provider))
      .sort((a, b) => a.provider.id - b.provider.id)
  }

  /** Returns all readable providers by id, including deactivated providers and providers left out of searches. */
  listProviders(): Provider[] {
    return [...this.#contents.providers.values()].sort((a, b) => a.id - b.id)
  }

  /** Returns the providers left out of searches because their record or time zone cannot be used. */
  listUnlisted(): UnlistedProvider[] {
    return [...this.#contents.unlisted.values()].sort((a, b) => a.id - b.id)
  }

  /** Returns the providers whose record cannot be read. Only their id, ref and state are known. */
  listUnreadable(): UnreadableProvider[] {
    return this.listUnlisted().filter(({ id }) => !this.#contents.providers.has(id))
  }

  /** Returns the listing of an active or deactivated provider. */
  findAnyListing(providerId: number): Listing | null {
    return this.#contents.listings.get(providerId) ?? null
  }

  /** Returns the listing that a changed provider would have; null if the time zone is unknown. */
  asListed(provider: Provider): Listing | null {
    const zone = this.sources.findZone(provider.timeZone)
    return zone && toListing(provider, zone, this.#contents.takenOf(provider.id), new CompiledOnce())
  }

  findListing(providerId: number): Listing | null {
    const listing = this.#contents.listings.get(providerId)
    return listing && isWorking(listing.provider) ? listing : null
  }

  /** Returns the free slots of a provider in a region at `now` (ms). */
  availabilityIn(listing: Listing, regionId: number, now: number): Availability {
    return availabilityAt(listing.calendar, licensesIn(regionId, listing), now)
  }

  /** Returns the free slots that start within `stretch` (minutes). Faster than availabilityIn. */
  slotsWithin(listing: Listing, regionId: number, stretch: Interval, now: number): number[] {
    return slotsWithin(listing.calendar, licensesIn(regionId, listing), stretch, now)
  }

  /** Returns the free slots of a provider in all active regions at `now` (ms). */
  availabilityAnywhere(listing: Listing, now: number): Availability {
    return availabilityAt(listing.calendar, this.#licensedTime(listing), now)
  }

  /** Returns true if a slot is free in any active region. `startsAt` and `now` are in ms. */
  isOffered(listing: Listing, startsAt: number, now: number): boolean {
    return isAvailableAt(listing.calendar, this.#licensedTime(listing), startsAt / minuteMillis, now)
  }

  #licensedTime({ licenses }: Listing): Interval[] {
    return licenses
      .filter(({ regionId }) => this.#contents.regions.get(regionId)?.active)
      .map(({ interval }) => interval)
  }
}

/** Runs steps. Yields to the event loop after each portion. */
async function inPortions(steps: Iterable<void>): Promise<void> {
  let taken = 0
  for (const _ of steps) {
    if (++taken % portion === 0) await nextTurn()
  }
}
