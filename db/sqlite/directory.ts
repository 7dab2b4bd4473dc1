import { asc, eq, inArray, sql } from 'drizzle-orm'
import type { UnreadableProvider } from '../../src/domain/directory-feed'
import type { Provider } from '../../src/domain/provider'
import { areProviderLists } from '../../src/domain/provider-lists'
import type { Region } from '../../src/domain/region'
import type { Records } from '../../src/domain/writes'
import { type Drizzle, placeholders } from './drizzle'
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
  const allIds = db.select({ id: providers.id }).from(providers).orderBy(asc(providers.id)).prepare()
  const areNamed = inArray(providers.id, ids)
  const some = db.select().from(providers).where(areNamed).orderBy(asc(providers.id)).prepare()
  const theirLicenses = db
    .select({
      providerId: licenses.providerId,
      license: { regionId: licenses.regionId, from: licenses.from, until: licenses.until },
    })
    .from(licenses)
    .where(inArray(licenses.providerId, ids))
    .orderBy(asc(licenses.id))
    .prepare()
  const theirInPersonRegions = db
    .select()
    .from(inPersonRegions)
    .where(inArray(inPersonRegions.providerId, ids))
    .orderBy(asc(inPersonRegions.regionId))
    .prepare()

  return {
    listRegions: (): Region[] => allRegions.all(),
    listProviderIds: (): number[] => allIds.all().map(({ id }) => id),

    /** The providers of some ids, in order of id. */
    findProviders(wanted: readonly number[]): FoundProviders {
      const named = { ids: JSON.stringify(wanted) }
      const held = Map.groupBy(theirLicenses.all(named), ({ providerId }) => providerId)
      const seenIn = Map.groupBy(theirInPersonRegions.all(named), ({ providerId }) => providerId)
      const found = { providers: [] as Provider[], unreadable: [] as UnreadableProvider[] }
      for (const row of some.all(named)) {
        const { id, ref } = row
        const lists = readLists(row)
        if (!lists) found.unreadable.push({ id, ref, active: row.active })
        else {
          const licenses = held.get(id)?.map(({ license }) => license) ?? []
          const inPersonRegionIds = seenIn.get(id)?.map(({ regionId }) => regionId) ?? []
          found.providers.push({ ...row, ...lists, licenses, inPersonRegionIds })
        }
      }
      return found
    },
  }
}

/** The lists in a provider's row; null if one cannot be read. */
function readLists(row: typeof providers.$inferSelect) {
  try {
    const lists = {
      languagesSpoken: JSON.parse(row.languagesSpoken),
      modalities: JSON.parse(row.modalities),
      workingHours: JSON.parse(row.workingHours),
      overrides: JSON.parse(row.overrides),
      timeOff: JSON.parse(row.timeOff),
    }
    return areProviderLists(lists) ? lists : null
  } catch {
    return null
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
