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

export const RegionBody = Type.Object({
  id: Type.Integer({ description: 'The region_id of the provider search' }),
  countryCode: Type.String(),
  stateProvinceCode: Type.String(),
  stateProvinceNameLocal: Type.String(),
  stateProvinceLabel: Type.String(),
})

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
      response: { 200: Type.Array(RegionBody) },
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
