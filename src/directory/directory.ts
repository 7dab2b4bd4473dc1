import type { PartnerKey } from '../domain/partner'
import type { Clock } from '../domain/ports/clock'
import type {
  DirectoryChanges,
  DirectoryFeed,
  TakenSlot,
  UnreadableProvider,
  Version,
} from '../domain/ports/directory-feed'
import { isWorking, type Provider } from '../domain/provider'
import type { Region } from '../domain/region'
import {
  type Availability,
  availabilityAt,
  type Calendar,
  isAvailableAt,
  slotsWithin,
} from '../scheduling/availability'
import { dayMinutes, minuteMillis } from '../scheduling/calendar'
import type { Interval } from '../scheduling/interval'
import { offsetAt, type TimeZone } from '../scheduling/time-zone'
import type { LicensedTime } from './compile'
import { CompiledOnce } from './compiled-once'
import { RegionLicenses, type Roster } from './roster'

/** A provider as they are listed. Replaced, never changed: what is worked out from one can be kept beside it. */
export interface Listing {
  readonly provider: Provider
  readonly calendar: Calendar
  /** What the calendar has as taken, with the requests that hold it. */
  readonly taken: readonly TakenSlot[]
  readonly licenses: readonly LicensedTime[]
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
  /** Active ones, of the countries that were asked about: those that there are, since others are refused. */
  #regionsOfCountries = new Map<string, readonly Region[]>()
  /** All providers who can be read, those without a listing too. */
  #providers = new Map<number, Provider>()
  #listings = new Map<number, Listing>()
  /** By provider, those without a listing too; nothing of a provider of whom nothing is taken. */
  #taken = new Map<number, readonly TakenSlot[]>()
  /** How far the taken slots were looked through for what is long over. */
  #looked: Iterator<[number, readonly TakenSlot[]]> = [].values()
  #unlisted = new Map<number, UnlistedProvider>()
  #licenses = new Map<number, RegionLicenses>()
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
    const changes = await feed.changesSince(this.#version, after)
    if (changes) {
      await this.#show(changes)
      this.#forgetPast(after)
    }
    this.#stamp = stamp
  }

  /** Whoever asks meanwhile is shown all that was, and then all that is. */
  async #show(changes: DirectoryChanges): Promise<void> {
    const { providers, unreadable, taken, booked } = changes
    if (providers.length + unreadable.length + taken.size + (booked?.size ?? 0) <= portion) {
      for (const _ of this.#applying(changes));
      return
    }
    const next = await this.#copy()
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

  /**
   * Who is licensed in a region at `now` (ms): the same object for as long as those are the same, and speak the same languages
   * and hold sessions in the same ways.
   */
  rosterOf(regionId: number, now: number): Roster {
    return this.#licensesIn(regionId).rosterAt(now)
  }

  #licensesIn(regionId: number): RegionLicenses {
    const known = this.#licenses.get(regionId)
    if (known) return known
    const licenses = new RegionLicenses()
    this.#licenses.set(regionId, licenses)
    return licenses
  }

  /** The active providers who hold a license in the region at `now` (ms), in order of id. */
  listLicensed(regionId: number, now: number): Listing[] {
    return this.rosterOf(regionId, now).ids.flatMap((id) => this.findListing(id) ?? [])
  }

  /** All active providers in order of id. */
  listListings(): Listing[] {
    return [...this.#listings.values()]
      .filter(({ provider }) => isWorking(provider))
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

  /** What would be listed of a provider who is as told, with the slots that are taken of them; null for one who cannot be. */
  asListed(provider: Provider): Listing | null {
    const zone = this.sources.findZone(provider.timeZone)
    return zone && toListing(provider, zone, this.#takenOf(provider.id), new CompiledOnce())
  }

  /** An active provider. */
  findListing(providerId: number): Listing | null {
    const listing = this.#listings.get(providerId)
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
      .filter(({ regionId }) => this.#regions.get(regionId)?.active)
      .map(({ interval }) => interval)
  }

  /** Each step takes what a provider takes. */
  *#applying(changes: DirectoryChanges): Generator<void> {
    if (changes.keys) this.#keys = new Map(changes.keys.map((key) => [key.kid, key]))
    for (const [id, taken] of changes.taken) {
      this.#take(id, taken)
      yield
    }
    for (const [id, booked] of changes.booked ?? []) {
      this.#take(id, withBooked(this.#takenOf(id), booked))
      yield
    }
    const compiled = new CompiledOnce()
    for (const provider of changes.providers) {
      this.#providers.set(provider.id, provider)
      this.#tryToList(provider, this.#takenOf(provider.id), compiled)
      yield
    }
    for (const id of [...changes.taken.keys(), ...(changes.booked?.keys() ?? [])]) {
      this.#showTaken(id)
      yield
    }
    for (const unreadable of changes.unreadable) {
      this.#providers.delete(unreadable.id)
      this.#leaveOut({ ...unreadable, fault: 'the record cannot be read' })
      yield
    }
    if (changes.regions) {
      this.#regions = new Map(changes.regions.map((region) => [region.id, region]))
      this.#regionsOfCountries.clear()
    }
    this.#version = changes.version
  }

  #take(id: number, taken: readonly TakenSlot[]): void {
    if (taken.length > 0) this.#taken.set(id, taken)
    else this.#taken.delete(id)
  }

  /** Nobody is licensed otherwise by it, so the rosters stay. */
  #showTaken(id: number): void {
    const listing = this.#listings.get(id)
    const taken = this.#takenOf(id)
    if (listing && listing.taken !== taken) this.#listings.set(id, withTaken(listing, taken))
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
      this.#showTaken(id)
    }
  }

  /** The same, to be changed aside. */
  async #copy(): Promise<Directory> {
    const copy = new Directory(this.sources)
    copy.#become(this)
    // What has as many entries as there are providers, in a turn each: nobody but a reading changes them.
    copy.#providers = new Map(this.#providers)
    await nextTurn()
    copy.#listings = new Map(this.#listings)
    await nextTurn()
    copy.#taken = new Map(this.#taken)
    await nextTurn()
    copy.#licenses = new Map(Array.from(this.#licenses, ([id, licenses]) => [id, licenses.copy()]))
    copy.#unlisted = new Map(this.#unlisted)
    copy.#regionsOfCountries = new Map(this.#regionsOfCountries)
    return copy
  }

  /** Shows what another shows, from one moment to the next. */
  #become(other: Directory): void {
    this.#version = other.#version
    this.#keys = other.#keys
    this.#regions = other.#regions
    this.#regionsOfCountries = other.#regionsOfCountries
    this.#providers = other.#providers
    this.#listings = other.#listings
    this.#taken = other.#taken
    this.#looked = this.#taken.entries()
    this.#unlisted = other.#unlisted
    this.#licenses = other.#licenses
  }

  /** One provider who cannot be listed must not keep the others from being so. */
  #tryToList(provider: Provider, taken: readonly TakenSlot[], compiled: CompiledOnce): void {
    const { id, ref, timeZone } = provider
    const active = isWorking(provider)
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
    this.#moveLicenses(id, this.#listings.get(id), undefined)
    this.#listings.delete(id)
  }

  #replace(listing: Listing): void {
    const { id } = listing.provider
    this.#moveLicenses(id, this.#listings.get(id), listing)
    this.#listings.set(id, listing)
  }

  /** Most changes of a provider are none of who is found: those leave the rosters as they are. */
  #moveLicenses(id: number, before: Listing | undefined, after: Listing | undefined): void {
    if (before && after && isFoundAlike(before, after)) return
    const held = heldByRegion(after && isWorking(after.provider) ? after : undefined)
    for (const { regionId } of before?.licenses ?? []) {
      if (!held.has(regionId)) this.#licensesIn(regionId).put(id, [])
    }
    for (const [regionId, intervals] of held) this.#licensesIn(regionId).put(id, intervals)
  }
}

/** Whether whoever finds one of two listings of a provider finds the other. */
function isFoundAlike(one: Listing, other: Listing): boolean {
  const toldOf = ({ licenses, provider }: Listing) => {
    const { languagesSpoken, modalities, inPersonRegionIds } = provider
    return JSON.stringify([licenses, isWorking(provider), languagesSpoken, modalities, inPersonRegionIds])
  }
  return toldOf(one) === toldOf(other)
}

/** When a provider's licenses of a region hold. */
function licensesIn(regionId: number, { licenses }: Listing): Interval[] {
  return licenses.filter((license) => license.regionId === regionId).map(({ interval }) => interval)
}

/** The same for each region of which there are any. */
function heldByRegion(listing: Listing | undefined): Map<number, Interval[]> {
  const held = new Map<number, Interval[]>()
  for (const { regionId, interval } of listing?.licenses ?? []) {
    const others = held.get(regionId)
    if (others) others.push(interval)
    else held.set(regionId, [interval])
  }
  return held
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
  }
}

/** Minutes east of UTC that a provider's clock is at an instant (ms), by the zone data in use. */
export function localOffsetAt({ calendar }: Listing, at: number): number {
  return offsetAt(calendar.schedule.zone, Math.floor(at / minuteMillis))
}

/** A listing of which these slots are taken, and no others. */
export function withTaken(listing: Listing, taken: readonly TakenSlot[]): Listing {
  const calendar = { ...listing.calendar, taken: toIntervals(taken) }
  return { ...listing, calendar, taken }
}

/** What is taken once these slots are too, in order. */
function withBooked(taken: readonly TakenSlot[], booked: readonly TakenSlot[]): readonly TakenSlot[] {
  const ids = new Set(booked.map(({ requestId }) => requestId))
  const others = taken.filter(({ requestId }) => !ids.has(requestId))
  return [...others, ...booked].sort((a, b) => a.startsAt - b.startsAt)
}

function toIntervals(taken: readonly TakenSlot[]): readonly Interval[] {
  return taken.length > 0 ? taken.map(toInterval) : nothingTaken
}

/** When a slot is taken, in the engine's minutes. */
export function toInterval({ startsAt, endsAt }: TakenSlot): Interval {
  return { start: startsAt / minuteMillis, end: endsAt / minuteMillis }
}

/** Takes steps, and lets the event loop have a turn after each portion of them. */
async function inPortions(steps: Iterable<void>): Promise<void> {
  let taken = 0
  for (const _ of steps) {
    if (++taken % portion === 0) await nextTurn()
  }
}

/** Lets the event loop go on. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
