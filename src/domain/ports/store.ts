import type { Act, AuditEntry, AuditFilter, AuditHead, AuditLine } from '../audit'
import type {
  BookingRequest,
  Replay,
  RequestNote,
  RequestRecord,
  RequestState,
  ScreeningAnswer,
} from '../booking-request'
import type { SubmissionDraft } from '../decisions/submission'
import type { PlacementFacts } from '../decisions/transitions'
import type { RefusalCount, RefusalQuery } from '../errors'
import type { Member } from '../member'
import type { KeyRecord, Organization, Partner } from '../partner'
import type { Provider } from '../provider'
import type { TakenSlot, UnreadableProvider, Version } from './directory-feed'
import type { Change, Decision } from './writes'

/** The values of several facts. */
type AllRead<Asked extends readonly unknown[]> = { -readonly [K in keyof Asked]: Awaited<Asked[K]> }

export interface ChangeOptions {
  /** Whether no submission may run meanwhile, because it may be about the same people or slots. */
  readonly isAlone?: boolean
  /** Whether it may write thousands of records, and so take long. */
  readonly isLarge?: boolean
}

/**
 * What an operation asks of a database. Each method is one transaction, all or nothing, on disk when its promise resolves.
 * Every method may throw Refusal storage_busy or storage_failed.
 */
export interface Store {
  /** Reads facts. */
  read<T>(work: (facts: Facts) => MaybePromise<T>): Promise<T>
  /**
   * Reads facts, lets the domain decide on them, and writes what it decided with its audit lines.
   *
   * @param act null for the service itself, which leaves no audit line
   * @throws Refusal if that is the decision; nothing is changed then
   */
  change<const Asked extends readonly unknown[], Answer>(
    act: Act | null,
    ask: (facts: Facts) => Asked,
    decide: (...facts: AllRead<Asked>) => Decision<Answer>,
    options?: ChangeOptions,
  ): Promise<Answer>
  /**
   * Stores what a partner submits. `stale` asks for another draft, on a newer version of the directory.
   *
   * @throws Refusal, as decideSubmission says
   */
  submit(draft: SubmissionDraft): Promise<BookingRequest | Replay | 'stale'>
  appendAudit(entries: readonly AuditEntry[]): Promise<void>
  /** When keys were last used, in ms, by kid. */
  noteKeyUses(uses: ReadonlyMap<string, number>): Promise<void>
}

/** SQLite answers at once, PostgreSQL later. */
export type MaybePromise<T> = T | Promise<T>

/** Which requests are asked for: those that fit all that is given. */
export interface RequestFilter {
  readonly intakesOnly?: boolean | undefined
  /** `waiting`: staff have yet to act on it, so it is unassigned or pending. */
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

/** A slot that a request holds with a provider. */
export type ProviderSlot = TakenSlot & { readonly providerId: number }

/** A provider for a request, with a start (ms) or without, chosen on a version of the directory. */
export interface Placed {
  readonly providerId: number
  readonly startsAt: number | null
  readonly version: Version
}

interface PartnerFacts {
  /** All partners in order of id, those without a key or an organization too. */
  list(): MaybePromise<Partner[]>
  find(id: number): MaybePromise<Partner | null>
  findNamed(name: string): MaybePromise<Partner | null>
  listOrganizations(): MaybePromise<Organization[]>
  findOrganization(id: number): MaybePromise<Organization | null>
  findOrganizationNamed(name: string): MaybePromise<Organization | null>
  /** All keys in order of issue. */
  listKeyRecords(): MaybePromise<KeyRecord[]>
  keyRecordsOf(partnerId: number): MaybePromise<KeyRecord[]>
}

interface MemberFacts {
  find(partnerId: number, externalUserId: string): MaybePromise<Member | null>
  findById(id: number): MaybePromise<Member | null>
  /** A member who cannot be opened is returned as unreadable. */
  findForStaff(id: number): MaybePromise<Member | null>
  /** The member, of whichever partner, who has an e-mail address. */
  findByEmail(email: string): MaybePromise<Member | null>
  /** Members in order of id after one id: to search, never to show all of. */
  list(after: number, most: number): MaybePromise<Member[]>
  /** When a member was added and last changed by its partner, in ms. */
  timesOf(id: number): MaybePromise<{ readonly createdAt: number; readonly updatedAt: number }>
}

interface RequestFacts {
  find(id: number): MaybePromise<RequestRecord | null>
  /** In the order of the ids; null for an unknown one. */
  findAll(ids: readonly number[]): MaybePromise<(RequestRecord | null)[]>
  /** In order of submission, unless the part says otherwise. */
  list(filter: RequestFilter, part?: RequestPart): MaybePromise<RequestRecord[]>
  listIds(filter: RequestFilter): MaybePromise<number[]>
  countWaiting(filter: RequestFilter): MaybePromise<WaitingCount>
  /** The requests of a member in order of id, without the member; none once the person has been erased. */
  listOf(memberId: number): MaybePromise<Omit<RequestRecord, 'member'>[]>
  /** The same with their screening answers. */
  listWithAnswers(
    memberId: number,
  ): MaybePromise<
    (Omit<RequestRecord, 'member'> & { readonly screeningAnswers: readonly ScreeningAnswer[] })[]
  >
  /** The slots that requests hold and that start from one instant (ms) until before another, in order of time. */
  slotsBetween(from: number, until: number): MaybePromise<ProviderSlot[]>
  /** The requests of a partner's members that were submitted at or after an instant (ms), in order of submission. */
  submittedBy(partnerId: number, since: number): MaybePromise<Pick<RequestRecord, 'id' | 'state'>[]>
  /** The screening answers of a request; none for an erased member. */
  screeningOf(id: number): MaybePromise<readonly ScreeningAnswer[]>
  /** The screening answers that can be opened, by request: to sort by, never to show. */
  readableAnswers(ids: readonly number[]): MaybePromise<ReadonlyMap<number, readonly ScreeningAnswer[]>>
}

interface NoteFacts {
  /** The notes on a request, oldest first. */
  listOf(requestId: number): MaybePromise<readonly RequestNote[]>
  /** The ids of the notes on a request, readable or not. */
  idsOf(requestId: number): MaybePromise<number[]>
  /** The ids of the notes on all requests of a member. */
  idsOfMember(memberId: number): MaybePromise<number[]>
}

interface AuditFacts {
  /** At most so many lines, oldest first. */
  list(limit: number, filter?: AuditFilter): MaybePromise<AuditLine[]>
  /** Refused authentications by partner and reason, most often first. */
  countRefusals(asked: RefusalQuery): MaybePromise<RefusalCount[]>
  /** Which of the requests had their screening answers read by somebody. */
  looksAtRisk(requestIds: readonly number[]): MaybePromise<number[]>
  /** The newest line, refused authentications left out. */
  head(): MaybePromise<AuditHead>
}

/** What an operation can read from a database, noun by noun. Reading leaves no audit line. */
export interface Facts {
  readonly partners: PartnerFacts
  readonly members: MemberFacts
  readonly requests: RequestFacts
  readonly notes: NoteFacts
  readonly audit: AuditFacts
  readonly directory: {
    /** Providers by id, in order of id. */
    findProviders(ids: readonly number[]): MaybePromise<{
      readonly providers: readonly Provider[]
      readonly unreadable: readonly UnreadableProvider[]
    }>
    /** The id of the provider of a ref, readable or not. */
    findId(ref: string): MaybePromise<number | null>
    /** The names of the time zones of all providers. */
    listTimeZones(): MaybePromise<string[]>
  }
  readonly changes: {
    /** What changed in the directory after a version, except taken slots; null if some of it is no longer kept. */
    sinceButTaken(version: Version): MaybePromise<readonly Change[] | null>
  }
  readonly placement: {
    find(requestId: number, placed: Placed): MaybePromise<PlacementFacts>
  }
  readonly replays: {
    /** The ids of the requests submitted at an instant (ms) or before, oldest first, at most so many. */
    submittedBy(until: number, most: number): MaybePromise<number[]>
  }
}
