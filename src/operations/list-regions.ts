import { type Page, type PageRequest, pageOf } from '../domain/page'
import type { Region } from '../domain/region'
import type { Context } from './context'

/** A page of a country's active regions in order of their codes; empty for a country without any. */
export function listRegions({ directory }: Context, countryCode: string, page: PageRequest): Page<Region> {
  return pageOf(directory.listRegions(countryCode.toUpperCase()), page)
}
