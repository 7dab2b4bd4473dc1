import type { PartnerKey } from '../partner'
import type { Provider } from '../provider'
import type { Region } from '../region'

declare const opaque: unique symbol

/** A version of the directory, opaque outside the engine. */
export type Version = { readonly [opaque]: true }

/** A slot of a pending or accepted request. Times in ms; `endsAt` is exclusive. */
export interface TakenSlot {
  readonly requestId: number
  readonly startsAt: number
  readonly endsAt: number
  /** The provider's expected UTC offset at `startsAt`, in minutes (east is positive). */
  readonly localOffsetMinutes: number
}

export type UnreadableProvider = Pick<Provider, 'id' | 'ref' | 'active'>

/** The changes since an earlier version. If `keys` or `regions` is null, that list has not changed. */
export interface DirectoryChanges {
  readonly version: Version
  readonly keys: readonly PartnerKey[] | null
  readonly regions: readonly Region[] | null
  readonly providers: readonly Provider[]
  readonly unreadable: readonly UnreadableProvider[]
  /** All taken slots of `providers`, by provider id. Omits slots that ended before `after` (see changesSince). */
  readonly taken: ReadonlyMap<number, readonly TakenSlot[]>
  /** Newly taken slots of other providers. May repeat known slots. */
  readonly booked?: ReadonlyMap<number, readonly TakenSlot[]> | undefined
}

/** Reports committed changes of this process and of others. */
export interface DirectoryFeed {
  /**
   * Returns a number that changes with each relevant commit. Returns null if only changesSince can detect commits. Each
   * request calls this method, so the method must be cheap.
   */
  stamp?(): number | null
  /**
   * Returns the changes since a version; null if there are none. Returns everything if the version is null or too old.
   * @param after ms. Slots that ended earlier are omitted, so that the cost does not grow with history.
   * @throws Refusal database_unusable if a key or region cannot be read. The message names the record
   */
  changesSince(version: Version | null, after: number): Promise<DirectoryChanges | null>
}
