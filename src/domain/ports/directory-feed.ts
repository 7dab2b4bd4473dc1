import type { PartnerKey } from '../partner'
import type { Provider } from '../provider'
import type { Region } from '../region'

declare const opaque: unique symbol

/** A moment in the history of the directory. What it is made of is the engine's own affair. */
export type Version = { readonly [opaque]: true }

/** A provider's slot held by a pending or accepted request; ms, half-open. */
export interface TakenSlot {
  readonly requestId: number
  readonly startsAt: number
  readonly endsAt: number
  /** Minutes east of UTC that the provider's clock was expected to be at startsAt. */
  readonly localOffsetMinutes: number
}

/** A provider's record that is there and cannot be read. */
export interface UnreadableProvider {
  readonly id: number
  readonly ref: string
  readonly active: boolean
}

/** What of the directory is not as it was at an earlier version; null stands for unchanged. */
export interface DirectoryChanges {
  /** The version that these changes lead to. */
  readonly version: Version
  readonly keys: readonly PartnerKey[] | null
  readonly regions: readonly Region[] | null
  readonly providers: readonly Provider[]
  readonly unreadable: readonly UnreadableProvider[]
  /** By provider: all their slots that are taken and not long over. */
  readonly taken: ReadonlyMap<number, readonly TakenSlot[]>
  /** By provider, of none of those: slots that have come to the ones that are taken. What has been told may be told again. */
  readonly booked?: ReadonlyMap<number, readonly TakenSlot[]> | undefined
}

/** How the directory learns of what is stored, by this process or another. */
export interface DirectoryFeed {
  /**
   * A number that is another one as soon as anything was committed that changes may come of, by this process or another;
   * null, or no such method, where only changesSince can tell. It is asked for each request.
   */
  stamp?(): number | null
  /**
   * What has changed since a version, up to all that was stored before the call; null if nothing has. Everything,
   * for null and for a version too old to be told from.
   *
   * @param after ms; slots that ended before are left out, so that the cost does not grow with history
   * @throws Refusal database_unusable naming a record, other than a provider's, that cannot be read
   */
  changesSince(version: Version | null, after: number): Promise<DirectoryChanges | null>
}
