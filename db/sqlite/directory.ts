import { asc, eq, sql } from 'drizzle-orm'
import { Refusal } from '../../src/domain/errors'
import type { Provider, TimeOff } from '../../src/domain/provider'
import { type Region, regionRef } from '../../src/domain/region'
import type { DirectoryLoad, ProviderEntry, RegionEntry } from '../../src/domain/store'
import type { Noun } from './changes'
import type { Drizzle } from './drizzle'
import { inPersonRegions, licenses, providers, regions } from './schema'

/** Queries on regions and providers. */
export function directoryQueries(db: Drizzle, noteChange: (noun: Noun, recordId: number) => void) {
  const providerId = sql.placeholder('providerId')
  const allRegions = db.select().from(regions).orderBy(asc(regions.id)).prepare()
  const allProviders = db.select().from(providers).orderBy(asc(providers.id)).prepare()
  const oneProvider = db.select().from(providers).where(eq(providers.id, providerId)).prepare()
  const licensesOf = db
    .select()
    .from(licenses)
    .where(eq(licenses.providerId, providerId))
    .orderBy(asc(licenses.id))
    .prepare()
  const inPersonRegionsOf = db
    .select()
    .from(inPersonRegions)
    .where(eq(inPersonRegions.providerId, providerId))
    .orderBy(asc(inPersonRegions.regionId))
    .prepare()

  function toProvider(row: typeof providers.$inferSelect): Provider {
    return {
      ...row,
      licenses: licensesOf
        .all({ providerId: row.id })
        .map(({ regionId, from, until }) => ({ regionId, from, until })),
      inPersonRegionIds: inPersonRegionsOf.all({ providerId: row.id }).map(({ regionId }) => regionId),
    }
  }

  function find(id: number): Provider | null {
    const row = oneProvider.get({ providerId: id })
    return row ? toProvider(row) : null
  }

  function loadRegions(entries: readonly RegionEntry[], count: Counter): Map<string, number> {
    const known = new Map(allRegions.all().map((region) => [regionRef(region), region]))
    const ids = new Map<string, number>()
    const apply = (ref: string, before: Region | undefined, after: RegionEntry) => {
      const row = { ...after, id: after.id ?? before?.id }
      const { id } = before ?? db.insert(regions).values(row).returning({ id: regions.id }).get()
      if (before)
        db.update(regions)
          .set({ ...after, id })
          .where(eq(regions.id, id))
          .run()
      ids.set(ref, id)
      noteChange('region', id)
    }
    const refById = new Map(allRegions.all().map((region) => [region.id, regionRef(region)]))
    for (const [index, entry] of entries.entries()) {
      const ref = regionRef(entry)
      const before = known.get(ref)
      known.delete(ref)
      if (entry.id !== null && (before ? before.id !== entry.id : refById.has(entry.id))) {
        const fault = before ? 'the region has another id already' : 'another region has this id'
        throw new Refusal('directory_invalid', `regions[${index}].id: ${fault}`)
      }
      if (before && Bun.deepEquals(before, { ...entry, id: before.id })) {
        ids.set(ref, before.id)
        count.unchanged++
      } else {
        apply(ref, before, entry)
        count.tally(ref, before, entry)
      }
    }
    for (const [ref, region] of known) {
      if (region.active) apply(ref, region, { ...region, active: false })
      count.tally(ref, region, { ...region, active: false })
    }
    return ids
  }

  function loadProviders(
    entries: readonly ProviderEntry[],
    regionIds: Map<string, number>,
    count: Counter,
  ): void {
    const known = new Map(allProviders.all().map((row) => [row.ref, row]))
    for (const entry of entries) {
      const before = known.get(entry.ref)
      known.delete(entry.ref)
      const { licenses: held, inPersonRegions: seenIn, ...profile } = entry
      const regionId = (ref: string) => regionIds.get(ref) as number
      const after = {
        ...profile,
        licenses: held.map(({ region, from, until }) => ({ regionId: regionId(region), from, until })),
        inPersonRegionIds: seenIn.map(regionId).sort((a, b) => a - b),
      }
      if (before && Bun.deepEquals(toProvider(before), { ...after, id: before.id })) {
        count.unchanged++
        continue
      }
      save(before?.id ?? null, after)
      count.tally(entry.ref, before, entry)
    }
    for (const row of known.values()) {
      if (row.active) {
        db.update(providers).set({ active: false }).where(eq(providers.id, row.id)).run()
        noteChange('provider', row.id)
      }
      count.tally(row.ref, row, { active: false })
    }
  }

  function save(
    existingId: number | null,
    { licenses: held, inPersonRegionIds, ...row }: Omit<Provider, 'id'>,
  ): void {
    const id = existingId ?? db.insert(providers).values(row).returning({ id: providers.id }).get().id
    if (existingId !== null) {
      db.update(providers).set(row).where(eq(providers.id, id)).run()
      db.delete(licenses).where(eq(licenses.providerId, id)).run()
      db.delete(inPersonRegions).where(eq(inPersonRegions.providerId, id)).run()
    }
    for (const license of held)
      db.insert(licenses)
        .values({ ...license, providerId: id })
        .run()
    for (const regionId of inPersonRegionIds)
      db.insert(inPersonRegions).values({ providerId: id, regionId }).run()
    noteChange('provider', id)
  }

  return {
    listRegions: (): Region[] => allRegions.all(),
    listProviders: (): Provider[] => allProviders.all().map(toProvider),
    findProvider: find,

    setActive(id: number, active: boolean): void {
      const found = db.update(providers).set({ active }).where(eq(providers.id, id)).returning().get()
      if (!found) throw new Refusal('record_unknown', 'there is no such provider')
    },

    setTimeOff(id: number, timeOff: readonly TimeOff[]): void {
      db.update(providers).set({ timeOff }).where(eq(providers.id, id)).run()
    },

    load(regionEntries: readonly RegionEntry[], providerEntries: readonly ProviderEntry[]): DirectoryLoad {
      const count = new Counter()
      loadProviders(providerEntries, loadRegions(regionEntries, count), count)
      const { added, changed, deactivated, unchanged } = count
      return { added, changed, deactivated, unchanged }
    },
  }
}

class Counter {
  readonly added: string[] = []
  readonly changed: string[] = []
  readonly deactivated: string[] = []
  unchanged = 0

  tally(ref: string, before: { active: boolean } | undefined, after: { active: boolean }): void {
    if (!before) this.added.push(ref)
    else if (before.active && !after.active) this.deactivated.push(ref)
    else if (!before.active && !after.active) this.unchanged++
    else this.changed.push(ref)
  }
}
