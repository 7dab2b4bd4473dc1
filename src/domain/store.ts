import type { AuditEntry, AuditHead, AuditLine, AuditVerdict } from './audit'
import type { BookingRequest, RequestRecord, ScreeningAnswer, Submission } from './booking-request'
import type { Member } from './member'
import type { KeyRecord, Organization, Partner, PartnerKey } from './partner'
import type { Provider, TimeOff } from './provider'
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
  /** Minutes east of UTC of the provider's clock at the slot, by the zone data of now; null for an intake. */
  readonly localOffsetMinutes: number | null
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

/** What loading a directory did: regions as CA-ON, providers by their refs. */
export interface DirectoryLoad {
  readonly added: readonly string[]
  readonly changed: readonly string[]
  readonly deactivated: readonly string[]
  readonly unchanged: number
}

/** Which requests are asked for. */
export interface RequestFilter {
  readonly intakesOnly: boolean
  readonly unassignedOnly: boolean
}

/** A provider attached to an intake, as the rules have judged it; instants in ms. */
export interface Assignment {
  readonly providerId: number
  /** Null to attach the provider without a slot. */
  readonly startsAt: number | null
  /** Minutes east of UTC of the provider's clock at the slot; null without a slot. */
  readonly localOffsetMinutes: number | null
  /** The directory's version that the slot was judged on. */
  readonly version: number
  /** For an intake that has none yet. */
  readonly authorizationNumber: string
}

/** What became of an assignment; all but `done` changed nothing. */
export type AssignmentOutcome = 'done' | 'stale' | 'slot_taken' | 'not_an_intake'

/** All that is held on a person. */
export interface MemberExport {
  readonly member: Member
  readonly createdAt: number
  readonly updatedAt: number
  readonly requests: readonly (Omit<RequestRecord, 'member'> & {
    readonly screeningAnswers: readonly ScreeningAnswer[]
  })[]
}

/**
 * What remembers. Each method is one transaction, all or nothing, on disk when its promise resolves; one that
 * changes what the operator answers for leaves its audit line in the same transaction. Every method may throw
 * Refusal storage_busy, and those that name a record Refusal record_unknown.
 */
export interface Store {
  /** The newest version of the directory, another process's writes included. */
  directoryVersion(): Promise<number>
  /** What has changed since a version; everything, for null and for a version too old to be told from. */
  readDirectory(since: number | null): Promise<DirectoryChanges>

  findMember(partnerId: number, externalUserId: string): Promise<Member | null>
  /** The order of checks is the decisions': member deactivated, e-mail, slot. */
  submit(submission: JudgedSubmission): Promise<SubmissionOutcome>

  /** @throws Refusal name_taken */
  addOrganization(name: string, at: number): Promise<Organization>
  listOrganizations(): Promise<Organization[]>
  setOrganizationActive(id: number, active: boolean): Promise<void>
  /** @throws Refusal name_taken */
  addPartner(name: string, organizationId: number | null, at: number): Promise<Partner>
  /** All partners in order of id, those without a key or an organization too. */
  listPartners(): Promise<Partner[]>
  setPartnerActive(id: number, active: boolean): Promise<void>
  setPartnerOrganization(id: number, organizationId: number | null): Promise<void>
  /** The partner's key from `startsAt` on; what was in force until then ends there, what waited is cancelled. */
  addKey(partnerId: number, key: Omit<PartnerKey, 'partner' | 'endsAt'>): Promise<void>
  /** Ends the partner's key at an instant and cancels one that waits. @throws Refusal record_unknown for neither */
  revokeKeys(partnerId: number, at: number): Promise<void>
  /** All keys in order of issue. */
  listKeys(): Promise<KeyRecord[]>
  /** When keys were last used, in ms, by kid. */
  noteKeyUses(uses: ReadonlyMap<string, number>): Promise<void>

  /** Makes the directory what the entries say; what they leave out is deactivated, nothing is deleted. */
  loadDirectory(regions: readonly RegionEntry[], providers: readonly ProviderEntry[]): Promise<DirectoryLoad>
  /** What loadDirectory would do, without doing it. */
  previewDirectory(
    regions: readonly RegionEntry[],
    providers: readonly ProviderEntry[],
  ): Promise<DirectoryLoad>
  setProviderActive(id: number, active: boolean): Promise<void>
  addTimeOff(providerId: number, timeOff: TimeOff): Promise<void>
  /** @throws Refusal record_unknown if there is no such absence */
  removeTimeOff(providerId: number, timeOff: TimeOff): Promise<void>

  /** Requests in order of submission. */
  listRequests(filter: RequestFilter): Promise<RequestRecord[]>
  findRequest(id: number): Promise<RequestRecord | null>
  /** The screening answers of a request; reading them is audited. */
  readScreening(requestId: number): Promise<ScreeningAnswer[]>
  /** The screening answers of the requests named, unaudited: to sort by, never to show. */
  sortingAnswers(requestIds: readonly number[]): Promise<ReadonlyMap<number, readonly ScreeningAnswer[]>>
  assign(requestId: number, assignment: Assignment): Promise<AssignmentOutcome>
  /** @throws Refusal move_unknown unless the request is pending */
  accept(requestId: number, at: number): Promise<void>
  /** @throws Refusal move_unknown unless the request is pending or accepted */
  decline(requestId: number, at: number): Promise<void>

  findMemberById(id: number): Promise<Member | null>
  setMemberActive(id: number, active: boolean): Promise<void>
  /** All that is held on a member; audited. */
  exportMember(id: number): Promise<MemberExport>
  /**
   * Removes a member for good, their answers included; their requests' bare facts stay, tied to nobody. Traces may be
   * left until Upkeep.purge.
   */
  eraseMember(id: number): Promise<void>

  appendAudit(entries: readonly AuditEntry[]): Promise<void>
  /** The newest lines, at most so many, oldest first. */
  listAudit(limit: number): Promise<AuditLine[]>
  auditHead(): Promise<AuditHead>
  /** Whether every line is as it was written and none is gone, up to a head noted before if one is given. */
  verifyAudit(noted: AuditHead | null): Promise<AuditVerdict>

  close(): Promise<void>
}
