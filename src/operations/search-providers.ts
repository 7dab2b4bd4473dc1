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

/**
 * A page of the active providers licensed now in the region asked for, in order of id, those without a free
 * slot too. Whose slots are worked out when they are asked for: that may be later, and is still of the moment of the search.
 *
 * @param now ms
 * @throws Refusal region_required, region_unknown, region_outside_country or page_out_of_range
 */
export function searchProviders(
  context: Context,
  search: ProviderSearch,
  now: number,
): Page<() => FoundProvider> {
  const { directory } = context
  const region = regionOf(context, search)
  if (!region) return pageOf([], search)
  const suiting = directory.listLicensed(region.id, now).filter((found) => suits(found, region, search))
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

function suits({ provider }: Listing, region: Region, { modality, languageTag }: ProviderSearch): boolean {
  if (modality && !provider.modalities.includes(modality)) return false
  if (modality === 'in-person' && !provider.inPersonRegionIds.includes(region.id)) return false
  if (languageTag === undefined) return true
  return provider.languagesSpoken.some((spoken) => languageMatches(spoken, languageTag))
}
