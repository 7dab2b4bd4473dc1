import type { DirectoryFile } from '../../src/directory-files/document'
import { builtInDirectory } from '../../src/directory-files/sandbox'
import { dayMinutes, formatDate, minuteMillis } from '../../src/scheduling/calendar'

type ProviderInFile = DirectoryFile['providers'][number]

const weekdays: ProviderInFile['workingHours'][number]['weekdays'] = [
  'monday',
  'tuesday',
  'wednesday',
  'thursday',
  'friday',
]
const mornings = ['08:00', '08:30', '09:00', '09:15']
const zones = [
  'America/Toronto',
  'America/Winnipeg',
  'America/Vancouver',
  'America/Halifax',
  'America/St_Johns',
]
const spoken = [['en'], ['en-CA', 'fr-CA'], ['en', 'pa']]
const modalities: ProviderInFile['modalities'][] = [
  ['in-video'],
  ['telephonic', 'in-video'],
  ['in-person', 'telephonic', 'in-video'],
]
const [firstNames, lastNames] = [
  ['Amber', 'Birch', 'Cedar', 'Dahlia', 'Elm', 'Fern', 'Garnet'],
  ['Brookvale', 'Cloverfield', 'Dawnridge', 'Eastwillow', 'Foxglen'],
]

/** The region in which all providers of the benchmark are licensed. */
export const regionRef = 'CA-ON'

/**
 * A fixed directory with the built-in regions and the given number of providers. The providers work on weekdays and are
 * away at both ends of the 30 days, so pages stay the same during a run unless something is booked. Each has about 165
 * slots, and a page of 20 has about 250 kB.
 */
export function directoryOf(count: number): DirectoryFile {
  const today = Math.floor(Date.now() / (dayMinutes * minuteMillis))
  const away = (from: number, until: number) => ({
    from: formatDate(today + from),
    until: formatDate(today + until),
  })
  const timeOff = [away(-1, 1), away(29, 32)]
  const { regions } = builtInDirectory(today)
  return { regions, providers: Array.from({ length: count }, (_, index) => providerAt(index, timeOff)) }
}

function providerAt(index: number, timeOff: ProviderInFile['timeOff']): ProviderInFile {
  // Values repeat in cycles of different lengths, so that combinations repeat only after hundreds of providers.
  const at = <T>(values: readonly T[], step = index) => values[step % values.length] as T
  const seesPeople = at(modalities).includes('in-person')
  return {
    ref: `bench-${index + 1}`,
    firstName: at(firstNames),
    lastName: `${at(lastNames)} ${index + 1}`,
    credentials: 'MSW, RSW',
    bio: `${at(firstNames)} listens first, and keeps a kettle warm for every conversation.`,
    timeZone: at(zones),
    languagesSpoken: at(spoken, Math.floor(index / 3)),
    modalities: at(modalities),
    ...(seesPeople && { inPersonRegions: [regionRef] }),
    licenses: [{ region: regionRef, from: '2015-04-01' }],
    workingHours: [
      { weekdays, start: at(mornings), end: '12:15' },
      { weekdays, start: '13:00', end: '16:00' },
    ],
    ...(timeOff && { timeOff }),
  }
}
