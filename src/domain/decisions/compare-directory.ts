import { isDeepStrictEqual } from 'node:util'
import { Refusal } from '../errors'
import type { UnreadableProvider, Version } from '../ports/directory-feed'
import { type Change, type Decision, outcome, type Write } from '../ports/writes'
import { defaultStaffFields, type Provider } from '../provider'
import { type Region, regionRef } from '../region'

/** A region of a directory file. A null id means that the file contains no id. */
export type RegionEntry = Omit<Region, 'id'> & { readonly id: number | null }

/** A provider of a directory file. Contains the refs of regions (see `regionRef`), not their ids. */
export interface ProviderEntry
  extends Omit<Provider, 'id' | 'licenses' | 'inPersonRegionIds' | keyof typeof defaultStaffFields> {
  readonly licenses: readonly { region: string; from: string; until: string | null }[]
  readonly inPersonRegions: readonly string[]
}

export interface DirectoryEntries {
  readonly regions: readonly RegionEntry[]
  readonly providers: readonly ProviderEntry[]
}

export interface DirectoryFacts {
  readonly version: Version
  readonly regions: readonly Region[]
  readonly providers: readonly Provider[]
  readonly unreadable: readonly UnreadableProvider[]
}

/** The effect of a load. Lists regions by code, such as CA-ON, and providers by ref. */
export interface DirectoryLoad {
  readonly added: readonly string[]
  readonly changed: readonly string[]
  readonly deactivated: readonly string[]
  readonly unchanged: number
}

/** A record to add or change. `before` is undefined for a new or unreadable record. */
interface Changed<N extends 'region' | 'provider', Record> {
  readonly noun: N
  readonly ref: string
  readonly kind: Exclude<keyof DirectoryLoad, 'unchanged'>
  readonly before: Record | undefined
  readonly after: Record
}

export type ChangedRecord = Changed<'region', Region> | Changed<'provider', ProviderAfter>

/** A provider after a load. A new provider has no id yet. */
export type ProviderAfter = Omit<Provider, 'id'> & { readonly id: number | undefined }

/** The differences between directory files and one version of the directory. `writes` applies the differences. */
export type DirectoryComparison = ReturnType<typeof compareDirectory>

/** The maximum number or percentage of records that a load may change. A percentage refers to stored records. */
export interface ChangeLimit {
  readonly most: number
  readonly isPercent: boolean
}

/**
 * Compares directory files with the stored directory. Stored records without an entry in the files will be deactivated.
 * @throws Refusal directory_invalid if the files change a region's id, or use the id of another region
 */
export function compareDirectory(entries: DirectoryEntries, facts: DirectoryFacts) {
  const regionIds = regionIdsOf(entries.regions, facts.regions)
  const differences = [
    ...compareRegions(entries.regions, facts.regions, regionIds),
    ...compareProviders(entries.providers, facts, regionIds),
  ]
  const refsOf = (wanted: Difference['kind']) =>
    differences.filter(({ kind }) => kind === wanted).map(({ ref }) => ref)
  const [added, changed, deactivated] = [refsOf('added'), refsOf('changed'), refsOf('deactivated')]
  const load: DirectoryLoad = { added, changed, deactivated, unchanged: refsOf('unchanged').length }
  return {
    version: facts.version,
    load,
    changes: differences.flatMap(({ change }) => change ?? []),
    /** The refs of all regions by id, including regions to add. */
    regionRefs: new Map(Array.from(regionIds, ([ref, id]) => [id, ref])),
    writes: differences.flatMap(({ write }) => write ?? []),
  }
}

/** Checks the number of changes. A percentage does not limit the first load. @throws Refusal too_many_changes */
export function requireFewChanges(
  { added, changed, deactivated, unchanged }: DirectoryLoad,
  limit: ChangeLimit,
) {
  const count = added.length + changed.length + deactivated.length
  const stored = changed.length + deactivated.length + unchanged
  const allowed = limit.isPercent ? Math.floor((stored * limit.most) / 100) : limit.most
  if (count <= allowed || (limit.isPercent && stored === 0)) return
  const most = limit.isPercent ? `${allowed} (${limit.most}% of ${stored})` : allowed
  const why = `the files change ${count} regions and providers, more than the limit of ${most}, so nothing was changed`
  throw new Refusal('too_many_changes', why)
}

/** Refuses the load if a region or provider has changed since the comparison (optimistic concurrency). */
export function decideLoad({ writes }: DirectoryComparison, since: readonly Change[] | null): Decision {
  const isAsCompared = since?.every(({ noun }) => noun !== 'region' && noun !== 'provider') ?? false
  if (isAsCompared) return outcome('directory.load', null, null, writes)
  const why = 'the directory has changed in the meantime, so nothing was loaded'
  return new Refusal('directory_changed', why, { action: 'run the command again' })
}

interface Difference {
  readonly ref: string
  readonly kind: keyof DirectoryLoad
  readonly change: ChangedRecord | null
  readonly write: Write | null
}

function differenceOf(
  record: Pick<ChangedRecord, 'noun' | 'ref'> & Pick<ChangedRecord, 'before' | 'after'>,
  write: Write,
): Difference {
  const { ref, before, after } = record
  if (isDeepStrictEqual(before, after)) return unchanged(ref)
  const isEnd = before?.active && !after.active
  const kind = 'add' in write ? 'added' : isEnd ? 'deactivated' : 'changed'
  return { ref, kind, change: { ...record, kind } as ChangedRecord, write }
}

function unchanged(ref: string): Difference {
  return { ref, kind: 'unchanged', change: null, write: null }
}

/** Returns the ids of all regions by ref. New regions without an id in the file get the lowest free ids. */
function regionIdsOf(entries: readonly RegionEntry[], regions: readonly Region[]): Map<string, number> {
  const ids = new Map(regions.map((region) => [regionRef(region), region.id]))
  const storedIds = new Set(ids.values())
  for (const [index, entry] of entries.entries()) {
    const known = ids.get(regionRef(entry))
    if (entry.id === null || entry.id === known) continue
    if (known !== undefined || storedIds.has(entry.id)) {
      const fault =
        known === undefined ? 'another region already has this id' : 'the region already has a different id'
      throw new Refusal('directory_invalid', `regions[${index}].id: ${fault}`)
    }
    ids.set(regionRef(entry), entry.id)
  }
  const taken = new Set(ids.values())
  let free = 1
  for (const ref of entries.map(regionRef)) {
    if (ids.has(ref)) continue
    while (taken.has(free)) free++
    taken.add(free)
    ids.set(ref, free)
  }
  return ids
}

function compareRegions(
  entries: readonly RegionEntry[],
  regions: readonly Region[],
  ids: ReadonlyMap<string, number>,
): Difference[] {
  const omitted = new Map(regions.map((region) => [regionRef(region), region]))
  const described = entries.map((entry) => {
    const ref = regionRef(entry)
    const before = omitted.get(ref)
    omitted.delete(ref)
    const after: Region = { ...entry, id: ids.get(ref) as number }
    const write: Write = before ? { set: 'region', id: after.id, to: after } : { add: 'region', row: after }
    return differenceOf({ noun: 'region', ref, before, after }, write)
  })
  const deactivated = Array.from(omitted, ([ref, region]) => {
    const after = { ...region, active: false }
    const write: Write = { set: 'region', id: region.id, to: after }
    return differenceOf({ noun: 'region', ref, before: region, after }, write)
  })
  return [...described, ...deactivated]
}

function compareProviders(
  entries: readonly ProviderEntry[],
  { providers, unreadable }: DirectoryFacts,
  regionIds: ReadonlyMap<string, number>,
): Difference[] {
  const omitted = new Map(providers.map((provider) => [provider.ref, provider]))
  const unreadableIds = new Map(unreadable.map(({ ref, id }) => [ref, id]))
  const described = entries.map((entry) => {
    const { ref } = entry
    const before = omitted.get(ref)
    const id = before?.id ?? unreadableIds.get(ref)
    omitted.delete(ref)
    unreadableIds.delete(ref)
    const to = toProvider(entry, regionIds)
    // A load does not change the fields that belong to staff.
    const { suspended, staffTimeOff } = before ?? defaultStaffFields
    const after = { ...to, suspended, staffTimeOff, id }
    const write: Write =
      id === undefined
        ? { add: 'provider', row: { ...to, ...defaultStaffFields } }
        : { set: 'provider', id, to }
    return differenceOf({ noun: 'provider', ref, before, after }, write)
  })
  const deactivated = Array.from(omitted, ([ref, provider]) => {
    const write: Write = { set: 'provider', id: provider.id, to: { active: false } }
    const after = { ...provider, active: false }
    return differenceOf({ noun: 'provider', ref, before: provider, after }, write)
  })
  // Unreadable providers without an entry stay unchanged, because exported files never contain such providers.
  const undescribed = Array.from(unreadableIds.keys(), unchanged)
  return [...described, ...deactivated, ...undescribed]
}

function toProvider(
  { licenses, inPersonRegions, ...profile }: ProviderEntry,
  regionIds: ReadonlyMap<string, number>,
): Omit<Provider, 'id' | keyof typeof defaultStaffFields> {
  const regionId = (ref: string) => regionIds.get(ref) as number
  return {
    ...profile,
    licenses: licenses.map(({ region, from, until }) => ({ regionId: regionId(region), from, until })),
    inPersonRegionIds: inPersonRegions.map(regionId).sort((a, b) => a - b),
  }
}
