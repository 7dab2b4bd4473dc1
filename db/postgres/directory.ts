import { asc, getTableColumns, gt, sql } from 'drizzle-orm'
import type { Region } from '../../src/domain/region'
import { type FoundProviders, type ProviderRow, providerReader, readProviders } from '../sealed/providers'
import { type Drizzle, placeholders } from './drizzle'
import { idList, isAmong } from './id-list'
import { providers, regions } from './schema'

/** Queries on regions and providers. */
export function directoryQueries(db: Drizzle) {
  const { ids, after, most } = placeholders('ids', 'after', 'most')
  const allRegions = db.select().from(regions).orderBy(asc(regions.id)).prepare('')
  const laterIds = db
    .select({ id: providers.id })
    .from(providers)
    .where(gt(providers.id, after))
    .orderBy(asc(providers.id))
    .limit(most)
    .prepare('')
  // In words: Drizzle would leave out whose id is meant. As texts, which the driver leaves as they are.
  const theirLicenses = sql<string>`(
    select coalesce(json_agg(json_build_object('regionId', region_id, 'from', from_date, 'until', until_date) order by id), '[]')::text
    from licenses where provider_id = providers.id)`
  const theirInPersonRegions = sql<string>`(
    select coalesce(json_agg(region_id order by region_id), '[]')::text
    from in_person_regions where provider_id = providers.id)`
  const columns = getTableColumns(providers)
  const some = db
    .select({ ...columns, licenses: theirLicenses, inPersonRegionIds: theirInPersonRegions })
    .from(providers)
    .where(isAmong(providers.id, ids))
    .orderBy(asc(providers.id))
    .prepare('')
  const order = [...Object.keys(columns), 'licenses', 'inPersonRegionIds'] as const

  return {
    listRegions: (): Promise<Region[]> => allRegions.execute(),

    /** The ids of providers that come after one, in order, and so many at most. */
    async listProviderIds(after: number, most: number): Promise<number[]> {
      return (await laterIds.execute({ after, most })).map(({ id }) => id)
    },

    /**
     * The providers of some ids, in order of id, of one moment.
     *
     * @param read reads what many rows say once, for as long as it is used
     */
    async findProviders(wanted: readonly number[], read = providerReader()): Promise<FoundProviders> {
      const rows = await some.execute({ ids: idList(wanted) })
      const toRow = (row: (typeof rows)[number]) => order.map((name) => Reflect.get(row, name))
      return readProviders(rows.map(toRow) as unknown as ProviderRow[], read)
    },
  }
}
