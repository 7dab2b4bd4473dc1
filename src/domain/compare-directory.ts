import { isDeepStrictEqual } from 'node:util'
import type { UnreadableProvider, Version } from './directory-feed'
import { Refusal } from './errors'
import type { Provider } from './provider'
import { type Region, regionRef } from './region'
import { type Change, type Decision, outcome, type Write } from './writes'

/** A region as a directory file tells it: known by country and code, its id given or left to us. */
export type RegionEntry = Omit<Region, 'id'> & { readonly id: number | null }

/** A provider as a directory file tells it, tied to regions by what regionRef says of them. */
export interface ProviderEntry extends Omit<Provider, 'id' | 'licenses' | 'inPersonRegionIds'> {
  readonly licenses: readonly { region: string; from: string; until: string | null }[]
  readonly inPersonRegions: readonly string[]
}

/** What a directory file describes. */
export interface DirectoryEntries {
  readonly regions: readonly RegionEntry[]
  readonly providers: readonly ProviderEntry[]
}

/** What a snapshot of the directory has. */
export interface DirectoryFacts {
  readonly version: Version
  readonly regions: readonly Region[]
  readonly providers: readonly Provider[]
  readonly unreadable: readonly UnreadableProvider[]
}

/** What loading a directory does: regions as CA-ON, providers by their refs. */
export interface DirectoryLoad {
  readonly added: readonly string[]
  readonly changed: readonly string[]
  readonly deactivated: readonly string[]
  readonly unchanged: number
}

/** How a description differs from the directory of one version, and what would make the directory like it. */
export interface DirectoryComparison {
  readonly version: Version
  readonly load: DirectoryLoad
  readonly writes: readonly Write[]
}

/**
 * Compares a directory with its description: what the description leaves out is to be deactivated, nothing is to be
 * deleted.
 *
 * @throws Refusal directory_invalid for a region that brings an id which is not its own
 */
export function compareDirectory(entries: DirectoryEntries, facts: DirectoryFacts): DirectoryComparison {
  const differences: Difference[] = []
  const regionIds = compareRegions(entries.regions, facts.regions, differences)
  compareProviders(entries.providers, facts, regionIds, differences)
  const refsOf = (wanted: Difference['kind']) =>
    differences.filter(({ kind }) => kind === wanted).map(({ ref }) => ref)
  return {
    version: facts.version,
    load: {
      added: refsOf('added'),
      changed: refsOf('changed'),
      deactivated: refsOf('deactivated'),
      unchanged: refsOf('unchanged').length,
    },
    writes: differences.flatMap(({ write }) => write ?? []),
  }
}

/** Loads what was compared, unless a region or a provider has changed since (optimistic concurrency). */
export function decideLoad({ writes }: DirectoryComparison, since: readonly Change[] | null): Decision {
  const isAsCompared = since?.every(({ noun }) => noun !== 'region' && noun !== 'provider') ?? false
  if (isAsCompared) return outcome('directory.load', null, null, writes)
  const why = 'somebody else has changed the directory meanwhile, so nothing was loaded; try again'
  return new Refusal('directory_changed', why)
}

interface Difference {
  readonly ref: string
  readonly kind: 'added' | 'changed' | 'deactivated' | 'unchanged'
  readonly write: Write | null
}

function kindOf(before: { active: boolean } | undefined, after: { active: boolean }): Difference['kind'] {
  if (!before) return 'added'
  return before.active && !after.active ? 'deactivated' : 'changed'
}

/** Tells the ids of all regions by ref, those to be added included. */
function compareRegions(
  entries: readonly RegionEntry[],
  regions: readonly Region[],
  differences: Difference[],
): Map<string, number> {
  const known = new Map(regions.map((region) => [regionRef(region), region]))
  refuseOtherIds(entries, known)
  const ids = new Map(regions.map((region) => [regionRef(region), region.id]))
  const taken = new Set([...ids.values(), ...entries.flatMap(({ id }) => id ?? [])])
  let free = 1
  const nextFree = () => {
    while (taken.has(free)) free++
    taken.add(free)
    return free
  }
  for (const entry of entries) {
    const ref = regionRef(entry)
    const before = known.get(ref)
    known.delete(ref)
    const after: Region = { ...entry, id: before?.id ?? entry.id ?? nextFree() }
    ids.set(ref, after.id)
    differences.push(regionDifference(ref, before, after))
  }
  for (const [ref, region] of known) {
    differences.push(regionDifference(ref, region, { ...region, active: false }))
  }
  return ids
}

function regionDifference(ref: string, before: Region | undefined, after: Region): Difference {
  if (isDeepStrictEqual(before, after)) return { ref, kind: 'unchanged', write: null }
  const write: Write = before ? { set: 'region', id: after.id, to: after } : { add: 'region', row: after }
  return { ref, kind: kindOf(before, after), write }
}

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

function compareProviders(
  entries: readonly ProviderEntry[],
  { providers, unreadable }: DirectoryFacts,
  regionIds: ReadonlyMap<string, number>,
  differences: Difference[],
): void {
  const known = new Map(providers.map((provider) => [provider.ref, provider]))
  // Those whom the description leaves out stay as they are: nobody could have described them.
  const broken = new Map(unreadable.map(({ ref, id }) => [ref, id]))
  for (const entry of entries) {
    const { ref } = entry
    const before = known.get(ref)
    const after = toProvider(entry, regionIds)
    const id = before?.id ?? broken.get(ref)
    known.delete(ref)
    broken.delete(ref)
    if (before && isDeepStrictEqual(before, { ...after, id: before.id })) {
      differences.push({ ref, kind: 'unchanged', write: null })
    } else if (id === undefined) {
      differences.push({ ref, kind: 'added', write: { add: 'provider', row: after } })
    } else {
      const kind = before ? kindOf(before, after) : 'changed'
      differences.push({ ref, kind, write: { set: 'provider', id, to: after } })
    }
  }
  const deactivate = (id: number): Write => ({ set: 'provider', id, to: { active: false } })
  for (const { ref, id, active } of known.values()) {
    if (active) differences.push({ ref, kind: 'deactivated', write: deactivate(id) })
    else differences.push({ ref, kind: 'unchanged', write: null })
  }
  for (const ref of broken.keys()) differences.push({ ref, kind: 'unchanged', write: null })
}

function toProvider(
  { licenses, inPersonRegions, ...profile }: ProviderEntry,
  regionIds: ReadonlyMap<string, number>,
): Omit<Provider, 'id'> {
  const regionId = (ref: string) => regionIds.get(ref) as number
  return {
    ...profile,
    licenses: licenses.map(({ region, from, until }) => ({ regionId: regionId(region), from, until })),
    inPersonRegionIds: inPersonRegions.map(regionId).sort((a, b) => a - b),
  }
}
