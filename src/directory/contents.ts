import type { PartnerKey } from '../domain/partner'
import type { DirectoryChanges, TakenSlot, Version } from '../domain/ports/directory-feed'
import { isWorking, type Provider } from '../domain/provider'
import type { Region } from '../domain/region'
import type { TimeZone } from '../scheduling/time-zone'
import { CompiledOnce } from './compile'
import {
  heldByRegion,
  isFoundBySameSearches,
  type Listing,
  nothingTaken,
  toListing,
  type UnlistedProvider,
  withBooked,
  withTaken,
} from './listing'
import { RegionLicenses } from './roster'

/** Each update removes the past slots of this many providers, so that removal keeps up with new bookings. */
const prunedPerUpdate = 16

export interface ContentsSources {
  readonly findZone: (name: string) => TimeZone | null
  readonly report: (fault: string) => void
}

/** The directory's data at one version of the feed. */
export class Contents {
  version: Version | null = null
  keys = new Map<string, PartnerKey>()
  regions = new Map<number, Region>()
  /** A cache by country code. Unknown codes are rejected earlier, so the cache stays small. */
  regionsOfCountries = new Map<string, readonly Region[]>()
  /** All readable providers, including those without a listing. */
  providers = new Map<number, Provider>()
  listings = new Map<number, Listing>()
  #taken = new Map<number, readonly TakenSlot[]>()
  #pruning: Iterator<[number, readonly TakenSlot[]]> = [].values()
  unlisted = new Map<number, UnlistedProvider>()
  #licenses = new Map<number, RegionLicenses>()

  constructor(private readonly sources: ContentsSources) {}

  /** Applies changes. Yields after each provider. */
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

  /** Updates the taken slots of a listing. The rosters stay, because they depend on licenses only. */
  #showTaken(id: number): void {
    const listing = this.listings.get(id)
    const taken = this.takenOf(id)
    if (listing && listing.taken !== taken) this.listings.set(id, withTaken(listing, taken))
  }

  takenOf(id: number): readonly TakenSlot[] {
    return this.#taken.get(id) ?? nothingTaken
  }

  /** Removes slots that ended by `after` (ms). Each call handles the next few providers. */
  forgetPast(after: number): void {
    for (let count = 0; count < prunedPerUpdate; count++) {
      const { done, value } = this.#pruning.next()
      if (done) {
        this.#pruning = this.#taken.entries()
        return
      }
      const [id, taken] = value
      const left = taken.filter(({ endsAt }) => endsAt > after)
      if (left.length === taken.length) continue
      this.#take(id, left)
      this.#showTaken(id)
    }
  }

  /** Returns a copy to change while the original is in use. */
  async copy(): Promise<Contents> {
    const copy = new Contents(this.sources)
    copy.version = this.version
    copy.keys = this.keys
    copy.regions = this.regions
    // Copies one large map per turn of the event loop. Nothing changes the maps meanwhile, because only one read of the
    // feed runs at a time.
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

  #tryToList(provider: Provider, taken: readonly TakenSlot[], compiled: CompiledOnce): void {
    const { id, ref, timeZone } = provider
    const active = isWorking(provider)
    const zone = this.sources.findZone(timeZone)
    if (!zone) {
      this.#leaveOut({ id, ref, active, fault: `the zone data has no time zone ${timeZone}` })
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

  /** Keeps the rosters if the change does not affect search results. */
  #moveLicenses(id: number, before: Listing | undefined, after: Listing | undefined): void {
    if (before && after && isFoundBySameSearches(before, after)) return
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

export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
