import { type Static, Type } from '@sinclair/typebox'
import { Refusal } from '../domain/errors'
import { modalities } from '../domain/modality'
import { absenceForm, weekdays } from '../domain/provider'
import { regionRef } from '../domain/region'
import type { ProviderEntry, RegionEntry } from '../domain/store'
import { Choice, type Fault, Text, validator } from '../domain/validation'
import { dayMinutes } from '../scheduling/calendar'
import { slotMinutes } from '../scheduling/slots'

const closed = { additionalProperties: false }
const Name = Text({ minLength: 1, maxLength: 200 })
const Line = Type.Union([Type.Null(), Text({ maxLength: 500 })])
const CalendarDate = Text({ format: 'date' })
const TimeOfDay = Text({ format: 'time-of-day' })
const RegionRef = Text({ minLength: 1, maxLength: 10 })
const StepMinutes = Type.Integer({ minimum: slotMinutes, maximum: dayMinutes })

const RegionInFile = Type.Object(
  {
    id: Type.Optional(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })),
    countryCode: Text({ format: 'country-code' }),
    stateProvinceCode: Text({ minLength: 1, maxLength: 3 }),
    stateProvinceNameLocal: Name,
    stateProvinceLabel: Name,
    active: Type.Optional(Type.Boolean()),
  },
  closed,
)

const WindowInFile = Type.Object(
  { start: TimeOfDay, end: TimeOfDay, stepMinutes: Type.Optional(StepMinutes) },
  closed,
)

const ProviderInFile = Type.Object(
  {
    ref: Name,
    firstName: Name,
    lastName: Name,
    credentials: Type.Optional(Line),
    pronouns: Type.Optional(Line),
    gender: Type.Optional(Line),
    bio: Type.Optional(Type.Union([Type.Null(), Text({ maxLength: 4000 })])),
    timeZone: Text({ minLength: 1, maxLength: 100 }),
    languagesSpoken: Type.Array(Text({ format: 'language-tag' }), { minItems: 1, uniqueItems: true }),
    modalities: Type.Array(Choice(modalities), { minItems: 1, uniqueItems: true }),
    inPersonRegions: Type.Optional(Type.Array(RegionRef, { uniqueItems: true })),
    licenses: Type.Array(
      Type.Object(
        {
          region: RegionRef,
          from: CalendarDate,
          until: Type.Optional(Type.Union([Type.Null(), CalendarDate])),
        },
        closed,
      ),
    ),
    workingHours: Type.Array(
      Type.Object(
        {
          weekdays: Type.Array(Choice(weekdays), { minItems: 1, uniqueItems: true }),
          start: TimeOfDay,
          end: TimeOfDay,
          from: Type.Optional(CalendarDate),
          until: Type.Optional(CalendarDate),
          stepMinutes: Type.Optional(StepMinutes),
        },
        closed,
      ),
    ),
    overrides: Type.Optional(
      Type.Array(Type.Object({ date: CalendarDate, windows: Type.Array(WindowInFile) }, closed)),
    ),
    timeOff: Type.Optional(
      Type.Array(
        Type.Object(
          { from: Text({ format: 'absence-boundary' }), until: Text({ format: 'absence-boundary' }) },
          closed,
        ),
      ),
    ),
    minimumNoticeMinutes: Type.Optional(Type.Integer({ minimum: 0, maximum: 30 * dayMinutes })),
    active: Type.Optional(Type.Boolean()),
  },
  closed,
)

/** The document that describes a directory: its regions, and the providers who are licensed in them. */
export const DirectoryFile = Type.Object(
  { regions: Type.Array(RegionInFile), providers: Type.Array(ProviderInFile) },
  closed,
)

export type DirectoryFile = Static<typeof DirectoryFile>
type RegionInFile = Static<typeof RegionInFile>
type ProviderInFile = Static<typeof ProviderInFile>

const shape = validator(DirectoryFile)

/**
 * What a directory file describes.
 *
 * @param isZone whether the zone data knows a zone of that name
 * @throws Refusal directory_invalid with every fault, a line each, and where it is
 */
export function readDirectoryFile(
  document: unknown,
  isZone: (name: string) => boolean,
): { regions: RegionEntry[]; providers: ProviderEntry[] } {
  if (!shape.accepts(document)) throw invalid(shape.faultsOf(document))
  const faults = [...faultsInRegions(document.regions), ...faultsInProviders(document, isZone)]
  if (faults.length > 0) throw invalid(faults)
  return { regions: document.regions.map(toRegionEntry), providers: document.providers.map(toProviderEntry) }
}

function invalid(faults: readonly Fault[]): Refusal {
  return new Refusal(
    'directory_invalid',
    faults.map(({ path, fault }) => `${path || 'the file'}: ${fault}`).join('\n'),
  )
}

function faultsInRegions(regions: readonly RegionInFile[]): Fault[] {
  return [
    ...repeated(regions.map((region) => refOf(region))).map((index) => ({
      path: `regions[${index}].stateProvinceCode`,
      fault: 'the region is listed twice',
    })),
    ...repeated(regions.map(({ id }) => id)).map((index) => ({
      path: `regions[${index}].id`,
      fault: 'another region has this id',
    })),
  ]
}

function faultsInProviders(
  { regions, providers }: DirectoryFile,
  isZone: (name: string) => boolean,
): Fault[] {
  const known = new Set(regions.map(refOf))
  return [
    ...repeated(providers.map(({ ref }) => ref)).map((index) => ({
      path: `providers[${index}].ref`,
      fault: 'another provider has this ref',
    })),
    ...providers.flatMap((provider, index) =>
      faultsInProvider(provider, known, isZone).map(({ path, fault }) => ({
        path: `providers[${index}].${path}`,
        fault,
      })),
    ),
  ]
}

function faultsInProvider(
  provider: ProviderInFile,
  knownRegions: ReadonlySet<string>,
  isZone: (name: string) => boolean,
): Fault[] {
  const faults: Fault[] = []
  const expect = (isRight: boolean, path: string, fault: string) => {
    if (!isRight) faults.push({ path, fault })
  }
  const { timeZone, licenses, inPersonRegions = [], workingHours, overrides = [], timeOff = [] } = provider
  expect(isZone(timeZone), 'timeZone', 'must be an IANA time zone')
  for (const [i, { region, from, until }] of licenses.entries()) {
    expect(knownRegions.has(region), `licenses[${i}].region`, 'names no region of this file')
    expect(!until || from <= until, `licenses[${i}].until`, 'must not be before from')
  }
  for (const [i, region] of inPersonRegions.entries()) {
    expect(knownRegions.has(region), `inPersonRegions[${i}]`, 'names no region of this file')
  }
  for (const [i, { start, end, from, until }] of workingHours.entries()) {
    expect(start !== end, `workingHours[${i}].end`, 'must not equal start')
    expect(start !== '24:00', `workingHours[${i}].start`, 'must be before 24:00')
    expect(!from || !until || from <= until, `workingHours[${i}].until`, 'must not be before from')
  }
  for (const [i, { windows }] of overrides.entries()) {
    for (const [j, { start, end }] of windows.entries()) {
      expect(start !== end, `overrides[${i}].windows[${j}].end`, 'must not equal start')
      expect(start !== '24:00', `overrides[${i}].windows[${j}].start`, 'must be before 24:00')
    }
  }
  for (const i of repeated(overrides.map(({ date }) => date))) {
    expect(false, `overrides[${i}].date`, 'another override has this date')
  }
  for (const [i, { from, until }] of timeOff.entries()) {
    const form = absenceForm(from)
    expect(form === absenceForm(until), `timeOff[${i}].until`, 'must have the same form as from')
    const isEmpty = form === 'date' ? until < from : until <= from
    expect(!isEmpty, `timeOff[${i}].until`, 'must be after from')
  }
  return faults
}

/** The indexes at which a value stands again that stood earlier; undefined is no value. */
function repeated(values: readonly unknown[]): number[] {
  const seen = new Set<unknown>()
  return values.flatMap((value, index) => {
    if (value === undefined) return []
    if (seen.has(value)) return [index]
    seen.add(value)
    return []
  })
}

function refOf({ countryCode, stateProvinceCode }: RegionInFile): string {
  return regionRef({ countryCode: countryCode.toUpperCase(), code: stateProvinceCode })
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
    credentials: provider.credentials ?? null,
    pronouns: provider.pronouns ?? null,
    gender: provider.gender ?? null,
    bio: provider.bio ?? null,
    inPersonRegions: provider.inPersonRegions ?? [],
    licenses: provider.licenses.map(({ region, from, until = null }) => ({ region, from, until })),
    overrides: provider.overrides ?? [],
    timeOff: provider.timeOff ?? [],
    minimumNoticeMinutes: provider.minimumNoticeMinutes ?? 0,
    active: provider.active ?? true,
  } as ProviderEntry
}
