import { iso31661Alpha2ToAlpha3 } from 'iso-3166'
import regionZones from './home-zones.json'
import { foldName, type MemberProfile } from './member'

/** An ISO 3166-2 subdivision, or a whole country. A license of a provider is for one region. */
export interface Region {
  readonly id: number
  /** ISO 3166-1 alpha-2, upper case. */
  readonly countryCode: string
  /** For example ON for the subdivision CA-ON. A country-wide region has the country code. */
  readonly code: string
  readonly localName: string
  /** For example Province or State. A country-wide region has the label Country. */
  readonly label: string
  readonly active: boolean
}

/** Returns the region's name in directory files and commands: CA-ON, or GB for a country-wide region. */
export function regionRef(region: Pick<Region, 'countryCode' | 'code'>): string {
  return region.code === region.countryCode ? region.countryCode : `${region.countryCode}-${region.code}`
}

export function isCountryCode(text: string): boolean {
  return /^[A-Za-z]{2}$/.test(text) && Object.hasOwn(iso31661Alpha2ToAlpha3, text.toUpperCase())
}

export const countryCodePattern = `^(?:${Array.from(
  Map.groupBy(Object.keys(iso31661Alpha2ToAlpha3).sort(), ([first]) => first),
  ([first = '', codes]) => {
    const seconds = codes.map(([, second]) => second).join('')
    return `[${first}${first.toLowerCase()}][${seconds}${seconds.toLowerCase()}]`
  },
).join('|')})$`

/**
 * Returns the possible time zones of a person's home. For a known state, returns the zones of the state, most common
 * first. Otherwise, returns all zones of the country. Finds a state by code (ON, CA-ON) or English name. Ignores case
 * and accents.
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
