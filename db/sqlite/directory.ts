import { asc, eq, inArray, sql } from 'drizzle-orm'
import type { UnreadableProvider } from '../../src/domain/directory-feed'
import type { Provider } from '../../src/domain/provider'
import type { Region } from '../../src/domain/region'
import type { Records } from '../../src/domain/writes'
import type { Drizzle } from './drizzle'
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
  const some = db
    .select()
    .from(providers)
    .where(inArray(providers.id, ids))
    .orderBy(asc(providers.id))
    .prepare()
  const theirLicenses = db
    .select()
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
      const held = Map.groupBy(theirLicenses.all(named), (license) => license.providerId)
      const seenIn = Map.groupBy(theirInPersonRegions.all(named), (region) => region.providerId)
      const found = { providers: [] as Provider[], unreadable: [] as UnreadableProvider[] }
      for (const row of some.all(named)) {
        const profile = toProfile(row)
        if (!profile) found.unreadable.push({ id: row.id, ref: row.ref })
        else
          found.providers.push({
            ...profile,
            licenses: (held.get(row.id) ?? []).map(({ regionId, from, until }) => ({
              regionId,
              from,
              until,
            })),
            inPersonRegionIds: (seenIn.get(row.id) ?? []).map(({ regionId }) => regionId),
          })
      }
      return found
    },
  }
}

/** A row as a provider, apart from the regions; null for one that cannot be read. */
function toProfile(
  row: typeof providers.$inferSelect,
): Omit<Provider, 'licenses' | 'inPersonRegionIds'> | null {
  try {
    return {
      ...row,
      languagesSpoken: toList(row.languagesSpoken),
      modalities: toList(row.modalities),
      workingHours: toList(row.workingHours),
      overrides: toList(row.overrides),
      timeOff: toList(row.timeOff),
    }
  } catch {
    return null
  }
}

function toList<Item>(text: string): Item[] {
  const list: unknown = JSON.parse(text)
  if (!Array.isArray(list)) throw new TypeError('not a list')
  return list
}

export function regionTable(db: Drizzle): RecordTable<'region'> {
  return recordTable<'region'>(db, regions, (row) => row)
}

/** A provider's row, with what ties it to regions in tables of their own. */
export function providerTable(db: Drizzle): RecordTable<'provider'> {
  const rows = recordTable<'provider'>(db, providers, toColumns)
  const providerId = sql.placeholder('providerId')
  const regionId = sql.placeholder('regionId')
  const insertLicense = db
    .insert(licenses)
    .values({ providerId, regionId, from: sql.placeholder('from'), until: sql.placeholder('until') })
    .prepare()
  const deleteLicenses = db.delete(licenses).where(eq(licenses.providerId, providerId)).prepare()
  const insertInPersonRegion = db.insert(inPersonRegions).values({ providerId, regionId }).prepare()
  const deleteInPersonRegions = db
    .delete(inPersonRegions)
    .where(eq(inPersonRegions.providerId, providerId))
    .prepare()
  const addLicenses = (id: number, held: Provider['licenses']) => {
    for (const license of held) insertLicense.run({ ...license, providerId: id })
  }
  const addInPersonRegions = (id: number, regionIds: readonly number[]) => {
    for (const regionId of regionIds) insertInPersonRegion.run({ providerId: id, regionId })
  }
  return {
    add(row) {
      const id = rows.add(row)
      addLicenses(id, row.licenses)
      addInPersonRegions(id, row.inPersonRegionIds)
      return id
    },
    set(id, to) {
      rows.set(id, to)
      if (to.licenses) {
        deleteLicenses.run({ providerId: id })
        addLicenses(id, to.licenses)
      }
      if (to.inPersonRegionIds) {
        deleteInPersonRegions.run({ providerId: id })
        addInPersonRegions(id, to.inPersonRegionIds)
      }
    },
    remove: rows.remove,
  }
}

/** Lists that belong to one provider alone are JSON in its row. */
function toColumns({ licenses: _, inPersonRegionIds: __, ...profile }: Partial<Records['provider']>) {
  return Object.fromEntries(
    Object.entries(profile).map(([name, value]) => [
      name,
      Array.isArray(value) ? JSON.stringify(value) : value,
    ]),
  )
}
