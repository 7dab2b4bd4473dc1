import type { BookingRequest, Submission } from './booking-request'
import type { Member } from './member'
import type { Organization, Partner, PartnerKey } from './partner'
import type { Provider } from './provider'
import type { Region } from './region'

/** A provider's slot held by a pending or accepted request; ms, half-open. */
export interface TakenSlot {
  readonly requestId: number
  readonly startsAt: number
  readonly endsAt: number
}

/** What of the directory is not as it was at an earlier version; null stands for unchanged. */
export interface DirectoryChanges {
  /** The version that these changes lead to. */
  readonly version: number
  readonly keys: readonly PartnerKey[] | null
  readonly regions: readonly Region[] | null
  readonly providers: readonly Provider[]
  /** By provider: all their slots that are taken. */
  readonly taken: ReadonlyMap<number, readonly TakenSlot[]>
}

/** A submission as the rules have judged it. */
export interface JudgedSubmission extends Submission {
  /** The directory's version that the judgement was made on. */
  readonly version: number
  /** Whether the slot can be had; null for an intake. */
  readonly slotOffered: boolean | null
  /** Goes with the provider, so null for an intake. */
  readonly authorizationNumber: string | null
  readonly submittedAt: number
}

/** What became of a submission. All but `stored` changed nothing; `stale` asks for a new judgement. */
export type SubmissionOutcome =
  | { readonly outcome: 'stored'; readonly request: BookingRequest }
  | {
      readonly outcome: 'stale' | 'member_deactivated' | 'email_taken' | 'slot_taken' | 'slot_already_yours'
    }

/** A region as a directory file tells it: known by country and code, its id given or left to the store. */
export type RegionEntry = Omit<Region, 'id'> & { readonly id: number | null }

/** A provider as a directory file tells it, tied to regions by what regionRef says of them. */
export interface ProviderEntry extends Omit<Provider, 'id' | 'licenses' | 'inPersonRegionIds'> {
  readonly licenses: readonly { region: string; from: string; until: string | null }[]
  readonly inPersonRegions: readonly string[]
}

/** What loading a directory did, as numbers of regions and providers together. */
export interface DirectoryLoad {
  readonly added: number
  readonly changed: number
  readonly deactivated: number
  readonly unchanged: number
}

/**
 * What remembers. Each method is one transaction, all or nothing, on disk when its promise resolves.
 * Every method may throw Refusal storage_busy.
 */
export interface Store {
  /** The newest version of the directory, another process's writes included. */
  directoryVersion(): Promise<number>
  /** What has changed since a version; everything, for null and for a version too old to be told from. */
  readDirectory(since: number | null): Promise<DirectoryChanges>

  findMember(partnerId: number, externalUserId: string): Promise<Member | null>
  /** The order of checks is spec's: member deactivated, e-mail, slot. */
  submit(submission: JudgedSubmission): Promise<SubmissionOutcome>

  /** @throws Refusal name_taken */
  addOrganization(name: string, at: number): Promise<Organization>
  setOrganizationActive(id: number, active: boolean): Promise<void>
  /** @throws Refusal name_taken */
  addPartner(name: string, organizationId: number | null, at: number): Promise<Partner>
  setPartnerActive(id: number, active: boolean): Promise<void>
  /** The partner's key from `startsAt` on; what was in force until then ends there, what waited is gone. */
  addKey(partnerId: number, key: Omit<PartnerKey, 'partner' | 'endsAt'>): Promise<void>
  /** All partners in order of id, those without a key or an organization too. */
  listPartners(): Promise<Partner[]>
  setMemberActive(id: number, active: boolean): Promise<void>

  /** Makes the directory what the entries say; what they leave out is deactivated, nothing is deleted. */
  loadDirectory(regions: readonly RegionEntry[], providers: readonly ProviderEntry[]): Promise<DirectoryLoad>

  close(): Promise<void>
}
