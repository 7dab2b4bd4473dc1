import type { Directory } from '../directory/directory'
import type { Listing } from '../directory/listing'
import type { Roster } from '../directory/roster'
import { Refusal } from '../domain/errors'
import { languageMatches } from '../domain/language'
import { type Page, type PageRequest, pageOf } from '../domain/page'
import type { Version } from '../domain/ports/directory-feed'
import type { Modality, Provider } from '../domain/provider'
import type { Region } from '../domain/region'
import type { Availability } from '../scheduling/availability'
import type { Context, Turn } from './context'

interface RegionPage extends Page<Region> {
  /** The regions of all pages. The array is the same object until regions change. */
  readonly all: readonly Region[]
}

/** Returns a page of a country's active regions, sorted by code. The page is empty if the country has no regions. */
export function listRegions({ directory }: Context, countryCode: string, page: PageRequest): RegionPage {
  const all = directory.listRegions(countryCode.toUpperCase())
  return { all, ...pageOf(all, page) }
}

export interface ProviderSearch extends PageRequest {
  readonly regionId: number | undefined
  readonly countryCode: string | undefined
  readonly modality: Modality | undefined
  readonly languageTag: string | undefined
}

/** A provider on a page. The object stays the same until the provider changes, so the object can be a cache key. */
export type FoundProvider = Pick<Listing, 'provider'>

export interface FoundPage extends Page<FoundProvider> {
  readonly version: Version
  /** Until this time (ms, exclusive), a search finds the same providers if the directory does not change. */
  readonly holdsUntil: number
  /** Returns a found provider's free slots in the searched region. */
  availabilityOf(found: FoundProvider): Availability
}

const lookedAtInStep = 256

/**
 * Returns a page of the region's active licensed providers, sorted by id. Includes providers without free slots. Works in
 * steps, because a large region takes long. Slots are computed lazily, as of `now`.
 * @param now ms
 * @throws Refusal region_required, region_unknown, region_outside_country or page_out_of_range
 */
export async function searchProviders(context: Context, search: ProviderSearch, now: number, turn: Turn) {
  const { directory } = context
  const region = regionOf(context, search)
  const { ids, holdsUntil } = region ? await findMatching(directory, region, search, now, turn) : noProviders
  const page = pageOf(ids, search)
  const items = page.items.map((id) => directory.findListing(id) as Listing)
  const availabilityOf = (found: FoundProvider) =>
    directory.availabilityIn(found as Listing, region?.id ?? 0, now)
  return { ...page, items, version: directory.version, holdsUntil, availabilityOf }
}

/** Returns the region of a search (contract, rules 1 to 5); null for a country without regions. */
function regionOf({ directory }: Context, { regionId, countryCode, modality }: ProviderSearch) {
  const country = countryCode?.toUpperCase()
  if (regionId !== undefined) {
    const region = directory.findRegion(regionId)
    if (!region) throw new Refusal('region_unknown', 'names no active region')
    if (country !== undefined && region.countryCode !== country) {
      throw new Refusal('region_outside_country', 'lies in another country')
    }
    return region
  }
  if (country === undefined) throw new Refusal('region_required', 'is required if no country is given')
  if (modality === 'in-person') throw new Refusal('region_required', 'is required for in-person sessions')
  const [first, second] = directory.listRegions(country)
  if (second) throw new Refusal('region_required', 'is required in a country with several regions')
  return first ?? null
}

const noProviders: Pick<Roster, 'ids' | 'holdsUntil'> = { ids: [], holdsUntil: Infinity }

/** Returns the ascending ids of the matching providers. The ids stay the same until `holdsUntil` (ms, exclusive). */
async function findMatching(
  directory: Directory,
  region: Region,
  search: ProviderSearch,
  now: number,
  turn: Turn,
) {
  for (;;) {
    const roster = directory.rosterOf(region.id, now)
    const { modality, languageTag } = search
    const isUnfiltered = !modality && languageTag === undefined
    const ids = isUnfiltered ? roster.ids : await filterRoster(directory, roster, region, search, turn)
    // The roster may have been replaced between two steps.
    if (roster === directory.rosterOf(region.id, now)) return { ids, holdsUntil: roster.holdsUntil }
  }
}

interface RosterCache {
  spoken: ReadonlySet<string> | null
  readonly matching: Map<string, readonly number[]>
}

const rosterCaches = new WeakMap<Roster, RosterCache>()

async function filterRoster(
  directory: Directory,
  roster: Roster,
  region: Region,
  { modality, languageTag }: ProviderSearch,
  turn: Turn,
): Promise<readonly number[]> {
  const known = rosterCaches.get(roster) ?? { spoken: null, matching: new Map() }
  rosterCaches.set(roster, known)
  const providersIn = (some: readonly number[]) =>
    some.flatMap((id) => directory.findListing(id)?.provider ?? [])
  known.spoken ??= new Set(
    await collectInSteps(roster.ids, turn, (some) => providersIn(some).flatMap((it) => it.languagesSpoken)),
  )
  // Many tags match the same languages, so the cache key contains the languages.
  const languages =
    languageTag === undefined ? null : [...known.spoken].filter((tag) => languageMatches(tag, languageTag))
  const key = JSON.stringify([modality, languages])
  const suits = ({ modalities, inPersonRegionIds, languagesSpoken }: Provider) =>
    (!modality || modalities.includes(modality)) &&
    (modality !== 'in-person' || inPersonRegionIds.includes(region.id)) &&
    (!languages || languagesSpoken.some((tag) => languages.includes(tag)))
  const matching =
    known.matching.get(key) ??
    (await collectInSteps(roster.ids, turn, (some) =>
      providersIn(some)
        .filter(suits)
        .map(({ id }) => id),
    ))
  known.matching.set(key, matching)
  return matching
}

async function collectInSteps<Item>(
  ids: readonly number[],
  turn: Turn,
  find: (some: readonly number[]) => readonly Item[],
): Promise<Item[]> {
  const found: Item[] = []
  for (let start = 0; start < ids.length; start += lookedAtInStep) {
    found.push(...find(ids.slice(start, start + lookedAtInStep)))
    const waiting = turn()
    if (waiting) await waiting
  }
  return found
}
