import { asc, eq, getTableColumns, gt, sql } from 'drizzle-orm'
import type { MaybePromise } from '../../src/domain/ports/store'
import type { Region } from '../../src/domain/region'
import { type FoundProviders, type ProviderRow, providerReader, readProviders } from '../sealed/providers'
import { placeholders, type QueriesOf, type QueryEngine, then } from './engine'

export function directoryQueries({ db, tables: { regions, providers }, ...engine }: QueryEngine) {
  const { ids, after, most, ref } = placeholders('ids', 'after', 'most', 'ref')
  const { id, firstName, lastName, timeZone } = providers
  const allRegions = engine.prepare(db.select().from(regions).orderBy(asc(regions.id)))
  const laterIds = engine.prepare(
    db.select({ id }).from(providers).where(gt(providers.id, after)).orderBy(asc(providers.id)).limit(most),
  )
  const idOf = engine.prepare(db.select({ id }).from(providers).where(eq(providers.ref, ref)))
  const named = { id, ref: providers.ref, firstName, lastName }
  const names = engine.prepare(db.select(named).from(providers))
  const timeZones = engine.prepare(db.selectDistinct({ timeZone }).from(providers))
  // Raw SQL, because Drizzle would write the ids without their tables, which is ambiguous.
  const rowsOf = (table: string, columns: string, order: string) =>
    sql`(select ${engine.jsonRows(sql.raw(columns), sql.raw(order))} from ${sql.raw(table)} where provider_id = providers.id)`
  const some = engine.prepareArrays(
    db
      .select({
        ...getTableColumns(providers),
        licenses: rowsOf('licenses', 'region_id, from_date, until_date', 'id'),
        inPersonRegionIds: rowsOf('in_person_regions', 'region_id', 'region_id'),
      })
      .from(providers)
      .where(engine.isAmong(providers.id, ids))
      .orderBy(asc(providers.id)),
  )

  return {
    listRegions: (): MaybePromise<Region[]> => allRegions(),

    findId: (ref) => then(idOf({ ref }), ([found]) => found?.id ?? null),

    listProviderNames: () => names(),

    listTimeZones: () => then(timeZones(), (rows) => rows.map(({ timeZone }) => timeZone)),

    /** Returns provider ids above `after`, at most `most`. */
    listProviderIds: (after: number, most: number): MaybePromise<number[]> =>
      then(laterIds({ after, most }), (rows) => rows.map(({ id }) => id)),

    /** @param read shares equal values; pass the same reader to several calls to save memory */
    findProviders: (wanted: readonly number[], read = providerReader()): MaybePromise<FoundProviders> =>
      then(some({ ids: engine.list(wanted) }), (rows) => readProviders(rows as ProviderRow[], read)),
  } satisfies QueriesOf<'directory'>
}
