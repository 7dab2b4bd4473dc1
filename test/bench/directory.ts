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

/** The region in which all providers of the bench are licensed, and so on one list. */
export const regionRef = 'CA-ON'

/**
 * The built-in directory's regions with so many providers, the same each time. They work on weekdays and are away at both
 * ends of the 30 days: so an answer stays what it is while the bench runs, unless something is booked. What is left are
 * some 165 slots of each, which make a page of 20 a quarter of a megabyte.
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
  // Those of a place repeat, and do so together only after hundreds.
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
