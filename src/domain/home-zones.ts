import regionZones from './home-zones.json'
import { foldName, type MemberProfile } from './member'

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
