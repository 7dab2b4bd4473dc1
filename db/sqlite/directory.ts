import { asc, eq, inArray, sql } from 'drizzle-orm'
import { Refusal } from '../../src/domain/errors'
import type { Provider, TimeOff } from '../../src/domain/provider'
import { type Region, regionRef } from '../../src/domain/region'
import type { DirectoryLoad, ProviderEntry, RegionEntry } from '../../src/domain/store'
import type { Noun } from './changes'
import { columnPlaceholders, type Drizzle } from './drizzle'
import { inPersonRegions, licenses, providers, regions } from './schema'

/** Queries on regions and providers. */
export function directoryQueries(db: Drizzle, noteChange: (noun: Noun, recordId: number) => void) {
  const providerId = sql.placeholder('providerId')
  // A list of ids goes into a prepared statement as one text of JSON.
  const ids = sql`(select value from json_each(${sql.placeholder('ids')}))`
  const allRegions = db.select().from(regions).orderBy(asc(regions.id)).prepare()
  const allProviders = db.select().from(providers).orderBy(asc(providers.id)).prepare()
  const someProviders = db
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
  const row = columnPlaceholders(providers, ['id'])
  const insertProvider = db.insert(providers).values(row).returning({ id: providers.id }).prepare()
  const updateProvider = db.update(providers).set(row).where(eq(providers.id, providerId)).prepare()
  const insertLicense = db
    .insert(licenses)
    .values(columnPlaceholders(licenses, ['id']))
    .prepare()
  const deleteLicenses = db.delete(licenses).where(eq(licenses.providerId, providerId)).prepare()
  const insertInPersonRegion = db
    .insert(inPersonRegions)
    .values(columnPlaceholders(inPersonRegions, []))
    .prepare()
  const deleteInPersonRegions = db
    .delete(inPersonRegions)
    .where(eq(inPersonRegions.providerId, providerId))
    .prepare()

  /** The rows with what ties them to regions. */
  function complete(rows: readonly (typeof providers.$inferSelect)[]): Provider[] {
    const named = { ids: JSON.stringify(rows.map(({ id }) => id)) }
    const held = Map.groupBy(theirLicenses.all(named), (license) => license.providerId)
    const seenIn = Map.groupBy(theirInPersonRegions.all(named), (region) => region.providerId)
    return rows.map((row) => ({
      ...row,
      licenses: (held.get(row.id) ?? []).map(({ regionId, from, until }) => ({ regionId, from, until })),
      inPersonRegionIds: (seenIn.get(row.id) ?? []).map(({ regionId }) => regionId),
    }))
  }

  function loadRegions(entries: readonly RegionEntry[], count: Counter): Map<string, number> {
    const known = new Map(allRegions.all().map((region) => [regionRef(region), region]))
    refuseOtherIds(entries, known)
    const ids = new Map<string, number>()
    // Those that bring their ids come first: none of these may be given to another.
    for (const entry of [...entries].sort((a, b) => Number(a.id === null) - Number(b.id === null))) {
      const ref = regionRef(entry)
      const before = known.get(ref)
      known.delete(ref)
      if (before && Bun.deepEquals(before, { ...entry, id: before.id })) {
        ids.set(ref, before.id)
        count.unchanged++
      } else {
        ids.set(ref, saveRegion(before, entry))
        count.tally(ref, before, entry)
      }
    }
    for (const [ref, region] of known) {
      if (!region.active) count.unchanged++
      else {
        const after = { ...region, active: false }
        saveRegion(region, after)
        count.tally(ref, region, after)
      }
    }
    return ids
  }

  /** @throws Refusal directory_invalid for a region that brings an id which is not its own */
  function refuseOtherIds(entries: readonly RegionEntry[], known: ReadonlyMap<string, Region>): void {
    const takenIds = new Set(Array.from(known.values(), ({ id }) => id))
    for (const [index, entry] of entries.entries()) {
      const before = known.get(regionRef(entry))
      if (entry.id === null || entry.id === before?.id) continue
      if (!before && !takenIds.has(entry.id)) continue
      const fault = before ? 'the region has another id already' : 'another region has this id'
      throw new Refusal('directory_invalid', `regions[${index}].id: ${fault}`)
    }
  }

  function saveRegion(before: Region | undefined, { id: given, ...region }: RegionEntry): number {
    const row = given === null ? region : { ...region, id: given }
    const id = before?.id ?? db.insert(regions).values(row).returning({ id: regions.id }).get().id
    if (before) db.update(regions).set(region).where(eq(regions.id, id)).run()
    noteChange('region', id)
    return id
  }

  function loadProviders(
    entries: readonly ProviderEntry[],
    regionIds: Map<string, number>,
    count: Counter,
  ): void {
    const known = new Map(complete(allProviders.all()).map((provider) => [provider.ref, provider]))
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
      if (before && Bun.deepEquals(before, { ...after, id: before.id })) {
        count.unchanged++
        continue
      }
      save(before?.id ?? null, after)
      count.tally(entry.ref, before, entry)
    }
    for (const provider of known.values()) {
      if (!provider.active) count.unchanged++
      else {
        db.update(providers).set({ active: false }).where(eq(providers.id, provider.id)).run()
        noteChange('provider', provider.id)
        count.tally(provider.ref, provider, { active: false })
      }
    }
  }

  function save(
    existingId: number | null,
    { licenses: held, inPersonRegionIds, ...profile }: Omit<Provider, 'id'>,
  ): void {
    const id = existingId ?? (insertProvider.get(profile) as { id: number }).id
    if (existingId !== null) {
      updateProvider.run({ ...profile, providerId: id })
      deleteLicenses.run({ providerId: id })
      deleteInPersonRegions.run({ providerId: id })
    }
    for (const license of held) insertLicense.run({ ...license, providerId: id })
    for (const regionId of inPersonRegionIds) insertInPersonRegion.run({ providerId: id, regionId })
    noteChange('provider', id)
  }

  return {
    listRegions: (): Region[] => allRegions.all(),
    listProviderIds: (): number[] =>
      db
        .select({ id: providers.id })
        .from(providers)
        .orderBy(asc(providers.id))
        .all()
        .map(({ id }) => id),

    /** The providers of some ids, in order of id. */
    findProviders: (wanted: readonly number[]): Provider[] =>
      complete(someProviders.all({ ids: JSON.stringify(wanted) })),

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
    else this.changed.push(ref)
  }
}
