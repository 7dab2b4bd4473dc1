import type { PartnerKey } from '../partner'
import type { Provider } from '../provider'
import type { Region } from '../region'

declare const opaque: unique symbol

/** A version of the directory, opaque outside the engine. */
export type Version = { readonly [opaque]: true }

/** A slot held by a pending or accepted request; ms, half-open. */
export interface TakenSlot {
  readonly requestId: number
  readonly startsAt: number
  readonly endsAt: number
  /** The expected offset of the provider's local time at `startsAt`, in minutes east of UTC. */
  readonly localOffsetMinutes: number
}

export interface UnreadableProvider {
  readonly id: number
  readonly ref: string
  readonly active: boolean
}

/** The differences from an earlier version. If `keys` or `regions` is null, they have not changed. */
export interface DirectoryChanges {
  readonly version: Version
  readonly keys: readonly PartnerKey[] | null
  readonly regions: readonly Region[] | null
  readonly providers: readonly Provider[]
  readonly unreadable: readonly UnreadableProvider[]
  /** All taken slots of these providers, except slots that ended before `after`. */
  readonly taken: ReadonlyMap<number, readonly TakenSlot[]>
  /** Newly taken slots of other providers. May repeat known slots. */
  readonly booked?: ReadonlyMap<number, readonly TakenSlot[]> | undefined
}

/** Reports committed changes of this process and of others. */
export interface DirectoryFeed {
  /**
   * Returns a number that differs after each relevant commit, or null if only changesSince can detect one. Called
   * on each request, so it must be cheap.
   */
  stamp?(): number | null
  /**
   * Returns all changes since a version; null if there are none. Returns everything if the version is null or too old.
   * @param after ms. Slots that ended earlier are omitted, so that the cost does not grow with history.
   * @throws Refusal database_unusable if a record other than a provider cannot be read, with the name of the record
   */
  changesSince(version: Version | null, after: number): Promise<DirectoryChanges | null>
}
