import type { Directory } from '../directory/directory'
import type { MemberProfile } from '../domain/member'
import { foldName, type Region, regionRef } from '../domain/region'

/** Where a member is, as far as their country and state tell it. */
export interface Whereabouts {
  /** Null where it cannot be told: no state, or one that names no active region. */
  readonly region: Region | null
  /** The country's active regions: the member is in one of them, or in none that is known. */
  readonly candidates: readonly Region[]
}

/**
 * The active region that a member is in: the one of a country that is not divided, else the one that their
 * state names, by code (ON, CA-ON) or local name; neither case nor accents matter.
 */
export function whereaboutsOf(
  directory: Directory,
  { country, state }: Pick<MemberProfile, 'country' | 'state'>,
): Whereabouts {
  const candidates = directory.listRegions(country)
  const [first] = candidates
  if (candidates.length === 1 && first?.code === country) return { region: first, candidates }
  const named = foldName(state ?? '')
  const isNamed = (region: Region) =>
    [region.code, regionRef(region), region.localName].some((name) => foldName(name) === named)
  return { region: candidates.find(isNamed) ?? null, candidates }
}
