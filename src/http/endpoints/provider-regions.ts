import { Type } from '@sinclair/typebox'
import { defaultPageSize } from '../../domain/page'
import type { Region } from '../../domain/region'
import { listRegions } from '../../operations/search-providers'
import { digestOf, Representation, tagOf } from '../representation'
import { endpoint, type Reply } from './endpoint'
import { CountryCode, exampleRegionId, Id, pageParameters } from './fields'
import { providers } from './providers'
import { pageHeaders, pageUrl } from './query'

const path = '/partners/v1/provider-regions/'

const RegionBody = Type.Object(
  {
    id: Id('Id of the region; send it as region_id in a provider search'),
    countryCode: Type.String({ description: 'ISO 3166-1 alpha-2 country code' }),
    stateProvinceCode: Type.String({
      description: 'Second part of the ISO 3166-2 code; the country code for a country-wide region',
    }),
    stateProvinceNameLocal: Type.String({ description: 'Name in the local language' }),
    stateProvinceLabel: Type.String({ description: 'Type of region, for example Province' }),
  },
  { title: 'Region', description: 'A state or province, or a whole country' },
)

const mostReplies = 1_000

export const providerRegions = endpoint({
  method: 'GET',
  path,
  operationId: 'listProviderRegions',
  tag: 'Directory',
  summary: "List a country's regions",
  description:
    'Lists the active regions of a country. An undivided country has one country-wide region. A country ' +
    'without regions gives an empty page.',
  query: Type.Object({ country_code: CountryCode, ...pageParameters }),
  budget: 'reads',
  answer: {
    status: 200,
    description: "A page of the country's active regions",
    schema: Type.Array(RegionBody, { description: 'The regions of the page, sorted by stateProvinceCode' }),
    isRevalidated: true,
    headers: {
      Link: {
        description: 'Full URLs of the first, previous, next and last page (RFC 8288)',
        schema: { type: 'string' },
      },
      'X-Total-Count': { description: 'Total number of regions on all pages', schema: { type: 'integer' } },
    },
    links: {
      providersOfRegion: {
        to: providers,
        description: 'Send the id of a region as region_id to search its providers',
        parameters: { region_id: '$response.body#/0/id' },
      },
    },
  },
  refusals: { field_invalid: 'country_code: is required', page_out_of_range: 'past the last page' },
  examples: () => ({
    answer: {
      regions: {
        summary: 'A country with several regions',
        value: [
          exampleRegion(exampleRegionId, 'CA', 'ON', 'Ontario', 'Province'),
          exampleRegion(11, 'CA', 'QC', 'Québec', 'Province'),
        ],
      },
      country: {
        summary: 'A country with one country-wide region',
        value: [exampleRegion(66, 'IE', 'IE', 'Ireland', 'Country')],
      },
    },
  }),
  handler(context, baseUrl) {
    // The cache key contains the query exactly as sent, because the links in a response repeat the query.
    let made = new WeakMap<readonly Region[], Map<string, Reply<never>>>()
    let kept = 0
    return ({ query }) => {
      const { country_code: countryCode, page = 1, page_size: pageSize = defaultPageSize } = query
      const regions = listRegions(context, countryCode, { page, pageSize })
      const asked = JSON.stringify(query)
      const known = made.get(regions.all)?.get(asked)
      if (known) return known
      const headers = pageHeaders(regions, (to) => pageUrl(baseUrl, path, query, to))
      const bytes = Buffer.from(JSON.stringify(regions.items.map(presentRegion)))
      const reply = { body: new Representation(new Blob([bytes]), tagOf([digestOf(bytes)]), headers) }
      if (kept++ >= mostReplies) [made, kept] = [new WeakMap(), 1]
      const replies = made.get(regions.all) ?? new Map<string, Reply<never>>()
      made.set(regions.all, replies.set(asked, reply))
      return reply
    }
  },
})

function exampleRegion(id: number, countryCode: string, code: string, localName: string, label: string) {
  return presentRegion({ id, countryCode, code, localName, label, active: true })
}

export function presentRegion(region: Region): typeof RegionBody.static {
  return {
    id: region.id,
    countryCode: region.countryCode,
    stateProvinceCode: region.code,
    stateProvinceNameLocal: region.localName,
    stateProvinceLabel: region.label,
  }
}
