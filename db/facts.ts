import type { AuditFilter, AuditHead, AuditLine, AuditVerdict } from '../src/domain/audit'
import type { RequestNote, RequestRecord, ScreeningAnswer } from '../src/domain/booking-request'
import type { MemberExport } from '../src/domain/decide-member'
import type { PlacementFacts } from '../src/domain/decide-placement'
import type { Version } from '../src/domain/directory-feed'
import type { Member } from '../src/domain/member'
import type { KeyRecord, Organization, Partner } from '../src/domain/partner'
import type { RefusalCount, RefusalsAsked } from '../src/domain/refusal-count'
import type { ProvidersDay, RequestFilter, RequestPart, WaitingCount } from '../src/domain/store'
import type { Change } from '../src/domain/writes'
import type { FoundProviders } from './sealed/providers'

/** What an engine tells: at once, or as soon as it has it. */
export type Told<T> = T | Promise<T>

/** What every engine can be asked for. */
export interface Facts {
  readonly partners: PartnerFacts
  readonly directory: { findProviders(ids: readonly number[]): Told<FoundProviders> }
  readonly changes: { sinceButTaken(version: Version): Told<readonly Change[] | null> }
  readonly requests: RequestFacts
  readonly placement: {
    /** What decides about a provider, and a slot if one is named, for a request. */
    find(requestId: number, placed: Placed): Told<PlacementFacts>
  }
  readonly notes: NoteFacts
  readonly members: MemberFacts
  readonly replays: { submittedBy(until: number, most: number): Told<number[]> }
  readonly audit: AuditFacts
}

/** A provider for a request, and when, as a draft has them. */
export interface Placed {
  readonly providerId: number
  readonly startsAt: number | null
  readonly version: Version
}

interface PartnerFacts {
  list(): Told<Partner[]>
  listOrganizations(): Told<Organization[]>
  listKeyRecords(): Told<KeyRecord[]>
  keyRecordsOf(partnerId: number): Told<KeyRecord[]>
  find(id: number): Told<Partner | null>
  findNamed(name: string): Told<Partner | null>
  findOrganization(id: number): Told<Organization | null>
  findOrganizationNamed(name: string): Told<Organization | null>
}

interface RequestFacts {
  list(filter: RequestFilter, part?: RequestPart): Told<RequestRecord[]>
  countWaiting(filter: RequestFilter): Told<WaitingCount>
  listIds(filter: RequestFilter): Told<number[]>
  find(id: number): Told<RequestRecord | null>
  findAll(ids: readonly number[]): Told<(RequestRecord | null)[]>
  held(days: readonly ProvidersDay[]): Told<RequestRecord[]>
  submittedBy(partnerId: number, from: number): Told<Pick<RequestRecord, 'id' | 'state'>[]>
  screeningOf(id: number): Told<ScreeningAnswer[]>
  readableAnswers(ids: readonly number[]): Told<ReadonlyMap<number, readonly ScreeningAnswer[]>>
  listOf(memberId: number): Told<Omit<RequestRecord, 'member'>[]>
  listWithAnswers(memberId: number): Told<Omit<MemberExport['requests'][number], 'notes'>[]>
}

interface NoteFacts {
  listOf(requestId: number): Told<RequestNote[]>
  idsOf(requestId: number): Told<number[]>
  /** Of the notes on all requests of a member. */
  idsOfMember(memberId: number): Told<number[]>
}

interface MemberFacts {
  find(partnerId: number, externalUserId: string): Told<Member | null>
  findById(id: number): Told<Member | null>
  findForStaff(id: number): Told<Member | null>
  list(after: number, most: number): Told<Member[]>
  timesOf(id: number): Told<{ createdAt: number; updatedAt: number }>
  /** Of whichever partner. */
  findByEmail(email: string): Told<Member | null>
}

interface AuditFacts {
  list(limit: number, filter?: AuditFilter): Told<AuditLine[]>
  countRefusals(asked: RefusalsAsked): Told<RefusalCount[]>
  looksAtRisk(requestIds: readonly number[]): Told<number[]>
  head(): Told<AuditHead>
  verify(noted: AuditHead | null): Promise<AuditVerdict>
}
