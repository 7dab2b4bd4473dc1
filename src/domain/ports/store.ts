import type { Act, AuditEntry, AuditFilter, AuditHead, AuditLine } from '../audit'
import type {
  BookingRequest,
  OwnRequest,
  Replay,
  RequestEnd,
  RequestNote,
  RequestRecord,
  RequestState,
  RequestWithAnswers,
  ScreeningAnswer,
  SentWith,
} from '../booking-request'
import type { MemberNote } from '../decisions/members'
import type { SubmissionDraft } from '../decisions/submission'
import type { PlacementDraft, PlacementFacts } from '../decisions/transitions'
import type { RefusalCount, RefusalQuery } from '../errors'
import type { Member } from '../member'
import type { KeyRecord, Organization, Partner } from '../partner'
import type { NamedProvider } from '../provider'
import type { DirectoryChanges, TakenSlot, Version } from './directory-feed'
import type { Change, Decision } from './writes'

type AllRead<Asked extends readonly unknown[]> = { -readonly [K in keyof Asked]: Awaited<Asked[K]> }

interface ChangeOptions {
  /** True to block submissions during the change, because both may affect the same members or slots. */
  readonly isAlone?: boolean
  /** True if the change may write thousands of records. */
  readonly isLarge?: boolean
}

/** Each method is one durable transaction. Methods may throw Refusal storage_busy or storage_failed. */
export interface Store {
  read<T>(work: (facts: Facts) => MaybePromise<T>): Promise<T>
  /** @param act null for a change by the service itself. No audit line is then written */
  change<const Asked extends readonly unknown[], Answer>(
    act: Act | null,
    ask: (facts: Facts) => Asked,
    decide: (...facts: AllRead<Asked>) => Decision<Answer>,
    options?: ChangeOptions,
  ): Promise<Answer>
  /** Returns `stale` if the draft is outdated. The caller must then make a new draft. */
  submit(draft: SubmissionDraft): Promise<BookingRequest | Replay | 'stale'>
  appendAudit(entries: readonly AuditEntry[]): Promise<void>
  /** Stores the last use (ms) of each key, by kid. */
  noteKeyUses(uses: ReadonlyMap<string, number>): Promise<void>
}

/** SQLite returns values, PostgreSQL returns promises. */
export type MaybePromise<T> = T | Promise<T>

/** All given conditions must match. */
export interface RequestFilter {
  readonly ids?: readonly number[] | undefined
  readonly intakesOnly?: boolean | undefined
  /** `waiting` means unassigned or pending. */
  readonly state?: RequestState | 'waiting' | undefined
  readonly providerId?: number | undefined
  readonly partnerId?: number | undefined
  readonly memberId?: number | undefined
  /** The slot's date in the provider's local time, in days since 1970-01-01. */
  readonly slotDay?: number | undefined
  /** The start of the period in ms, inclusive. */
  readonly submittedFrom?: number | undefined
  readonly submittedUntil?: number | undefined
}

/** A request in the list of changes. It names no member. Instants in ms. */
export type ChangedRequest = Omit<BookingRequest, 'member'> & {
  readonly cancelledAt: number | null
  readonly isErased: boolean
}

export interface ChangePage {
  readonly results: readonly ChangedRequest[]
  /** The cursor after this page. */
  readonly next: string
}

export interface RequestPart {
  /** With the order `slot`, requests without a slot come last. */
  readonly order: 'submission' | 'slot'
  readonly offset: number
  readonly most: number
}

export interface WaitingCount {
  readonly count: number
  /** ms; null if no request waits. */
  readonly oldestAt: number | null
}

/** A request with its member's id; null once the person has been erased. */
export interface OwnedRequest {
  readonly id: number
  readonly memberId: number | null
}

export type ProviderSlot = TakenSlot & Pick<OwnedRequest, 'memberId'> & { readonly providerId: number }

/** A provider and a start (ms) from one version of the directory. The start may be null. */
export type Placed = Pick<PlacementDraft, 'providerId' | 'startsAt' | 'version'>

interface PartnerFacts {
  /** In order of id. Includes partners without a key or organization. */
  list(): MaybePromise<Partner[]>
  find(id: number): MaybePromise<Partner | null>
  findNamed(name: string): MaybePromise<Partner | null>
  listOrganizations(): MaybePromise<Organization[]>
  findOrganization(id: number): MaybePromise<Organization | null>
  findOrganizationNamed(name: string): MaybePromise<Organization | null>
  /** In order of issue. */
  listKeyRecords(): MaybePromise<KeyRecord[]>
  keyRecordsOf(partnerId: number): MaybePromise<KeyRecord[]>
}

interface MemberFacts {
  find(partnerId: number, externalUserId: string): MaybePromise<Member | null>
  findById(id: number): MaybePromise<Member | null>
  /** If the member's data cannot be decrypted, returns placeholder data. */
  findForStaff(id: number): MaybePromise<Member | null>
  /** Searches the members of all partners. */
  findByEmail(email: string): MaybePromise<Member | null>
  /** Returns the members with an id below `before`, the newest first. */
  list(before: number, most: number): MaybePromise<Member[]>
  /** Returns ids above `after`, in order. Decrypts nothing. */
  idsAfter(after: number, most: number): MaybePromise<number[]>
  timesOf(id: number): MaybePromise<{ readonly createdAt: number; readonly updatedAt: number }>
}

interface RequestFacts {
  find(id: number): MaybePromise<RequestRecord | null>
  /** In the order of `ids`. The element for an unknown id is null. */
  findAll(ids: readonly number[]): MaybePromise<(RequestRecord | null)[]>
  /** Null for an unknown id, another partner's request, and an erased person's. */
  findOwn(partnerId: number, id: number): MaybePromise<OwnRequest | null>
  /** A page of the partner's requests in order of their last changes. Null if the cursor belongs to another list. */
  changesAfter(partnerId: number, cursor: string | null, most: number): MaybePromise<ChangePage | null>
  /** The ids of cancelled requests at risk whose answers staff have not read. */
  unreadRisks(): MaybePromise<number[]>
  countUnreadRisks(partnerId: number): MaybePromise<number>
  /** Lists requests in order of submission, unless `part` sets another order. Opens no sealed data. */
  listOwned(filter: RequestFilter, part?: Partial<RequestPart>): MaybePromise<OwnedRequest[]>
  countWaiting(filter: RequestFilter): MaybePromise<WaitingCount>
  /** Lists the requests of a member in order of id. The list of an erased person is empty. */
  listOf(memberId: number): MaybePromise<Omit<RequestRecord, 'member'>[]>
  /** Includes what was sent with each request. Throws if it cannot be decrypted. */
  listWithAnswers(memberId: number): MaybePromise<RequestWithAnswers[]>
  /** Returns all requests of these members, in order of id. Decrypts nothing. */
  endsOf(memberIds: readonly number[]): MaybePromise<readonly RequestEnd[]>
  /** Oldest first. Leaves out older requests, and data that cannot be opened. */
  sentProfilesOf(memberId: number): MaybePromise<readonly SentWith[]>
  /** Held slots in order of time. Starts are in ms, from `from` (inclusive) until `until` (exclusive). */
  slotsBetween(from: number, until: number): MaybePromise<ProviderSlot[]>
  /** The partner's requests since `since` (ms, inclusive), in order of submission. */
  submittedBy(partnerId: number, since: number): MaybePromise<Pick<RequestRecord, 'id' | 'state'>[]>
  screeningOf(id: number): MaybePromise<readonly ScreeningAnswer[]>
  /** Omits answers that cannot be decrypted. For sorting only, never for display. */
  readableAnswers(ids: readonly number[]): MaybePromise<ReadonlyMap<number, readonly ScreeningAnswer[]>>
}

interface NoteFacts {
  listOf(requestId: number): MaybePromise<readonly RequestNote[]>
  /** Returns the ids of all notes, including unreadable notes. */
  idsOf(requestId: number): MaybePromise<number[]>
  ofMembers(memberIds: readonly number[]): MaybePromise<readonly MemberNote[]>
}

interface AuditFacts {
  list(limit: number, filter?: AuditFilter): MaybePromise<AuditLine[]>
  /** Counts refused authentications by partner and reason. The highest count is first. */
  countRefusals(asked: RefusalQuery): MaybePromise<RefusalCount[]>
  /** Counts e-mail conflicts (`email_taken`) and people refused by their limit, by partner. @param after ms, exclusive */
  countEmailConflicts(after: number): MaybePromise<RefusalCount[]>
  /** Returns the ids of requests for which staff have read the screening answers. */
  listReviewed(requestIds: readonly number[]): MaybePromise<number[]>
  /** The newest line of the chain `acts`. */
  head(): MaybePromise<AuditHead>
}

/** The read operations. Reads leave no audit line. */
export interface Facts {
  readonly partners: PartnerFacts
  readonly members: MemberFacts
  readonly requests: RequestFacts
  readonly notes: NoteFacts
  readonly audit: AuditFacts
  readonly directory: {
    /** Returns providers in order of id. */
    findProviders(ids: readonly number[]): MaybePromise<Pick<DirectoryChanges, 'providers' | 'unreadable'>>
    /** Also finds unreadable providers. */
    findId(ref: string): MaybePromise<number | null>
    listProviderNames(): MaybePromise<NamedProvider[]>
    listTimeZones(): MaybePromise<string[]>
  }
  readonly changes: {
    /** Directory changes after a version, without taken slots. Null if some changes are no longer stored. */
    sinceExceptTaken(version: Version): MaybePromise<readonly Change[] | null>
  }
  readonly placement: { find(requestId: number, placed: Placed): MaybePromise<PlacementFacts> }
  readonly replays: {
    /** The ids of requests submitted at or before `until` (ms), oldest first. */
    submittedBy(until: number, most: number): MaybePromise<number[]>
  }
}
