import { type Static, type TSchema, Type } from '@sinclair/typebox'
import type { DirectoryEntries, ProviderEntry, RegionEntry } from '../domain/decisions/compare-directory'
import { absenceFault } from '../domain/provider'
import {
  AbsenceShape,
  CalendarDate,
  closed,
  HoursShape,
  listShapes,
  OverrideShape,
} from '../domain/provider-lists'
import { regionRef } from '../domain/region'
import { type Fault, Text, type Validator, validator } from '../domain/validation'
import { dayMinutes } from '../scheduling/calendar'
import { type DirectoryFault, DirectoryInvalid, placeInDocument } from './faults'

const Name = Text({ minLength: 1, maxLength: 200 })
const Line = Type.Union([Type.Null(), Text({ maxLength: 500 })])
const RegionRef = Text({ minLength: 1, maxLength: 10 })

const RegionInFile = closed({
  id: Type.Optional(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })),
  countryCode: Text({ format: 'country-code' }),
  stateProvinceCode: Text({ minLength: 1, maxLength: 3 }),
  stateProvinceNameLocal: Name,
  stateProvinceLabel: Name,
  active: Type.Optional(Type.Boolean()),
})

const LicenseInFile = closed({
  region: RegionRef,
  from: CalendarDate,
  until: Type.Optional(Type.Union([Type.Null(), CalendarDate])),
})

const ProviderInFile = closed({
  ref: Name,
  firstName: Name,
  lastName: Name,
  credentials: Type.Optional(Line),
  pronouns: Type.Optional(Line),
  gender: Type.Optional(Line),
  bio: Type.Optional(Type.Union([Type.Null(), Text({ maxLength: 4000 })])),
  timeZone: Text({ minLength: 1, maxLength: 100 }),
  languagesSpoken: listShapes.languagesSpoken,
  modalities: listShapes.modalities,
  inPersonRegions: Type.Optional(Type.Array(RegionRef, { uniqueItems: true })),
  licenses: Type.Array(LicenseInFile),
  workingHours: listShapes.workingHours,
  overrides: Type.Optional(listShapes.overrides),
  timeOff: Type.Optional(listShapes.timeOff),
  minimumNoticeMinutes: Type.Optional(Type.Integer({ minimum: 0, maximum: 30 * dayMinutes })),
  active: Type.Optional(Type.Boolean()),
})

export const DirectoryFile = closed({
  regions: Type.Array(RegionInFile),
  providers: Type.Array(ProviderInFile),
})

export type DirectoryFile = Static<typeof DirectoryFile>
type RegionInFile = Static<typeof RegionInFile>
export type ProviderInFile = Static<typeof ProviderInFile>

const shape = validator(DirectoryFile)

/** Returns true if a document matches the schema. The document may still break other rules. */
export const isDirectoryFile = shape.accepts

const partShapes = {
  text: validator(Name),
  license: validator(LicenseInFile),
  hours: validator(HoursShape),
  override: validator(OverrideShape),
  absence: validator(AbsenceShape),
}

/** Returns true if the zone data contains this zone. */
export type IsZone = (name: string) => boolean

/** Reads a directory file. @throws DirectoryInvalid with every fault and its place */
export function readDirectoryFile(document: unknown, isZone: IsZone): DirectoryEntries {
  const isShaped = shape.accepts(document)
  const parts = partsOf(document, isShaped)
  const ruleFaults = [...faultsInRegions(parts.regions), ...faultsInProviders(parts, isZone)]
  if (!isShaped) {
    const faults = shape.faultsOf(document)
    const reported = new Set(faults.map(({ path }) => path))
    throw invalidDirectory(document, [...faults, ...ruleFaults.filter(({ path }) => !reported.has(path))])
  }
  if (ruleFaults.length > 0) throw invalidDirectory(document, ruleFaults)
  return { regions: document.regions.map(toRegionEntry), providers: document.providers.map(toProviderEntry) }
}

function invalidDirectory(document: unknown, faults: readonly Fault[]): DirectoryInvalid {
  const toPlaced = ({ path, fault }: Fault): DirectoryFault => {
    // For an unknown field, the path already shows the fault, and the value does not matter.
    const value = fault === 'is not a known field' ? undefined : valueAt(document, path)
    return { ...placeInDocument(path), fault, value }
  }
  return new DirectoryInvalid(faults.map(toPlaced))
}

/** Returns the value at a path of a document; undefined for the whole document. */
function valueAt(document: unknown, path: string): unknown {
  if (path === '') return undefined
  const steps = path.split(/[.[\]]+/).filter((step) => step !== '')
  return steps.reduce((value, step) => Object(value)[step], document)
}

/** The parts of a document. A document may break the schema, so rules are checked only on valid parts. */
interface Parts {
  readonly regions: readonly Partial<Record<keyof RegionInFile, unknown>>[]
  /** True if regions are a list and each region has a ref. If false, refs to regions are not checked. */
  readonly hasRegions: boolean
  readonly providers: readonly ProviderParts[]
}

/** A provider's parts. Invalid parts are undefined, so that valid parts keep their positions. */
type ProviderParts = ReturnType<typeof providerPartsOf>

/** @param isShaped true if the whole document is valid: then the parts need no check */
function partsOf(document: unknown, isShaped: boolean): Parts {
  const { regions: listed, providers } = Object(document)
  const regions = elementsOf(listed).map(Object)
  return {
    regions,
    hasRegions: Array.isArray(listed) && !regions.map(refOf).includes(undefined),
    providers: elementsOf(providers).map((provider) => providerPartsOf(provider, isShaped)),
  }
}

function providerPartsOf(provider: unknown, isShaped: boolean) {
  const { ref, timeZone, licenses, inPersonRegions, workingHours, overrides, timeOff } = Object(provider)
  const valid = <S extends TSchema>({ accepts }: Validator<S>, value: unknown): Static<S> | undefined =>
    isShaped || accepts(value) ? (value as Static<S>) : undefined
  const validElements = <S extends TSchema>(part: Validator<S>, list: unknown) =>
    elementsOf(list).map((element) => valid(part, element))
  return {
    ref: valid(partShapes.text, ref),
    timeZone: valid(partShapes.text, timeZone),
    licenses: validElements(partShapes.license, licenses),
    inPersonRegions: validElements(partShapes.text, inPersonRegions),
    workingHours: validElements(partShapes.hours, workingHours),
    overrides: validElements(partShapes.override, overrides),
    timeOff: validElements(partShapes.absence, timeOff),
  }
}

function elementsOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function faultsInRegions(regions: Parts['regions']): Fault[] {
  const ids = regions.map(({ id }) => id)
  return [
    ...repeated(regions.map(refOf), 'regions', 'stateProvinceCode', 'the region is listed twice'),
    ...repeated(ids, 'regions', 'id', 'another region already has this id'),
  ]
}

function faultsInProviders({ regions, hasRegions, providers }: Parts, isZone: IsZone): Fault[] {
  const known = new Set(regions.map(refOf))
  const isRegion = (ref: string) => !hasRegions || known.has(ref)
  const within = providers.flatMap((provider, index) =>
    faultsInProvider(provider, isRegion, isZone).map(({ path, fault }) => ({
      path: `providers[${index}].${path}`,
      fault,
    })),
  )
  const refs = providers.map(({ ref }) => ref)
  return [...repeated(refs, 'providers', 'ref', 'another provider has this ref'), ...within]
}

function faultsInProvider(
  { timeZone, licenses, inPersonRegions, workingHours, overrides, timeOff }: ProviderParts,
  isRegion: (ref: string) => boolean,
  isZone: IsZone,
): Fault[] {
  const faults: Fault[] = []
  const expect = (isRight: boolean, path: string, fault: string) => {
    if (!isRight) faults.push({ path, fault })
  }
  const expectWindow = ({ start, end }: { start: string; end: string }, path: string) => {
    expect(start !== end, `${path}.end`, 'must not equal start')
    expect(start !== '24:00', `${path}.start`, 'must be before 24:00')
  }
  expect(timeZone === undefined || isZone(timeZone), 'timeZone', 'must be an IANA time zone')
  for (const [i, { region, from, until }] of valid(licenses)) {
    expect(isRegion(region), `licenses[${i}].region`, 'is not a region of this file')
    expect(!until || from <= until, `licenses[${i}].until`, 'must not be before from')
  }
  for (const [i, region] of valid(inPersonRegions)) {
    expect(isRegion(region), `inPersonRegions[${i}]`, 'is not a region of this file')
  }
  for (const [i, hours] of valid(workingHours)) {
    const { from, until } = hours
    expectWindow(hours, `workingHours[${i}]`)
    expect(!from || !until || from <= until, `workingHours[${i}].until`, 'must not be before from')
  }
  for (const [i, { windows }] of valid(overrides)) {
    for (const [j, window] of windows.entries()) expectWindow(window, `overrides[${i}].windows[${j}]`)
  }
  const dates = overrides.map((override) => override?.date)
  faults.push(...repeated(dates, 'overrides', 'date', 'another override has this date'))
  for (const [i, absence] of valid(timeOff)) {
    const fault = absenceFault(absence)
    expect(fault === null, `timeOff[${i}].until`, fault ?? '')
  }
  return faults
}

function valid<T>(elements: readonly (T | undefined)[]): [number, T][] {
  return elements.flatMap((element, index) => (element === undefined ? [] : [[index, element]]))
}

/** Returns a fault for each repeated value, except undefined. */
function repeated(values: readonly unknown[], list: string, member: string, fault: string): Fault[] {
  const seen = new Set<unknown>()
  return values.flatMap((value, index) => {
    const isRepeated = value !== undefined && seen.has(value)
    seen.add(value)
    return isRepeated ? [{ path: `${list}[${index}].${member}`, fault }] : []
  })
}

/** Returns the ref of a region; undefined if a part of the ref is missing. */
function refOf({ countryCode, stateProvinceCode: code }: Parts['regions'][number]): string | undefined {
  if (typeof countryCode !== 'string' || typeof code !== 'string') return undefined
  return regionRef({ countryCode: countryCode.toUpperCase(), code })
}

function toRegionEntry(region: RegionInFile): RegionEntry {
  return {
    id: region.id ?? null,
    countryCode: region.countryCode.toUpperCase(),
    code: region.stateProvinceCode,
    localName: region.stateProvinceNameLocal,
    label: region.stateProvinceLabel,
    active: region.active ?? true,
  }
}

function toProviderEntry(provider: ProviderInFile): ProviderEntry {
  return {
    ...provider,
    // An empty text means no value, because CSV has no other form for a missing value.
    credentials: provider.credentials || null,
    pronouns: provider.pronouns || null,
    gender: provider.gender || null,
    bio: provider.bio || null,
    inPersonRegions: provider.inPersonRegions ?? [],
    licenses: provider.licenses.map(({ region, from, until = null }) => ({ region, from, until })),
    overrides: provider.overrides ?? [],
    timeOff: provider.timeOff ?? [],
    minimumNoticeMinutes: provider.minimumNoticeMinutes ?? 0,
    active: provider.active ?? true,
  } as ProviderEntry
}
