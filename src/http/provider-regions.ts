import { Type } from '@sinclair/typebox'
import { defaultPageSize } from '../domain/page'
import type { Region } from '../domain/region'
import type { Context } from '../operations/context'
import { listRegions } from '../operations/list-regions'
import { CountryCode, pageParameters, readQuery } from './fields'
import type { Gated } from './gate'
import { pageHeaders, pageUrl } from './links'

const path = '/partners/v1/provider-regions/'

export const RegionQuery = Type.Object({ country_code: CountryCode, ...pageParameters })

export const RegionBody = Type.Object(
  {
    id: Type.Integer({ description: 'The region_id of the provider search' }),
    countryCode: Type.String({ description: 'ISO 3166-1 alpha-2' }),
    stateProvinceCode: Type.String({
      description: "The subdivision's part of its ISO 3166-2 code; the country's code for a whole country",
    }),
    stateProvinceNameLocal: Type.String({ description: 'The name in the language of the place' }),
    stateProvinceLabel: Type.String({ description: 'What kind of subdivision it is' }),
  },
  { title: 'Region', description: 'A state or province, or a country as a whole' },
)

/** GET provider-regions: a country's active regions. */
export function providerRegions(app: Gated, context: Context, baseUrl: string) {
  return app.get(
    path,
    ({ query, set }) => {
      const { country_code: countryCode, page = 1, page_size: pageSize = defaultPageSize } = query
      const regions = listRegions(context, countryCode, { page, pageSize })
      Object.assign(
        set.headers,
        pageHeaders(regions, (to) => pageUrl(baseUrl, path, query, to)),
      )
      return regions.items.map(presentRegion)
    },
    {
      transform: (call) => {
        call.query = readQuery(call.request.url, RegionQuery) as typeof call.query
      },
      query: RegionQuery,
      response: {
        200: Type.Array(RegionBody, { description: 'The regions of the page, by stateProvinceCode' }),
      },
      detail: {
        operationId: 'listProviderRegions',
        tags: ['Directory'],
        summary: "List a country's regions",
        description:
          'Lists the active regions of a country. A country with one entry has one country-wide region; a ' +
          'country without any gives an empty page.',
      },
    },
  )
}

function presentRegion(region: Region): typeof RegionBody.static {
  return {
    id: region.id,
    countryCode: region.countryCode,
    stateProvinceCode: region.code,
    stateProvinceNameLocal: region.localName,
    stateProvinceLabel: region.label,
  }
}
