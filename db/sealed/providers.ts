import { memo } from '../../src/domain/memo'
import type { DirectoryChanges, UnreadableProvider } from '../../src/domain/ports/directory-feed'
import type { Records } from '../../src/domain/ports/writes'
import type { License, Provider } from '../../src/domain/provider'
import { providerLists } from '../../src/domain/provider-lists'

export type FoundProviders = Pick<DirectoryChanges, 'providers' | 'unreadable'>

/** A number on SQLite, a boolean on PostgreSQL. */
type Flag = 0 | 1 | boolean

export type ProviderRow = [
  ...[id: number, ref: string, firstName: string, lastName: string],
  ...[credentials: string | null, pronouns: string | null, gender: string | null, bio: string | null],
  ...[timeZone: string, languagesSpoken: string, modalities: string],
  ...[workingHours: string, overrides: string, timeOff: string],
  ...[minimumNoticeMinutes: number, active: Flag, suspended: Flag, staffTimeOff: string],
  ...[licenses: string, inPersonRegionIds: string],
]

/** Returns a parser for provider rows. The parser returns null if a list is invalid. */
export function providerReader() {
  const word = memoized((text) => text)
  const wordOrNull = (text: string | null) => (text === null ? null : word(text))
  const languagesOf = memoized(listReader(providerLists.languagesSpoken))
  const modalitiesOf = memoized(listReader(providerLists.modalities))
  const hoursOf = memoized(listReader(providerLists.workingHours))
  const overridesOf = memoized(listReader(providerLists.overrides))
  const timeOffOf = memoized(listReader(providerLists.timeOff))
  const staffTimeOffOf = memoized(listReader(providerLists.staffTimeOff))
  const licensesOf = memoized((json): readonly License[] => JSON.parse(json).map(toLicense))
  const regionIdsOf = memoized((json): readonly number[] => JSON.parse(json).flat())

  return (row: ProviderRow): Provider | null => {
    const [id, ref, firstName, lastName, credentials, pronouns, gender, bio, timeZone, ...rest] = row
    const [languages, modes, hours, replaced, absences, minimumNoticeMinutes, active, ...more] = rest
    const [suspended, staffAbsences, held, seenIn] = more
    const [languagesSpoken, modalities] = [languagesOf(languages), modalitiesOf(modes)]
    const [workingHours, overrides, timeOff] = [hoursOf(hours), overridesOf(replaced), timeOffOf(absences)]
    const staffTimeOff = staffTimeOffOf(staffAbsences)
    if (!languagesSpoken || !modalities || !workingHours || !overrides || !timeOff || !staffTimeOff)
      return null
    return {
      id,
      ref,
      firstName: word(firstName),
      lastName: word(lastName),
      credentials: wordOrNull(credentials),
      pronouns: wordOrNull(pronouns),
      gender: wordOrNull(gender),
      bio,
      timeZone: word(timeZone),
      languagesSpoken,
      modalities,
      workingHours,
      overrides,
      timeOff,
      minimumNoticeMinutes,
      active: Boolean(active),
      suspended: Boolean(suspended),
      staffTimeOff,
      licenses: licensesOf(held),
      inPersonRegionIds: regionIdsOf(seenIn),
    }
  }
}

function toLicense([regionId, from, until]: [number, string, string | null]): License {
  return { regionId, from, until }
}

function listReader<List>({ accepts }: { accepts(value: unknown): value is List }) {
  return (json: string): List | null => {
    try {
      const list: unknown = JSON.parse(json)
      return accepts(list) ? list : null
    } catch {
      return null
    }
  }
}

// Equal values of many records share memory. They must not be changed.
const memoized = <Made>(make: (text: string) => Made) => memo(Infinity, make, Infinity)

export function readProviders(
  rows: readonly ProviderRow[],
  read: (row: ProviderRow) => Provider | null,
): FoundProviders {
  const found = { providers: [] as Provider[], unreadable: [] as UnreadableProvider[] }
  for (const row of rows) {
    const provider = read(row)
    if (provider) found.providers.push(provider)
    else found.unreadable.push({ id: row[0], ref: row[1], active: Boolean(row[15]) && !row[16] })
  }
  return found
}

/** Omits licenses and in-person regions, which are rows of other tables. All other lists are JSON columns. */
export function providerColumns({
  licenses: _,
  inPersonRegionIds: __,
  ...profile
}: Partial<Records['provider']>) {
  const toColumn = (value: unknown) => (Array.isArray(value) ? JSON.stringify(value) : value)
  return Object.fromEntries(Object.entries(profile).map(([name, value]) => [name, toColumn(value)]))
}
