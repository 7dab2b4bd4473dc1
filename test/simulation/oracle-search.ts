import type { Oracle } from './oracle'
import { answered, type PartnerAnswer, type Query, refused, urlWith } from './oracle-answers'
import { codeOf, type KnownProvider, type KnownRegion, slotMillis } from './oracle-directory'
import { instant } from './wall-clock'

// A simple model of searches and region lists, written from the contract and the decisions.

export function listRegions({ directory }: Oracle, query: Query, url: string): PartnerAnswer {
  const found = directory.activeRegions(String(query.country_code).toUpperCase())
  const page = pageOf(found, query, url)
  if (!page) return refused('page_out_of_range', { message: 'page: past the last page' })
  const { urlOf, last, number, items } = page
  const rels = [
    ['first', 1],
    ...(number > 1 ? [['prev', number - 1]] : []),
    ...(number < last ? [['next', number + 1]] : []),
    ['last', last],
  ] as [string, number][]
  const link = rels.map(([rel, to]) => `<${urlOf(to)}>; rel="${rel}"`).join(', ')
  const body = items.map(({ id, entry }) => {
    const { id: _, active: __, ...shown } = entry
    return { id, ...shown }
  })
  return answered(200, body, { link, total: String(found.length) })
}

export function search(oracle: Oracle, query: Query, url: string): PartnerAnswer {
  const region = regionOf(oracle, query)
  if (typeof region === 'string') {
    const [code, words] = region.split(': ') as [string, string]
    return refused(code, { message: `region_id: ${words}` })
  }
  const found = region
    ? oracle.directory.listedIn(region, oracle.now).filter((provider) => suits(provider, region, query))
    : []
  const page = pageOf(found, query, url)
  if (!page) return refused('page_out_of_range', { message: 'page: past the last page' })
  const { urlOf, last, number, items } = page
  return answered(200, {
    count: found.length,
    next: number < last ? urlOf(number + 1) : null,
    previous: number > 1 ? urlOf(number - 1) : null,
    results: items.map((provider) => ({
      providerId: provider.id,
      details: detailsOf(provider),
      availability: oracle.offered(provider, region as KnownRegion).map((startsAt) => ({
        utcStartTime: instant(startsAt),
        utcEndTime: instant(startsAt + slotMillis),
      })),
    })),
  })
}

/** Returns null if the country has no active region. A refusal has the form `code: message`. */
function regionOf(
  { directory }: Oracle,
  { region_id: id, country_code: code, modality }: Query,
): KnownRegion | string | null {
  const country = code === undefined ? undefined : String(code).toUpperCase()
  if (id !== undefined) {
    const region = directory.regions.find((one) => one.id === id && one.active)
    if (!region) return 'region_unknown: names no active region'
    const isElsewhere = country !== undefined && country !== region.entry.countryCode
    return isElsewhere ? 'region_outside_country: lies in another country' : region
  }
  if (country === undefined) return 'region_required: is required if no country is given'
  if (modality === 'in-person') return 'region_required: is required for in-person sessions'
  const [only = null, second] = directory.activeRegions(country)
  return second ? 'region_required: is required in a country with several regions' : only
}

function detailsOf({ entry }: KnownProvider) {
  const { firstName, lastName, timeZone, languagesSpoken, modalities } = entry
  const { credentials = null, pronouns = null, gender = null, bio = null } = entry
  return { firstName, lastName, credentials, pronouns, gender, bio, timeZone, languagesSpoken, modalities }
}

function suits({ entry }: KnownProvider, region: KnownRegion, { modality, language }: Query): boolean {
  const isSuch = modality === undefined || entry.modalities.some((one) => one === modality)
  const isThere = modality !== 'in-person' || Boolean(entry.inPersonRegions?.includes(codeOf(region.entry)))
  const isSpoken = language === undefined || entry.languagesSpoken.some((one) => meets(one, String(language)))
  return isSuch && isThere && isSpoken
}

/** Returns true if the language tags are equal, or if one tag is a prefix of the other (`fr` and `fr-CA`). */
function meets(one: string, other: string): boolean {
  const [a, b] = [`${one}-`.toLowerCase(), `${other}-`.toLowerCase()]
  return a.startsWith(b) || b.startsWith(a)
}

function pageOf<T>(all: readonly T[], query: Query, url: string) {
  const { page: number = 1, page_size: size = 20 } = query as { page?: number; page_size?: number }
  const last = Math.max(1, Math.ceil(all.length / size))
  if (number > last) return null
  const urlOf = (page: number) => urlWith(url, { ...query, page })
  return { number, last, urlOf, items: all.slice((number - 1) * size, number * size) }
}
