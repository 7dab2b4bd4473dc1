import { Refusal } from './domain/errors'

// What the build defines (deploy/release/build.ts). From source there is nothing of the kind.
declare const BUILT_COMMIT: string | undefined
declare const BUILT_ZONE_DATA: string | undefined

/** What this program was made from. */
export interface Origin {
  /** The commit's hash, with `-dirty` behind it where files differed from it; `unknown` from source or without git. */
  readonly commit: string
  /** The edition of the IANA time zone data that is built in, as `2026f`. */
  readonly zoneData: string
}

/** The commit and zone data that this program was built from. */
export async function origin(): Promise<Origin> {
  if (typeof BUILT_COMMIT === 'string' && typeof BUILT_ZONE_DATA === 'string') {
    return { commit: BUILT_COMMIT, zoneData: BUILT_ZONE_DATA }
  }
  const { builtInZones } = await import('./zones/packed')
  return { commit: 'unknown', zoneData: builtInZones().edition ?? 'unknown' }
}

// What the build defines (deploy/release/build.ts).
declare const BUILT_NOTICES: string | undefined

/**
 * The licenses and notices of every package in the executable.
 *
 * @throws Refusal record_unknown when run from source
 */
export function notices(): string {
  if (typeof BUILT_NOTICES === 'string') return BUILT_NOTICES
  const where = 'from source, each package has its license in its folder of node_modules'
  throw new Refusal('record_unknown', `the built executable alone holds the licenses; ${where}`)
}
