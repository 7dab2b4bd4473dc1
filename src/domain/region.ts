import { iso31661Alpha2ToAlpha3 } from 'iso-3166'
import regionZones from './home-zones.json'
import { foldName, type MemberProfile } from './member'

/** An ISO 3166-2 subdivision in which providers are licensed, or the one region of an undivided country. */
export interface Region {
  readonly id: number
  /** ISO 3166-1 alpha-2, upper case. */
  readonly countryCode: string
  /** The subdivision's part of the ISO 3166-2 code (ON, not CA-ON); the country's own code if country-wide. */
  readonly code: string
  readonly localName: string
  /** What the subdivision is called: Province, Territory, State, District; Country if country-wide. */
  readonly label: string
  readonly active: boolean
}

/** How a directory file and the operator refer to a region: CA-ON, or GB for the country-wide one. */
export function regionRef(region: Pick<Region, 'countryCode' | 'code'>): string {
  return region.code === region.countryCode ? region.countryCode : `${region.countryCode}-${region.code}`
}

/** Whether a text, in any case, is a country code that ISO 3166-1 alpha-2 assigns. */
export function isCountryCode(text: string): boolean {
  return /^[A-Za-z]{2}$/.test(text) && Object.hasOwn(iso31661Alpha2ToAlpha3, text.toUpperCase())
}

/** The codes that ISO 3166-1 alpha-2 assigns, in any case, as a regular expression. */
export const countryCodePattern = `^(?:${Array.from(
  Map.groupBy(Object.keys(iso31661Alpha2ToAlpha3).sort(), ([first]) => first),
  ([first = '', codes]) => {
    const seconds = codes.map(([, second]) => second).join('')
    return `[${first}${first.toLowerCase()}][${seconds}${seconds.toLowerCase()}]`
  },
).join('|')})$`

/**
 * The names of the zones that a person may live by: those of the region that their state names, by code (ON, CA-ON) or
 * English name, neither case nor accents of which matter; else those of their country. The table has the regions of countries
 * with several zones, each with all zones (IANA) that people in it live by, the one of most of them first.
 *
 * @param zonesOf the zones of a country, by its code
 */
export function homeZonesOf(
  { country, state }: Pick<MemberProfile, 'country' | 'state'>,
  zonesOf: (country: string) => readonly string[],
): readonly string[] {
  const named = foldName(state ?? '')
  const [, region] =
    Object.entries(regionZones).find(([ref, { name }]) => {
      const [of, code = ''] = ref.split('-')
      return of === country && [code, ref, name].some((text) => foldName(text) === named)
    }) ?? []
  return region?.zones ?? zonesOf(country)
}
