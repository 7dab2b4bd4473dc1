import type { TimeZone } from '../scheduling/time-zone'

/** The time zones that the service knows, from one edition of the IANA data. */
export interface ZoneData {
  /** The edition, as `2026f`. */
  readonly version: string
  /** Every name, links included. */
  readonly names: readonly string[]
  /** The zone of an IANA name, links included, its case as IANA writes it; null for every other text. */
  find(name: string): TimeZone | null
}
