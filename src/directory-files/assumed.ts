import { isCountryCode } from '../domain/region'
import type { DirectoryFile, ProviderInFile } from './document'
import type { Row, TableName } from './table-rows'

/**
 * The regions and providers that tables name and do not tell, as though they were stored: for a check that has no
 * database to look them up in.
 */
export function assumeStored(rows: ReadonlyMap<TableName, readonly Row[]>) {
  const valuesOf = (table: TableName, column: string) =>
    (rows.get(table) ?? []).flatMap(({ values }) => values[column] ?? [])
  const refs = [...valuesOf('licenses', 'ref'), ...valuesOf('schedules', 'ref')]
  const regions = [...valuesOf('licenses', 'region'), ...valuesOf('providers', 'inPersonRegions')]
  return {
    regions: Array.from(new Set(regions), toRegion).filter((region) => region !== null),
    providers: Array.from(new Set(refs), toProvider),
    unreadable: new Set<unknown>(),
  }
}

/** The region that a text refers to, as regionRef writes it; null for a text that can be no such reference. */
function toRegion(ref: unknown): DirectoryFile['regions'][number] | null {
  const [, countryCode = '', code = countryCode] = /^([A-Z]{2})(?:-(.{1,3}))?$/.exec(String(ref)) ?? []
  if (!isCountryCode(countryCode)) return null
  return { countryCode, stateProvinceCode: code, stateProvinceNameLocal: code, stateProvinceLabel: code }
}

function toProvider(ref: unknown): ProviderInFile {
  const name = String(ref)
  return {
    ref: name,
    firstName: name,
    lastName: name,
    timeZone: 'UTC',
    languagesSpoken: ['en'],
    modalities: ['in-video'],
    licenses: [],
    workingHours: [],
  }
}
