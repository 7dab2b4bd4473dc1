import type { Listing } from '../directory/directory'
import { Refusal } from '../domain/errors'
import { languageMatches } from '../domain/language'
import { type Page, type PageRequest, pageOf } from '../domain/page'
import type { Modality, Provider } from '../domain/provider'
import type { Region } from '../domain/region'
import type { Availability } from '../scheduling/availability'
import type { Context } from './context'

/** A page of a country's active regions in order of their codes; empty for a country without any. */
export function listRegions({ directory }: Context, countryCode: string, page: PageRequest): Page<Region> {
  return pageOf(directory.listRegions(countryCode.toUpperCase()), page)
}

/** What a search asks for (contract, GET providers). */
export interface ProviderSearch extends PageRequest {
  readonly regionId: number | undefined
  readonly countryCode: string | undefined
  readonly modality: Modality | undefined
  readonly languageTag: string | undefined
}

/** A provider with the slots that can be had in the region searched. */
export interface FoundProvider {
  readonly provider: Provider
  readonly availability: Availability
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
export function* searchProviders(
  context: Context,
  search: ProviderSearch,
  now: number,
): Generator<void, Page<() => FoundProvider>, void> {
  const { directory } = context
  const region = regionOf(context, search)
  if (!region) return pageOf([], search)
  const suiting = yield* listSuiting(directory.listLicensed(region.id, now), region, search)
  const page = pageOf(suiting, search)
  const items = page.items.map((listing) => () => ({
    provider: listing.provider,
    availability: directory.availabilityIn(listing, region.id, now),
  }))
  return { ...page, items }
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

/** Those of a region's providers whom a search asks for. */
function* listSuiting(
  listings: readonly Listing[],
  region: Region,
  { modality, languageTag }: ProviderSearch,
): Generator<void, readonly Listing[], void> {
  if (!modality && languageTag === undefined) return listings
  const isSpoken = languageTag === undefined ? null : matching(languageTag)
  const suits = ({ provider }: Listing) =>
    (!modality || provider.modalities.includes(modality)) &&
    (modality !== 'in-person' || provider.inPersonRegionIds.includes(region.id)) &&
    (!isSpoken || provider.languagesSpoken.some(isSpoken))
  const suiting: Listing[] = []
  for (let start = 0; start < listings.length; start += lookedAtInStep) {
    if (start > 0) yield
    suiting.push(...listings.slice(start, start + lookedAtInStep).filter(suits))
  }
  return suiting
}

/** Tells whether a spoken language matches; asked once for each tag, of which a directory has few. */
function matching(wanted: string): (spoken: string) => boolean {
  const known = new Map<string, boolean>()
  return (spoken) => {
    const isKnown = known.get(spoken)
    if (isKnown !== undefined) return isKnown
    const matches = languageMatches(spoken, wanted)
    known.set(spoken, matches)
    return matches
  }
}
