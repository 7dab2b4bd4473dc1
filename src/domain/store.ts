import type { Act, AuditEntry, AuditFilter, AuditHead, AuditLine, AuditVerdict } from './audit'
import type {
  BookingRequest,
  Replay,
  RequestNote,
  RequestRecord,
  RequestState,
  ScreeningAnswer,
} from './booking-request'
import type { DirectoryComparison } from './compare-directory'
import type { MemberExport } from './decide-member'
import type { AssignmentDraft, MoveDraft } from './decide-placement'
import type { SubmissionDraft } from './decide-submission'
import type { PartnerRates } from './limits'
import type { Member } from './member'
import type { KeyRecord, NewKey, Organization, Partner } from './partner'
import type { TimeOff } from './provider'
import type { RefusalCount, RefusalsAsked } from './refusal-count'

/** Which requests are asked for: those that fit all that is given. */
export interface RequestFilter {
  readonly intakesOnly?: boolean | undefined
  /** `waiting` for those that wait for somebody: unassigned or pending. */
  readonly state?: RequestState | 'waiting' | undefined
  readonly providerId?: number | undefined
  readonly partnerId?: number | undefined
  /** The date of the slot by the provider's clock, in days since 1970-01-01. */
  readonly slotDay?: number | undefined
  /** Submitted at or after, and at or before, in ms. */
  readonly submittedFrom?: number | undefined
  readonly submittedUntil?: number | undefined
}

/** Which of the requests asked for, in which order. */
export interface RequestPart {
  /** By submission, or by the start of their slots, those without one last. */
  readonly order: 'submission' | 'slot'
  /** How many come before. */
  readonly offset: number
  readonly most: number
}

/** How many requests wait for staff or a provider. */
export interface WaitingCount {
  readonly count: number
  /** When the oldest was submitted, in ms; null if none waits. */
  readonly oldestAt: number | null
}

/** A stretch of time of some providers, as a day by the clock that they share; ms, the end no longer part of it. */
export interface ProvidersDay {
  readonly providerIds: readonly number[]
  readonly from: number
  readonly until: number
}

/**
 * What remembers. Each method is one transaction, all or nothing, on disk when its promise resolves. One that takes an
 * act fetches the facts, has the domain decide, and writes what was decided with its audit line; a refusal changes
 * nothing. `stale` asks for another decision, on a newer snapshot of the directory. Every method may throw Refusal
 * storage_busy or storage_failed, and those that name a record record_unknown.
 */
export interface Store {
  findMember(partnerId: number, externalUserId: string): Promise<Member | null>
  /** For staff: one who cannot be opened is told as unreadable. */
  findMemberById(id: number): Promise<Member | null>
  /** @throws Refusal, as decideSubmission says */
  submit(draft: SubmissionDraft): Promise<BookingRequest | Replay | 'stale'>
  /** Removes what was kept for retries and has expired at an instant (ms), at most so many; tells how many. */
  forgetReplays(at: number, most: number): Promise<number>

  listOrganizations(): Promise<Organization[]>
  /** @throws Refusal name_taken */
  addOrganization(name: string, act: Act): Promise<Organization>
  /** @throws Refusal name_taken */
  renameOrganization(id: number, name: string, act: Act): Promise<void>
  setOrganizationActive(id: number, active: boolean, act: Act): Promise<void>
  /** All partners in order of id, those without a key or an organization too. */
  listPartners(): Promise<Partner[]>
  /** @throws Refusal name_taken */
  addPartner(name: string, organizationId: number | null, act: Act): Promise<Partner>
  /** @throws Refusal name_taken */
  renamePartner(id: number, name: string, act: Act): Promise<void>
  setPartnerActive(id: number, active: boolean, act: Act): Promise<void>
  setPartnerOrganization(id: number, organizationId: number | null, act: Act): Promise<void>
  /** Those rates that are given; the others stay. */
  setPartnerRates(id: number, rates: Partial<PartnerRates>, act: Act): Promise<void>

  /** All keys in order of issue. */
  listKeys(): Promise<KeyRecord[]>
  /** @throws Refusal token_exists */
  issueKey(partnerId: number, key: NewKey, act: Act): Promise<void>
  /** @throws Refusal field_invalid for a start in the past, record_unknown if no key is in force */
  rotateKey(partnerId: number, key: NewKey, act: Act): Promise<void>
  /** @throws Refusal record_unknown if there is nothing to revoke */
  revokeKeys(partnerId: number, act: Act): Promise<void>
  /** Takes a planned cutover back. @throws Refusal record_unknown if no key waits for one */
  cancelCutover(partnerId: number, act: Act): Promise<void>
  /** When keys were last used, in ms, by kid. */
  noteKeyUses(uses: ReadonlyMap<string, number>): Promise<void>

  /** Makes the directory what was compared. @throws Refusal directory_changed */
  loadDirectory(comparison: DirectoryComparison, act: Act): Promise<void>
  setProviderActive(id: number, active: boolean, act: Act): Promise<void>
  /** Tells whether the absence is new. */
  addTimeOff(providerId: number, timeOff: TimeOff, act: Act): Promise<boolean>
  /** @throws Refusal record_unknown if there is no such absence */
  removeTimeOff(providerId: number, timeOff: TimeOff, act: Act): Promise<void>

  /** All of them in order of submission, or a part. */
  listRequests(filter: RequestFilter, part?: RequestPart): Promise<RequestRecord[]>
  /** Counts the requests that match a filter and wait. */
  countWaiting(filter: RequestFilter): Promise<WaitingCount>
  /** The ids of all of them, in order of submission. */
  listRequestIds(filter: RequestFilter): Promise<number[]>
  /** The ids of a member's requests, in order; none once the person has been erased. */
  listRequestIdsOf(memberId: number): Promise<number[]>
  findRequest(id: number): Promise<RequestRecord | null>
  /** The requests that hold a slot of providers that starts on their day, in order of time: unaudited, never to show. */
  listHeld(days: readonly ProvidersDay[]): Promise<RequestRecord[]>
  /** The screening answers of a request. */
  readScreening(requestId: number, act: Act): Promise<readonly ScreeningAnswer[]>
  /** The screening answers of the requests named, those alone that can be opened, unaudited: to sort by, never to show. */
  sortingAnswers(requestIds: readonly number[]): Promise<ReadonlyMap<number, readonly ScreeningAnswer[]>>
  /** @throws Refusal move_unknown, slot_unavailable or slot_conflicts_with_yours */
  assign(requestId: number, draft: AssignmentDraft, act: Act): Promise<'done' | 'stale'>
  /** @throws Refusal move_unknown unless the request is pending */
  accept(requestId: number, act: Act): Promise<void>
  /** @param reason kept as a note @throws Refusal move_unknown unless the request is pending or accepted */
  decline(requestId: number, act: Act, reason?: string): Promise<void>
  /** @throws Refusal move_unknown, slot_unavailable or slot_conflicts_with_yours */
  move(requestId: number, draft: MoveDraft, act: Act): Promise<'done' | 'stale'>
  /** @param reason kept as a note @throws Refusal move_unknown unless the request is unassigned */
  close(requestId: number, act: Act, reason?: string): Promise<void>
  /** The requests of a partner's members that were submitted at or after an instant (ms), in order of submission. */
  listSubmitted(partnerId: number, since: number): Promise<Pick<RequestRecord, 'id' | 'state'>[]>
  /** Declines those of the requests named that still can be, with an audit line each, and tells how many. */
  declineAll(requestIds: readonly number[], act: Act, reason?: string): Promise<number>
  /** @throws Refusal move_unknown unless the request holds a slot */
  acknowledge(requestId: number, localOffsetMinutes: number, act: Act): Promise<void>

  /** Writes a note of staff, and tells its id. @throws Refusal move_unknown once the person has been erased, field_invalid for its length */
  addNote(requestId: number, text: string, act: Act): Promise<number>
  /** How many notes there are on a request, unaudited. */
  countNotes(requestId: number): Promise<number>
  /** The notes on a request, oldest first. */
  readNotes(requestId: number, act: Act): Promise<readonly RequestNote[]>

  setMemberActive(id: number, active: boolean, act: Act): Promise<void>
  /** Members in order of id after one id, at most so many: to look through, unaudited, never to show all of. */
  listMembers(after: number, most: number): Promise<Member[]>
  /** The member, of whichever partner, to whom an e-mail address belongs. */
  findMemberByEmail(email: string, act: Act): Promise<Member | null>
  /** @throws Refusal move_unknown where there is no address */
  releaseEmail(id: number, act: Act): Promise<void>
  /** All that is held on a member. */
  exportMember(id: number, act: Act): Promise<MemberExport>
  /** Removes a member, and tells which of their requests still hold a slot. */
  eraseMember(id: number, act: Act): Promise<number[]>

  appendAudit(entries: readonly AuditEntry[]): Promise<void>
  /** At most so many lines, oldest first. */
  listAudit(limit: number, filter?: AuditFilter): Promise<AuditLine[]>
  /** Refused authentications by partner and reason, most often first. */
  countRefusals(asked: RefusalsAsked): Promise<RefusalCount[]>
  /** Those of the requests named whose screening answers somebody has read. */
  listLookedAt(requestIds: readonly number[]): Promise<number[]>
  /** The newest line, refused authentications left out. */
  auditHead(): Promise<AuditHead>
  /**
   * Whether every line is as it was written, none is gone and none too many, and whether a head that was noted before
   * is among them. The log is read some lines at a time, beside those who write.
   */
  verifyAudit(noted: AuditHead | null): Promise<AuditVerdict>
}
