import { Refusal } from './domain/errors'

// The build sets these constants (deploy/release/build.ts). They are undefined if the program runs from source.
declare const BUILT_COMMIT: string | undefined
declare const BUILT_ZONE_DATA: string | undefined

export interface Origin {
  /** Commit hash, with `-dirty` if files were modified. `unknown` if run from source or built without git. */
  readonly commit: string
  /** Edition of the IANA time zone data, for example `2026f`. */
  readonly zoneData: string
}

export async function origin(): Promise<Origin> {
  if (typeof BUILT_COMMIT === 'string' && typeof BUILT_ZONE_DATA === 'string') {
    return { commit: BUILT_COMMIT, zoneData: BUILT_ZONE_DATA }
  }
  const { builtInZones } = await import('./zones/packed')
  return { commit: 'unknown', zoneData: builtInZones().edition ?? 'unknown' }
}

declare const BUILT_NOTICES: string | undefined

/** @throws Refusal record_unknown if the program runs from source */
export function notices(): string {
  if (typeof BUILT_NOTICES === 'string') return BUILT_NOTICES
  throw new Refusal('record_unknown', 'only the built executable contains the licenses', {
    action: 'read the license files in the folders of node_modules',
  })
}
