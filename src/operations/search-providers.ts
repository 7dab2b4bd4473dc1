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

/** A page of a country's regions. */
export interface RegionPage extends Page<Region> {
  /** Of all pages: the same object for as long as regions are the same. */
  readonly all: readonly Region[]
}

/** A page of a country's active regions in order of their codes; empty for a country without any. */
export function listRegions({ directory }: Context, countryCode: string, page: PageRequest): RegionPage {
  const all = directory.listRegions(countryCode.toUpperCase())
  return { all, ...pageOf(all, page) }
}

/** What a search asks for (contract, GET providers). */
export interface ProviderSearch extends PageRequest {
  readonly regionId: number | undefined
  readonly countryCode: string | undefined
  readonly modality: Modality | undefined
  readonly languageTag: string | undefined
}

/** A provider who was found. The same object is found for as long as nothing about the provider is another. */
export type FoundProvider = Pick<Listing, 'provider'>

/** A page of providers, as it is at the moment of a search. */
export interface FoundPage extends Page<FoundProvider> {
  /** Of all that is stored. */
  readonly version: Version
  /** ms; until then (exclusive) the same are found, unless something is stored. */
  readonly holdsUntil: number
  /** The slots of one of them in the region that was searched. */
  availabilityOf(found: FoundProvider): Availability
}

/** How many providers are looked at in one step. */
const lookedAtInStep = 256

/**
 * A page of the active providers licensed now in the region asked for, in order of id, those without a free
 * slot too. It is found in steps, since a large region takes long to look through. Whose slots are worked out when they
 * are asked for: that may be later, and is still of the moment of the search.
 *
 * @param now ms
 * @throws Refusal region_required, region_unknown, region_outside_country or page_out_of_range
 */
export async function searchProviders(
  context: Context,
  search: ProviderSearch,
  now: number,
  turn: Turn,
): Promise<FoundPage> {
  const { directory } = context
  const region = regionOf(context, search)
  const { ids, holdsUntil } = region ? await findSuiting(directory, region, search, now, turn) : nobody
  const page = pageOf(ids, search)
  const items = page.items.map((id) => directory.findListing(id) as Listing)
  const availabilityOf = (found: FoundProvider) =>
    directory.availabilityIn(found as Listing, region?.id ?? 0, now)
  return { ...page, items, version: directory.version, holdsUntil, availabilityOf }
}

/** The one region that a search is about (contract, rules 1 to 5); null for a country that has none. */
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
  if (country === undefined) throw new Refusal('region_required', 'is required where no country is given')
  if (modality === 'in-person') throw new Refusal('region_required', 'is required for sessions in person')
  const [first, second] = directory.listRegions(country)
  if (second) throw new Refusal('region_required', 'is required in a country with several regions')
  return first ?? null
}

const nobody: Pick<Roster, 'ids' | 'holdsUntil'> = { ids: [], holdsUntil: Infinity }

/** Those of a region's providers whom a search asks for, and until when (ms) they are the same. */
async function findSuiting(
  directory: Directory,
  region: Region,
  search: ProviderSearch,
  now: number,
  turn: Turn,
) {
  for (;;) {
    const roster = directory.rosterOf(region.id, now)
    const { modality, languageTag } = search
    const isForAll = !modality && languageTag === undefined
    const ids = isForAll ? roster.ids : await narrow(directory, roster, region, search, turn)
    // It may have been replaced between two steps.
    if (roster === directory.rosterOf(region.id, now)) return { ids, holdsUntil: roster.holdsUntil }
  }
}

/** What was looked for in a roster, and goes with it: the languages spoken, and who suits what was asked for. */
interface Narrowed {
  spoken: ReadonlySet<string> | null
  readonly suiting: Map<string, readonly number[]>
}

const narrowed = new WeakMap<Roster, Narrowed>()

/** Those of a roster whom a search asks for: looked for once. */
async function narrow(
  directory: Directory,
  roster: Roster,
  region: Region,
  { modality, languageTag }: ProviderSearch,
  turn: Turn,
): Promise<readonly number[]> {
  const known = narrowed.get(roster) ?? { spoken: null, suiting: new Map() }
  narrowed.set(roster, known)
  const providersIn = (some: readonly number[]) =>
    some.flatMap((id) => directory.findListing(id)?.provider ?? [])
  known.spoken ??= new Set(
    await inSteps(roster.ids, turn, (some) => providersIn(some).flatMap((it) => it.languagesSpoken)),
  )
  // However many tags are asked for, few of them differ in whom they find.
  const languages =
    languageTag === undefined ? null : [...known.spoken].filter((tag) => languageMatches(tag, languageTag))
  const asked = JSON.stringify([modality, languages])
  const suits = ({ modalities, inPersonRegionIds, languagesSpoken }: Provider) =>
    (!modality || modalities.includes(modality)) &&
    (modality !== 'in-person' || inPersonRegionIds.includes(region.id)) &&
    (!languages || languagesSpoken.some((tag) => languages.includes(tag)))
  const suiting =
    known.suiting.get(asked) ??
    (await inSteps(roster.ids, turn, (some) =>
      providersIn(some)
        .filter(suits)
        .map(({ id }) => id),
    ))
  known.suiting.set(asked, suiting)
  return suiting
}

async function inSteps<Item>(
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
