import { asc, eq, getTableColumns, gt, inArray, sql } from 'drizzle-orm'
import type { UnreadableProvider } from '../../src/domain/directory-feed'
import type { License, Provider } from '../../src/domain/provider'
import { providerLists } from '../../src/domain/provider-lists'
import type { Region } from '../../src/domain/region'
import type { Records } from '../../src/domain/writes'
import { type Drizzle, placeholders } from './drizzle'
import { madeOnce } from './in-common'
import { type RecordTable, recordTable } from './record-table'
import { inPersonRegions, licenses, providers, regions } from './schema'

/** Providers as they are stored: those that can be read, and those that cannot. */
export interface FoundProviders {
  readonly providers: readonly Provider[]
  readonly unreadable: readonly UnreadableProvider[]
}

/** Queries on regions and providers. */
export function directoryQueries(db: Drizzle) {
  // A list of ids goes into a prepared statement as one text of JSON.
  const ids = sql`(select value from json_each(${sql.placeholder('ids')}))`
  const allRegions = db.select().from(regions).orderBy(asc(regions.id)).prepare()
  const { after, most } = placeholders('after', 'most')
  const laterIds = db
    .select({ id: providers.id })
    .from(providers)
    .where(gt(providers.id, after))
    .orderBy(asc(providers.id))
    .limit(most)
    .prepare()
  const areNamed = inArray(providers.id, ids)
  // In words: Drizzle would leave out whose id is meant.
  const theirLicenses = sql`(
    select json_group_array(json_object('regionId', region_id, 'from', from_date, 'until', until_date) order by id)
    from licenses where provider_id = providers.id)`
  const theirInPersonRegions = sql`(
    select json_group_array(region_id order by region_id)
    from in_person_regions where provider_id = providers.id)`
  const some = db
    .select({
      ...getTableColumns(providers),
      licenses: theirLicenses,
      inPersonRegionIds: theirInPersonRegions,
    })
    .from(providers)
    .where(areNamed)
    .orderBy(asc(providers.id))
    .prepare()

  return {
    listRegions: (): Region[] => allRegions.all(),

    /** The ids of providers that come after one, in order, and so many at most. */
    listProviderIds: (after: number, most: number): number[] =>
      (laterIds.values({ after, most }) as number[][]).flat(),

    /**
     * The providers of some ids, in order of id, of one moment.
     *
     * @param read reads what many rows say once, for as long as it is used
     */
    findProviders(wanted: readonly number[], read = providerReader()): FoundProviders {
      const found = { providers: [] as Provider[], unreadable: [] as UnreadableProvider[] }
      // The driver's rows are taken as they are, since all are read at each start.
      for (const row of some.values({ ids: JSON.stringify(wanted) }) as ProviderRow[]) {
        const provider = read(row)
        if (provider) found.providers.push(provider)
        else found.unreadable.push({ id: row[0], ref: row[1], active: row[15] === 1 && row[16] === 0 })
      }
      return found
    },
  }
}

/** A provider's columns, and the lists of other tables as JSON. */
type ProviderRow = [
  ...[id: number, ref: string, firstName: string, lastName: string],
  ...[credentials: string | null, pronouns: string | null, gender: string | null, bio: string | null],
  ...[timeZone: string, languagesSpoken: string, modalities: string],
  ...[workingHours: string, overrides: string, timeOff: string],
  ...[minimumNoticeMinutes: number, active: 0 | 1, suspended: 0 | 1, staffTimeOff: string],
  ...[licenses: string, inPersonRegionIds: string],
]

/** Reads providers' rows; null for one of which a list cannot be read. Words and lists that they have in common are kept once. */
export function providerReader() {
  const word = madeOnce((text) => text)
  const wordOrNull = (text: string | null) => (text === null ? null : word(text))
  const languagesOf = madeOnce(listReader(providerLists.languagesSpoken))
  const modalitiesOf = madeOnce(listReader(providerLists.modalities))
  const hoursOf = madeOnce(listReader(providerLists.workingHours))
  const overridesOf = madeOnce(listReader(providerLists.overrides))
  const timeOffOf = madeOnce(listReader(providerLists.timeOff))
  const staffTimeOffOf = madeOnce(listReader(providerLists.staffTimeOff))
  const licensesOf = madeOnce((json): readonly License[] => JSON.parse(json))
  const regionIdsOf = madeOnce((json): readonly number[] => JSON.parse(json))

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
      active: active === 1,
      suspended: suspended === 1,
      staffTimeOff,
      licenses: licensesOf(held),
      inPersonRegionIds: regionIdsOf(seenIn),
    }
  }
}

/** Reads a list that was stored as JSON; null for one that cannot be read. */
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

/** A provider's row, with what ties it to regions in tables of their own. */
export function providerTable(db: Drizzle): RecordTable<'provider'> {
  const rows = recordTable<'provider'>(db, providers, toColumns)
  const { id } = placeholders('id')
  const license = placeholders('providerId', 'regionId', 'from', 'until')
  const insertLicense = db.insert(licenses).values(license).prepare()
  const deleteLicenses = db.delete(licenses).where(eq(licenses.providerId, id)).prepare()
  const inPersonRegion = placeholders('providerId', 'regionId')
  const insertInPersonRegion = db.insert(inPersonRegions).values(inPersonRegion).prepare()
  const deleteInPersonRegions = db.delete(inPersonRegions).where(eq(inPersonRegions.providerId, id)).prepare()

  function tie(providerId: number, { licenses, inPersonRegionIds }: Partial<Records['provider']>): void {
    if (licenses) deleteLicenses.run({ id: providerId })
    for (const license of licenses ?? []) insertLicense.run({ ...license, providerId })
    if (inPersonRegionIds) deleteInPersonRegions.run({ id: providerId })
    for (const regionId of inPersonRegionIds ?? []) insertInPersonRegion.run({ providerId, regionId })
  }

  return {
    add(row) {
      const id = rows.add(row)
      tie(id, row)
      return id
    },
    set(id, to) {
      rows.set(id, to)
      tie(id, to)
    },
    remove: rows.remove,
  }
}

/** Lists that belong to one provider alone are JSON in its row. */
function toColumns({ licenses: _, inPersonRegionIds: __, ...profile }: Partial<Records['provider']>) {
  const toColumn = (value: unknown) => (Array.isArray(value) ? JSON.stringify(value) : value)
  return Object.fromEntries(Object.entries(profile).map(([name, value]) => [name, toColumn(value)]))
}
