import type { DirectoryFile, ProviderInFile } from '../../src/directory-files/document'
import { countryWide, region } from '../support/builders'
import type { Dice } from './dice'
import { absenceFrom, regionIds } from './directory-files'
import { dateOf } from './wall-clock'

// A directory of many providers at random, in zones and with hours of all kinds.

const zones = [
  'America/Toronto',
  'America/Toronto',
  'Europe/London',
  'Asia/Kolkata',
  'America/St_Johns',
  'America/Vancouver',
  // Clocks that are changed at midnight, by half an hour, and where it is another day.
  'America/Santiago',
  'Australia/Lord_Howe',
  'Pacific/Auckland',
  'Pacific/Kiritimati',
  'Etc/GMT+12',
] as const

const regions: DirectoryFile['regions'] = [
  { ...region(), id: regionIds[0], active: true },
  {
    ...region({ stateProvinceCode: 'QC', stateProvinceNameLocal: 'Québec' }),
    id: regionIds[1],
    active: true,
  },
  { ...countryWide('GB', 'United Kingdom'), id: regionIds[2], active: true },
  { ...countryWide('IE', 'Ireland'), id: regionIds[3], active: true },
]

const everyDay = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'] as const

/** @param today a day near which all begins and ends */
export function manyProviders(dice: Dice, count: number, today: number): DirectoryFile {
  const providers = Array.from({ length: count }, (_, place) => providerFrom(dice, place, today))
  return { regions, providers }
}

/** The same directory but for some of what is said: of a few providers, and now and then of a region. */
export function changed(dice: Dice, file: DirectoryFile, today: number): DirectoryFile {
  const places = new Set(Array.from({ length: 1 + dice.below(3) }, () => dice.below(file.providers.length)))
  return {
    regions: file.regions.map((one) => {
      const active = one.active ? !dice.chance(0.07) : dice.chance(0.8)
      return active === one.active ? one : { ...one, active }
    }),
    providers: file.providers.map((one, place) =>
      places.has(place) ? changedProvider(dice, one, today) : one,
    ),
  }
}

/** The same but for one provider more. */
export function withNewcomer(
  dice: Dice,
  { regions, providers }: DirectoryFile,
  today: number,
): DirectoryFile {
  const highest = Math.max(...providers.map(({ ref }) => Number(ref.slice(1))))
  return { regions, providers: [...providers, providerFrom(dice, highest + 1, today)] }
}

function changedProvider(dice: Dice, one: ProviderInFile, today: number): ProviderInFile {
  const other = providerFrom(dice, 0, today)
  const { licenses, workingHours, overrides = [], timeZone, minimumNoticeMinutes = 0 } = other
  return {
    ...one,
    ...dice.weighed<Partial<ProviderInFile>>([
      [3, () => ({ licenses })],
      [2, () => ({ workingHours, overrides })],
      [1, () => ({ timeZone })],
      [1, () => ({ minimumNoticeMinutes })],
      [
        2,
        () => ({ firstName: `Marlow ${dice.below(100)}`, bio: dice.pick([null, 'Listens: “ä”, 日本語.']) }),
      ],
      [1, () => ({ languagesSpoken: other.languagesSpoken })],
      [1, () => ({ modalities: other.modalities, inPersonRegions: other.inPersonRegions ?? [] })],
      [1, () => ({ active: !one.active })],
      // Only what nobody sees.
      [1, () => ({ timeOff: [] })],
    ]),
  }
}

function providerFrom(dice: Dice, place: number, today: number): ProviderInFile {
  return {
    ref: `p${place}`,
    firstName: 'Marlow',
    lastName: `Provider ${place}`,
    credentials: dice.pick([null, 'PhD']),
    pronouns: null,
    gender: null,
    bio: null,
    timeZone: dice.pick(zones),
    languagesSpoken: dice.pick([['en'], ['fr-CA', 'en'], ['en-GB', 'fr']]),
    modalities: dice.pick([['in-video'], ['telephonic', 'in-video'], ['in-person']]),
    inPersonRegions: dice.chance(0.5) ? ['CA-ON'] : [],
    licenses: licensesFrom(dice, today),
    workingHours: workingHoursFrom(dice, today),
    overrides: dice.chance(0.7)
      ? []
      : [
          {
            date: dateOf(today + dice.below(60)),
            windows: dice.pick([[], [{ start: '08:20', end: '10:40' }]]),
          },
        ],
    timeOff: dice.chance(0.2) ? [absenceFrom(dice, today)] : [],
    minimumNoticeMinutes: dice.pick([0, 0, 0, 90, 1_440, 4_321]),
    active: !dice.chance(0.04),
  }
}

/** Many end, begin or are renewed while the test goes on. */
function licensesFrom(dice: Dice, today: number): ProviderInFile['licenses'] {
  const spans = (): (readonly [from: number, until: number | null])[] =>
    dice.pick([
      [[-400, null]],
      [[-400, null]],
      [[-400, dice.below(45)]],
      [[dice.below(20), null]],
      [
        [-400, 9],
        [10, 25],
      ],
      [
        [-400, 4],
        [7, null],
      ],
    ] as (readonly [number, number | null])[][])
  const codes = [
    ...(dice.chance(0.75) ? ['CA-ON'] : []),
    ...(dice.chance(0.25) ? ['CA-QC'] : []),
    ...(dice.chance(0.35) ? ['GB'] : []),
    ...(dice.chance(0.1) ? ['IE'] : []),
  ]
  return codes.flatMap((code) =>
    spans().map(([from, until]) => ({
      region: code,
      from: dateOf(today + from),
      until: until === null ? null : dateOf(today + until),
    })),
  )
}

function workingHoursFrom(dice: Dice, today: number): ProviderInFile['workingHours'] {
  const some = (count: number) => [...new Set(Array.from({ length: count }, () => dice.pick(everyDay)))]
  const start = `${String(7 + dice.below(10)).padStart(2, '0')}:${dice.pick(['00', '05', '30'])}`
  const end = `${String(Number(start.slice(0, 2)) + 2).padStart(2, '0')}:30`
  const usual = { weekdays: some(2), start, end }
  return dice.weighed<ProviderInFile['workingHours']>([
    [5, () => [usual]],
    [2, () => [{ ...usual, stepMinutes: dice.pick([50, 60]) }]],
    // Two that overlap on some of their days, and two that meet: one grid, and two.
    [3, () => [usual, { weekdays: some(2), start: '09:10', end: '11:20', stepMinutes: 50 }]],
    [1, () => [usual, { weekdays: usual.weekdays, start: end, end: '23:00' }]],
    // Over midnight, and over the hours at which clocks are changed.
    [2, () => [{ weekdays: ['saturday', 'sunday'], start: '22:40', end: '03:25' }]],
    [1, () => [{ weekdays: ['saturday', 'sunday'], start: '00:20', end: '02:45' }]],
    // Until some date, and otherwise from then on.
    [
      1,
      () => [
        { ...usual, until: dateOf(today + 6) },
        { ...usual, from: dateOf(today + 7), start: '13:00', end: '16:45' },
      ],
    ],
    [0.5, () => [{ weekdays: [...everyDay], start: '00:00', end: '24:00' }]],
    [0.5, () => []],
  ])
}
