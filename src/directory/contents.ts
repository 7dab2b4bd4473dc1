import type { PartnerKey } from '../domain/partner'
import type { DirectoryChanges, TakenSlot, Version } from '../domain/ports/directory-feed'
import { isWorking, type Provider } from '../domain/provider'
import type { Region } from '../domain/region'
import type { TimeZone } from '../scheduling/time-zone'
import { CompiledOnce } from './compile'
import {
  heldByRegion,
  isFoundAlike,
  type Listing,
  nothingTaken,
  toListing,
  type UnlistedProvider,
  withBooked,
  withTaken,
} from './listing'
import { RegionLicenses } from './roster'

/** Of how many providers the taken slots are looked through when something has changed: more than a booking adds. */
const lookedThrough = 16

/** Time zones by name, and who is told of each provider who is left out. */
export interface ContentsSources {
  readonly findZone: (name: string) => TimeZone | null
  readonly report: (fault: string) => void
}

/** What the directory has read from the feed, at one version. */
export class Contents {
  version: Version | null = null
  keys = new Map<string, PartnerKey>()
  regions = new Map<number, Region>()
  /** Active ones, of the countries that were asked about: those that there are, since others are refused. */
  regionsOfCountries = new Map<string, readonly Region[]>()
  /** All providers who can be read, those without a listing too. */
  providers = new Map<number, Provider>()
  listings = new Map<number, Listing>()
  /** By provider, those without a listing too; nothing of a provider of whom nothing is taken. */
  #taken = new Map<number, readonly TakenSlot[]>()
  /** How far the taken slots were looked through for what is long over. */
  #looked: Iterator<[number, readonly TakenSlot[]]> = [].values()
  unlisted = new Map<number, UnlistedProvider>()
  #licenses = new Map<number, RegionLicenses>()

  constructor(private readonly sources: ContentsSources) {}

  /** Each step takes what a provider takes. */
  *apply(changes: DirectoryChanges): Generator<void> {
    if (changes.keys) this.keys = new Map(changes.keys.map((key) => [key.kid, key]))
    for (const [id, taken] of changes.taken) {
      this.#take(id, taken)
      yield
    }
    for (const [id, booked] of changes.booked ?? []) {
      this.#take(id, withBooked(this.takenOf(id), booked))
      yield
    }
    const compiled = new CompiledOnce()
    for (const provider of changes.providers) {
      this.providers.set(provider.id, provider)
      this.#tryToList(provider, this.takenOf(provider.id), compiled)
      yield
    }
    for (const id of [...changes.taken.keys(), ...(changes.booked?.keys() ?? [])]) {
      this.#showTaken(id)
      yield
    }
    for (const unreadable of changes.unreadable) {
      this.providers.delete(unreadable.id)
      this.#leaveOut({ ...unreadable, fault: 'the record cannot be read' })
      yield
    }
    if (changes.regions) {
      this.regions = new Map(changes.regions.map((region) => [region.id, region]))
      this.regionsOfCountries.clear()
    }
    this.version = changes.version
  }

  #take(id: number, taken: readonly TakenSlot[]): void {
    if (taken.length > 0) this.#taken.set(id, taken)
    else this.#taken.delete(id)
  }

  /** Nobody is licensed otherwise by it, so the rosters stay. */
  #showTaken(id: number): void {
    const listing = this.listings.get(id)
    const taken = this.takenOf(id)
    if (listing && listing.taken !== taken) this.listings.set(id, withTaken(listing, taken))
  }

  takenOf(id: number): readonly TakenSlot[] {
    return this.#taken.get(id) ?? nothingTaken
  }

  /** Forgets what was over by `after` (ms) of some providers, others each time: all in turn, and never many at once. */
  forgetPast(after: number): void {
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
  async copy(): Promise<Contents> {
    const copy = new Contents(this.sources)
    copy.version = this.version
    copy.keys = this.keys
    copy.regions = this.regions
    // What has as many entries as there are providers, in a turn each: nobody but a reading changes them.
    copy.providers = new Map(this.providers)
    await nextTurn()
    copy.listings = new Map(this.listings)
    await nextTurn()
    copy.#taken = new Map(this.#taken)
    await nextTurn()
    copy.#licenses = new Map(Array.from(this.#licenses, ([id, licenses]) => [id, licenses.copy()]))
    copy.unlisted = new Map(this.unlisted)
    copy.regionsOfCountries = new Map(this.regionsOfCountries)
    return copy
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
      this.unlisted.delete(id)
    } catch {
      this.#leaveOut({ id, ref, active, fault: 'the record cannot be read' })
    }
  }

  #leaveOut(unlisted: UnlistedProvider): void {
    const { id, ref, active, fault } = unlisted
    const isKnown = this.unlisted.get(id)?.fault === fault
    this.#unlist(id)
    this.unlisted.set(id, unlisted)
    if (active && !isKnown) this.sources.report(`provider ${ref} is left out of searches: ${fault}`)
  }

  #unlist(id: number): void {
    this.#moveLicenses(id, this.listings.get(id), undefined)
    this.listings.delete(id)
  }

  #replace(listing: Listing): void {
    const { id } = listing.provider
    this.#moveLicenses(id, this.listings.get(id), listing)
    this.listings.set(id, listing)
  }

  /** Most changes of a provider are none of who is found: those leave the rosters as they are. */
  #moveLicenses(id: number, before: Listing | undefined, after: Listing | undefined): void {
    if (before && after && isFoundAlike(before, after)) return
    const held = heldByRegion(after && isWorking(after.provider) ? after : undefined)
    for (const { regionId } of before?.licenses ?? []) {
      if (!held.has(regionId)) this.licensesIn(regionId).put(id, [])
    }
    for (const [regionId, intervals] of held) this.licensesIn(regionId).put(id, intervals)
  }

  licensesIn(regionId: number): RegionLicenses {
    const known = this.#licenses.get(regionId)
    if (known) return known
    const licenses = new RegionLicenses()
    this.#licenses.set(regionId, licenses)
    return licenses
  }
}

/** Lets the event loop go on. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
