import type { Provider } from '../domain/provider'
import { type Region, regionRef } from '../domain/region'
import type { DirectoryFile, ProviderInFile } from './document'

/** Returns regions and providers as a directory file. Loading this file changes nothing. */
export function describeDirectory(regions: readonly Region[], providers: readonly Provider[]): DirectoryFile {
  const refs = new Map(regions.map((region) => [region.id, regionRef(region)]))
  return {
    regions: regions.map(toRegionInFile),
    providers: providers.map((provider) => toProviderInFile(provider, refs)),
  }
}

/** @param refs the refs of regions, by id */
export function toProviderInFile(provider: Provider, refs: ReadonlyMap<number, string>): ProviderInFile {
  const { id: _, suspended: __, staffTimeOff: ___, ...described } = provider
  const { licenses, inPersonRegionIds, workingHours, overrides, timeOff, ...profile } = described
  const refOf = (regionId: number) => refs.get(regionId) as string
  return {
    ...profile,
    languagesSpoken: [...profile.languagesSpoken],
    modalities: [...profile.modalities],
    inPersonRegions: inPersonRegionIds.map(refOf),
    licenses: licenses.map(({ regionId, from, until }) => ({ region: refOf(regionId), from, until })),
    workingHours: workingHours.map((hours) => ({ ...hours, weekdays: [...hours.weekdays] })),
    overrides: overrides.map(({ date, windows }) => ({ date, windows: [...windows] })),
    timeOff: [...timeOff],
  }
}

function toRegionInFile(region: Region): DirectoryFile['regions'][number] {
  return {
    id: region.id,
    countryCode: region.countryCode,
    stateProvinceCode: region.code,
    stateProvinceNameLocal: region.localName,
    stateProvinceLabel: region.label,
    active: region.active,
  }
}
