import type { DirectoryFile, ProviderInFile } from '../../src/directory-files/document'
import { countryWide, region } from '../support/builders'
import type { Dice } from './dice'
import type { Absence } from './oracle-directory'
import { dateOf, zoneNames } from './wall-clock'

// Random directory files. They contain the same few regions and providers with different details. Some files omit a
// region or a provider.

export const providerCount = 5

export const regionIds = [9_000_031, 9_000_032, 9_000_044, 9_000_047] as const

const regions = [
  region(),
  region({ stateProvinceCode: 'QC', stateProvinceNameLocal: 'Québec' }),
  countryWide('GB', 'United Kingdom'),
  countryWide('IE', 'Ireland'),
]

const everyDay = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'] as const
const workdays = everyDay.slice(0, 5)

type Zone = (typeof zoneNames)[number]

/** Working hours that coincide in all zones, so that slots of different providers overlap. */
const usualHours: Record<Zone, readonly [start: string, end: string]> = {
  'America/Toronto': ['09:00', '12:00'],
  'Europe/London': ['14:10', '17:10'],
  'Asia/Kolkata': ['19:00', '22:00'],
}

/** Licenses, overrides and time off begin and end within weeks of `today`. */
export function directoryFileFrom(dice: Dice, today: number): DirectoryFile {
  const places = Array.from({ length: providerCount }, (_, place) => place)
  return {
    regions: regions.flatMap((one, place) => {
      if (dice.chance(0.04)) return []
      return [{ ...one, id: regionIds[place] as number, active: !dice.chance(place === 3 ? 0.3 : 0.08) }]
    }),
    providers: places.flatMap((place) => (dice.chance(0.06) ? [] : [providerFrom(dice, place, today)])),
  }
}

export function withKnownRegions(file: DirectoryFile): DirectoryFile {
  const known = file.regions.map(({ countryCode, stateProvinceCode: code }) =>
    code === countryCode ? code : `${countryCode}-${code}`,
  )
  return {
    ...file,
    providers: file.providers.map((provider) => ({
      ...provider,
      licenses: provider.licenses.filter((license) => known.includes(license.region)),
      inPersonRegions: provider.inPersonRegions?.filter((ref) => known.includes(ref)) ?? [],
    })),
  }
}

function providerFrom(dice: Dice, place: number, today: number): ProviderInFile {
  const usual = ([0, 1, 2, 0, 1] as const)[place % 5] ?? 0
  const timeZone = zoneNames[dice.chance(0.9) ? usual : dice.below(zoneNames.length)] as Zone
  return {
    ref: `p${place}`,
    firstName: 'Marlow',
    lastName: dice.pick(['Fernhill', `Provider ${place}`]),
    credentials: dice.pick([null, 'PhD']),
    pronouns: null,
    gender: null,
    bio: null,
    timeZone,
    languagesSpoken: dice.pick([['en'], ['fr-CA', 'en'], ['en-GB', 'fr']]),
    modalities: dice.pick([['in-video'], ['telephonic', 'in-video'], ['in-person']]),
    inPersonRegions: dice.chance(0.5) ? ['CA-ON'] : [],
    licenses: licensesFrom(dice, today),
    workingHours: workingHoursFrom(dice, timeZone, today),
    overrides: overridesFrom(dice, today),
    timeOff: dice.chance(0.4) ? [absenceFrom(dice, today)] : [],
    minimumNoticeMinutes: dice.pick([0, 0, 90, 1_440, 4_321]),
    active: !dice.chance(0.06),
  }
}

/** All providers have licenses in Ontario. Some licenses begin or end during the simulation, and some are consecutive. */
function licensesFrom(dice: Dice, today: number): ProviderInFile['licenses'] {
  const ontario = dice.pick([
    [[-400, null]],
    [[-400, dice.below(35)]],
    [
      [-400, 9],
      [10, 25],
    ],
    [[dice.below(8), 12 + dice.below(40)]],
  ]) as [number, number | null][]
  const others = [
    dice.chance(0.4) ? 'CA-QC' : null,
    dice.chance(0.6) ? 'GB' : null,
    dice.chance(0.2) ? 'IE' : null,
  ]
  const until = (days: number | null) => (days === null ? null : dateOf(today + days))
  return [
    ...ontario.map(([from, last]) => ({ region: 'CA-ON', from: dateOf(today + from), until: until(last) })),
    ...others.flatMap((code) =>
      code ? [{ region: code, from: dateOf(today - 30), until: until(dice.pick([null, 5, 20, 33])) }] : [],
    ),
  ]
}

function workingHoursFrom(dice: Dice, zone: Zone, today: number): ProviderInFile['workingHours'] {
  const [start, end] = usualHours[zone]
  const usual = { weekdays: [...(dice.chance(0.5) ? workdays : everyDay)], start, end }
  return dice.pick([
    [usual],
    [{ ...usual, stepMinutes: 60 }],
    [usual, { weekdays: [...workdays], start: end, end: '23:00' }],
    // A window past midnight that includes the hours of clock changes.
    [usual, { weekdays: ['saturday', 'monday'], start: '23:15', end: '04:00' }],
    [
      { ...usual, until: dateOf(today + 6) },
      { ...usual, from: dateOf(today + 7), start: '13:00', end: '16:45' },
    ],
  ])
}

function overridesFrom(dice: Dice, today: number): NonNullable<ProviderInFile['overrides']> {
  if (dice.chance(0.4)) return []
  const days = [...new Set([dice.below(6), dice.below(45)])].sort((a, b) => a - b)
  return days.map((days) => ({
    date: dateOf(today + days),
    windows: dice.pick([
      [],
      [{ start: '08:20', end: '10:40' }],
      [{ start: '10:00', end: '12:15', stepMinutes: 50 }],
    ]),
  }))
}

export function absenceFrom(dice: Dice, today: number): Absence {
  const from = today + dice.below(40)
  const [first, last] = [dateOf(from), dateOf(from + dice.below(4))]
  return dice.pick([
    { from: first, until: last },
    { from: `${first}T10:00`, until: `${first}T11:00` },
    { from: `${first}T14:30:00Z`, until: `${last}T21:00:00Z` },
  ])
}
