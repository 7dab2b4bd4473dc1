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
import type { LicensedTime } from './compile'
import { CompiledOnce } from './compiled-once'

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

/** How many providers are changed at once: more are changed aside, and others get their turn after each portion. */
const portion = 500

/** Of how many providers the taken slots are looked through when something has changed: more than a booking adds. */
const lookedThrough = 16

const nothingTaken: readonly never[] = []

/**
 * The read model: who may call, who is licensed where, who speaks what, who is free when. It is loaded once and
 * follows the feed of changes; nothing else asks the database for these.
 */
export class Directory {
  #version: Version | null = null
  #keys = new Map<string, PartnerKey>()
  #regions = new Map<number, Region>()
  /** All providers who can be read, those without a listing too. */
  #providers = new Map<number, Provider>()
  #listings = new Map<number, Listing>()
  /** By provider, those without a listing too; nothing of a provider of whom nothing is taken. */
  #taken = new Map<number, readonly TakenSlot[]>()
  /** How far the taken slots were looked through for what is long over. */
  #looked: Iterator<[number, readonly TakenSlot[]]> = [].values()
  #unlisted = new Map<number, UnlistedProvider>()
  /** Listings by region of license, in order of provider id. */
  #licensedIn = new Map<number, Listing[]>()
  /** Who was found to be licensed in a region, and in which minute. */
  #licensedAt = new Map<number, { readonly minute: number; readonly listings: readonly Listing[] }>()
  #reading: Promise<void> | null = null
  /** The feed's stamp when all that was committed by then was shown. */
  #stamp: number | null = null

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
    // A reading under way may have begun before what this caller has to see: whoever comes meanwhile shares the next.
    if (this.#reading) {
      await this.#reading.catch(() => {})
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
    const changes = await feed.changesSince(this.#version, after)
    if (changes) {
      await this.#show(changes)
      this.#forgetPast(after)
    }
    this.#stamp = stamp
  }

  /** Whoever asks meanwhile is shown all that was, and then all that is. */
  async #show(changes: DirectoryChanges): Promise<void> {
    const { providers, unreadable, taken } = changes
    if (providers.length + unreadable.length + taken.size <= portion) {
      for (const _ of this.#applying(changes));
      return
    }
    const next = this.#copy()
    await inPortions(next.#applying(changes))
    this.#become(next)
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
  listLicensed(regionId: number, now: number): readonly Listing[] {
    const minute = Math.floor(now / minuteMillis)
    const found = this.#licensedAt.get(regionId)
    if (found?.minute === minute) return found.listings
    const listings = (this.#licensedIn.get(regionId) ?? []).filter(
      ({ provider, licenses }) =>
        provider.active &&
        licenses.some(
          ({ regionId: held, interval }) =>
            held === regionId && interval.start <= minute && minute < interval.end,
        ),
    )
    this.#licensedAt.set(regionId, { minute, listings })
    return listings
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
  availabilityIn(listing: Listing, regionId: number, now: number): Availability {
    return this.#availability(listing, regionId, (held) => held === regionId, now)
  }

  /** The slots that can be had of a provider in any active region, at `now` (ms). */
  availabilityAnywhere(listing: Listing, now: number): Availability {
    return this.#availability(listing, anyRegion, this.#isActive, now)
  }

  /** Whether the slot that starts at `startsAt` can be had of a provider in any active region; ms both. */
  isOffered(listing: Listing, startsAt: number, now: number): boolean {
    const licensed = licensedTime(listing, this.#isActive)
    return isAvailableAt(listing.calendar, licensed, startsAt / minuteMillis, now)
  }

  readonly #isActive = (regionId: number) => this.#regions.get(regionId)?.active ?? false

  #availability(
    listing: Listing,
    region: number,
    counts: (regionId: number) => boolean,
    now: number,
  ): Availability {
    const { calendar, answers } = listing
    const remembered = answers.get(region)
    if (remembered && remembered.heldFrom <= now && now < remembered.holdsUntil) return remembered
    const availability = availabilityAt(calendar, licensedTime(listing, counts), now)
    answers.set(region, availability)
    return availability
  }

  /** Each step takes what a provider takes. */
  *#applying(changes: DirectoryChanges): Generator<void> {
    this.#licensedAt.clear()
    if (changes.keys) this.#keys = new Map(changes.keys.map((key) => [key.kid, key]))
    for (const [id, taken] of changes.taken) {
      this.#take(id, taken)
      yield
    }
    const compiled = new CompiledOnce()
    for (const provider of changes.providers) {
      this.#providers.set(provider.id, provider)
      this.#tryToList(provider, this.#takenOf(provider.id), compiled)
      yield
    }
    for (const id of changes.taken.keys()) {
      const listing = this.#listings.get(id)
      if (listing && listing.taken !== this.#takenOf(id)) this.#replace(withTaken(listing, this.#takenOf(id)))
      yield
    }
    for (const unreadable of changes.unreadable) {
      this.#providers.delete(unreadable.id)
      this.#leaveOut({ ...unreadable, fault: 'the record cannot be read' })
      yield
    }
    if (changes.regions) {
      this.#regions = new Map(changes.regions.map((region) => [region.id, region]))
      // Whether a region is active decides what a booking in any region can have.
      for (const { answers } of this.#listings.values()) answers.delete(anyRegion)
    }
    this.#version = changes.version
  }

  #take(id: number, taken: readonly TakenSlot[]): void {
    if (taken.length > 0) this.#taken.set(id, taken)
    else this.#taken.delete(id)
  }

  #takenOf(id: number): readonly TakenSlot[] {
    return this.#taken.get(id) ?? nothingTaken
  }

  /** Forgets what was over by `after` (ms) of some providers, others each time: all in turn, and never many at once. */
  #forgetPast(after: number): void {
    for (let count = 0; count < lookedThrough; count++) {
      const { done, value } = this.#looked.next()
      if (done) {
        this.#looked = this.#taken.entries()
        return
      }
      const [id, taken] = value
      const left = taken.filter(({ endsAt }) => endsAt > after)
      if (left.length === taken.length) continue
      this.#take(id, left)
      const listing = this.#listings.get(id)
      if (listing) this.#replace(withTaken(listing, this.#takenOf(id)))
    }
  }

  /** The same, to be changed aside. */
  #copy(): Directory {
    const copy = new Directory(this.sources)
    copy.#become(this)
    copy.#providers = new Map(this.#providers)
    copy.#listings = new Map(this.#listings)
    copy.#taken = new Map(this.#taken)
    copy.#unlisted = new Map(this.#unlisted)
    copy.#licensedIn = new Map(Array.from(this.#licensedIn, ([id, listed]) => [id, listed.slice()]))
    copy.#licensedAt = new Map()
    return copy
  }

  /** Shows what another shows, from one moment to the next. */
  #become(other: Directory): void {
    this.#version = other.#version
    this.#keys = other.#keys
    this.#regions = other.#regions
    this.#providers = other.#providers
    this.#listings = other.#listings
    this.#taken = other.#taken
    this.#looked = this.#taken.entries()
    this.#unlisted = other.#unlisted
    this.#licensedIn = other.#licensedIn
    this.#licensedAt = other.#licensedAt
  }

  /** One provider who cannot be listed must not keep the others from being so. */
  #tryToList(provider: Provider, taken: readonly TakenSlot[], compiled: CompiledOnce): void {
    const { id, ref, active, timeZone } = provider
    const zone = this.sources.findZone(timeZone)
    if (!zone) {
      this.#leaveOut({ id, ref, active, fault: `the zone data does not know the time zone ${timeZone}` })
      return
    }
    try {
      this.#replace(toListing(provider, zone, taken, compiled))
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
    for (const regionId of regionsOf(this.#listings.get(id))) {
      const listed = this.#licensedIn.get(regionId) ?? []
      listed.splice(positionOf(id, listed), 1)
    }
    this.#listings.delete(id)
  }

  #replace(listing: Listing): void {
    const { id } = listing.provider
    const after = regionsOf(listing)
    for (const regionId of regionsOf(this.#listings.get(id))) {
      if (after.has(regionId)) continue
      const listed = this.#licensedIn.get(regionId) ?? []
      listed.splice(positionOf(id, listed), 1)
    }
    this.#listings.set(id, listing)
    for (const regionId of after) {
      const listed = this.#licensedIn.get(regionId) ?? []
      const position = positionOf(id, listed)
      listed.splice(position, listed[position]?.provider.id === id ? 1 : 0, listing)
      this.#licensedIn.set(regionId, listed)
    }
  }
}

/** When a provider's licenses hold, of the regions that count. */
function licensedTime({ licenses }: Listing, counts: (regionId: number) => boolean): Interval[] {
  return licenses.filter(({ regionId }) => counts(regionId)).map(({ interval }) => interval)
}

function regionsOf(listing: Listing | undefined): Set<number> {
  return new Set(listing?.licenses.map(({ regionId }) => regionId))
}

function toListing(
  provider: Provider,
  zone: TimeZone,
  taken: readonly TakenSlot[],
  compiled: CompiledOnce,
): Listing {
  return {
    provider,
    calendar: {
      schedule: compiled.scheduleOf(provider, zone),
      taken: toIntervals(taken),
      minimumNoticeMinutes: provider.minimumNoticeMinutes,
    },
    taken,
    licenses: compiled.licensesOf(provider, zone),
    answers: new Map(),
  }
}

/** Minutes east of UTC that a provider's clock is at an instant (ms), by the zone data in use. */
export function localOffsetAt({ calendar }: Listing, at: number): number {
  return offsetAt(calendar.schedule.zone, Math.floor(at / minuteMillis))
}

/** A listing of which these slots are taken, and no others. */
export function withTaken(listing: Listing, taken: readonly TakenSlot[]): Listing {
  const calendar = { ...listing.calendar, taken: toIntervals(taken) }
  return { ...listing, calendar, taken, answers: new Map() }
}

function toIntervals(taken: readonly TakenSlot[]): readonly Interval[] {
  return taken.length > 0 ? taken.map(toInterval) : nothingTaken
}

/** When a slot is taken, in the engine's minutes. */
export function toInterval({ startsAt, endsAt }: TakenSlot): Interval {
  return { start: startsAt / minuteMillis, end: endsAt / minuteMillis }
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

/** Takes steps, and lets the event loop have a turn after each portion of them. */
async function inPortions(steps: Iterable<void>): Promise<void> {
  let taken = 0
  for (const _ of steps) {
    if (++taken % portion === 0) await new Promise((resolve) => setImmediate(resolve))
  }
}
