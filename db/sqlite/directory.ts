import { asc, eq, getTableColumns, gt, inArray, sql } from 'drizzle-orm'
import type { Region } from '../../src/domain/region'
import type { Records } from '../../src/domain/writes'
import {
  type FoundProviders,
  type ProviderRow,
  providerColumns,
  providerReader,
  readProviders,
} from '../sealed/providers'
import { type Drizzle, placeholders } from './drizzle'
import { type RecordTable, recordTable } from './record-table'
import { inPersonRegions, licenses, providers, regions } from './schema'

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
      // The driver's rows are taken as they are, since all are read at each start.
      return readProviders(some.values({ ids: JSON.stringify(wanted) }) as ProviderRow[], read)
    },
  }
}

/** A provider's row, with what ties it to regions in tables of their own. */
export function providerTable(db: Drizzle): RecordTable<'provider'> {
  const rows = recordTable<'provider'>(db, providers, providerColumns)
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
