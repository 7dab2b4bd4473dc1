import { iso31661Alpha2ToAlpha3 } from 'iso-3166'

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
