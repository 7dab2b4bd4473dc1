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

/** The document that describes a directory: its regions, and the providers who are licensed in them. */
export const DirectoryFile = closed({
  regions: Type.Array(RegionInFile),
  providers: Type.Array(ProviderInFile),
})

export type DirectoryFile = Static<typeof DirectoryFile>
type RegionInFile = Static<typeof RegionInFile>
export type ProviderInFile = Static<typeof ProviderInFile>

const shape = validator(DirectoryFile)

/** Whether a document has a directory file's shape; what it says may still break a rule. */
export const isDirectoryFile = shape.accepts

const partShapes = {
  text: validator(Name),
  license: validator(LicenseInFile),
  hours: validator(HoursShape),
  override: validator(OverrideShape),
  absence: validator(AbsenceShape),
}

/** Whether the zone data knows a zone of a name. */
export type IsZone = (name: string) => boolean

/**
 * What a directory file describes.
 *
 * @throws DirectoryInvalid with every fault and where it is
 */
export function readDirectoryFile(document: unknown, isZone: IsZone): DirectoryEntries {
  const isShaped = shape.accepts(document)
  const parts = partsOf(document, isShaped)
  const beyondShape = [...faultsInRegions(parts.regions), ...faultsInProviders(parts, isZone)]
  if (!isShaped) {
    const faults = shape.faultsOf(document)
    const reported = new Set(faults.map(({ path }) => path))
    throw invalidDirectory(document, [...faults, ...beyondShape.filter(({ path }) => !reported.has(path))])
  }
  if (beyondShape.length > 0) throw invalidDirectory(document, beyondShape)
  return { regions: document.regions.map(toRegionEntry), providers: document.providers.map(toProviderEntry) }
}

function invalidDirectory(document: unknown, faults: readonly Fault[]): DirectoryInvalid {
  const toPlaced = ({ path, fault }: Fault): DirectoryFault => {
    // Where a name is the fault, it stands in the path; and what is there may be anything.
    const value = fault === 'is not a known field' ? undefined : valueAt(document, path)
    return { ...placeInDocument(path), fault, value }
  }
  return new DirectoryInvalid(faults.map(toPlaced))
}

/** What stands in a place of a document; nothing for the whole of it. */
function valueAt(document: unknown, path: string): unknown {
  if (path === '') return undefined
  const steps = path.split(/[.[\]]+/).filter((step) => step !== '')
  return steps.reduce((value, step) => Object(value)[step], document)
}

/** What a document that may be wrongly shaped holds: the rules are held to what has its shape. */
interface Parts {
  readonly regions: readonly Partial<Record<keyof RegionInFile, unknown>>[]
  /** Whether every region is told apart: where one is not, a name that seems unknown may be its own. */
  readonly hasRegions: boolean
  readonly providers: readonly ProviderParts[]
}

/** A provider's parts in their places, undefined for those that have not their shape. */
type ProviderParts = ReturnType<typeof providerPartsOf>

/** @param isShaped whether the whole has its shape, so that no part need be looked at for its own */
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
  const sound = <S extends TSchema>({ accepts }: Validator<S>, value: unknown): Static<S> | undefined =>
    isShaped || accepts(value) ? (value as Static<S>) : undefined
  const soundElements = <S extends TSchema>(part: Validator<S>, list: unknown) =>
    elementsOf(list).map((element) => sound(part, element))
  return {
    ref: sound(partShapes.text, ref),
    timeZone: sound(partShapes.text, timeZone),
    licenses: soundElements(partShapes.license, licenses),
    inPersonRegions: soundElements(partShapes.text, inPersonRegions),
    workingHours: soundElements(partShapes.hours, workingHours),
    overrides: soundElements(partShapes.override, overrides),
    timeOff: soundElements(partShapes.absence, timeOff),
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
  for (const [i, { region, from, until }] of sound(licenses)) {
    expect(isRegion(region), `licenses[${i}].region`, 'names no region of this file')
    expect(!until || from <= until, `licenses[${i}].until`, 'must not be before from')
  }
  for (const [i, region] of sound(inPersonRegions)) {
    expect(isRegion(region), `inPersonRegions[${i}]`, 'names no region of this file')
  }
  for (const [i, hours] of sound(workingHours)) {
    const { from, until } = hours
    expectWindow(hours, `workingHours[${i}]`)
    expect(!from || !until || from <= until, `workingHours[${i}].until`, 'must not be before from')
  }
  for (const [i, { windows }] of sound(overrides)) {
    for (const [j, window] of windows.entries()) expectWindow(window, `overrides[${i}].windows[${j}]`)
  }
  const dates = overrides.map((override) => override?.date)
  faults.push(...repeated(dates, 'overrides', 'date', 'another override has this date'))
  for (const [i, absence] of sound(timeOff)) {
    const fault = absenceFault(absence)
    expect(fault === null, `timeOff[${i}].until`, fault ?? '')
  }
  return faults
}

/** The elements that have their shape, with their places. */
function sound<T>(elements: readonly (T | undefined)[]): [number, T][] {
  return elements.flatMap((element, index) => (element === undefined ? [] : [[index, element]]))
}

/** The faults of those in a list whose member has a value that an earlier one has; undefined is no value. */
function repeated(values: readonly unknown[], list: string, member: string, fault: string): Fault[] {
  const seen = new Set<unknown>()
  return values.flatMap((value, index) => {
    const isRepeated = value !== undefined && seen.has(value)
    seen.add(value)
    return isRepeated ? [{ path: `${list}[${index}].${member}`, fault }] : []
  })
}

/** What a region is referred to by; undefined where it lacks what that is made of. */
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
    // An empty text says nothing either, and CSV cannot tell the two apart.
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
