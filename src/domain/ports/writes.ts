import type { Act, AuditAction } from '../audit'
import type {
  BookingRequest,
  ReceiptProfile,
  RequestNote,
  RequestRecord,
  Retry,
  ScreeningAnswer,
  SentProfile,
} from '../booking-request'
import { Refusal } from '../errors'
import type { Member } from '../member'
import type { KeyEndReason, Organization, Partner, PartnerKey } from '../partner'
import type { Provider } from '../provider'
import type { Region } from '../region'

/** Stored records without their generated ids. Instants in ms. */
export interface Records {
  organization: Omit<Organization, 'id'> & { readonly createdAt: number }
  partner: Omit<Partner, 'id' | 'organization'> & {
    readonly organizationId: number | null
    readonly createdAt: number
  }
  /** The secret is sealed when stored. */
  key: Omit<PartnerKey, 'partner'> & {
    readonly partnerId: number
    readonly endReason: KeyEndReason | null
  }
  /** Includes the id, because providers refer to regions by id. */
  region: Region
  provider: Omit<Provider, 'id'>
  member: Omit<Member, 'id'> & { readonly createdAt: number; readonly updatedAt: number }
  request: Omit<RequestRecord, 'id' | 'member'> & {
    readonly partnerId: number
    /** Null for an erased person. `added` means the member that an earlier write adds. */
    readonly memberId: number | null | 'added'
    readonly endsAt: number | null
    /** Sealed when stored. Null for an erased person. */
    readonly screeningAnswers: readonly ScreeningAnswer[] | null
    /** Sealed when stored; null for an older request, and once the person has been erased. */
    readonly sentProfile: SentProfile | null
  }
  note: Omit<RequestNote, 'id'> & { readonly requestId: number }
  /** A cancelled request at risk whose answers staff have not read. Hashed and sealed when stored. */
  unreadRisk: { readonly requestId: number; readonly partnerId: number }
  /** The response to a submission. Stored for retries, with the id of the request. */
  replay: {
    readonly partnerId: number
    /** The key and the body are stored as hashes only, because they may contain personal data. */
    readonly retry: Retry
    /** `added` means the request that an earlier write adds. */
    readonly requestId: number | 'added'
    readonly memberId: number | 'added'
    readonly request: Omit<BookingRequest, 'id' | 'member'>
    readonly profile: ReceiptProfile
    readonly submittedAt: number
  }
}

export type Noun = keyof Records

type WriteOf<N extends Noun> =
  | { readonly add: N; readonly row: Records[N] }
  | { readonly set: N; readonly id: number; readonly to: Partial<Records[N]> }
  | { readonly remove: N; readonly id: number }

export type Write = { [N in Noun]: WriteOf<N> }[Noun]

/** Replaces `added` by the generated id of an earlier write. */
export function withIds(row: Extract<Write, { add: Noun }>['row'], added: ReadonlyMap<Noun, number>): object {
  const ids = { requestId: added.get('request'), memberId: added.get('member') }
  const isAdded = ([name]: [string, unknown]) => Reflect.get(row, name) === 'added'
  return { ...row, ...Object.fromEntries(Object.entries(ids).filter(isAdded)) }
}

export interface Outcome<Answer> {
  readonly writes: readonly Write[]
  /** The providers whose taken slots change. */
  readonly taken: readonly number[]
  /** The audit lines to write. A fact without an id is about the record that the first write adds. */
  readonly audit: AuditFact | readonly AuditFact[] | null
  readonly answer: (ids: readonly number[]) => Answer
}

export interface AuditFact {
  readonly action: AuditAction
  readonly noun: Noun | null
  readonly id: number | null
  readonly outcome?: string
}

export type Decision<Answer = void> = Refusal | Outcome<Answer>

export function linesOf({ audit }: Outcome<unknown>, { actor, at }: Act, addedId: number | undefined) {
  return [audit ?? []].flat().map((fact) => {
    const { action, outcome = 'done' } = fact
    return { at, actor, action, record: recordName(fact, addedId), outcome }
  })
}

export function outcome(
  action: AuditAction,
  noun: Noun | null,
  id: number | null,
  writes: readonly Write[],
  taken: readonly number[] = [],
): Outcome<void> {
  return { writes, taken, audit: { action, noun, id }, answer: () => {} }
}

/** Adds values that are no personal data to the audit line, for example `done: provider 7`. */
export function withOutcome<Answer>(decided: Outcome<Answer>, text: string): Outcome<Answer> {
  return { ...decided, audit: { ...(decided.audit as AuditFact), outcome: text } }
}

export function setting<N extends Noun>(
  action: AuditAction,
  noun: N,
  id: number,
  to: Partial<Records[N]>,
  taken: readonly number[] = [],
): Outcome<void> {
  return outcome(action, noun, id, [{ set: noun, id, to } as Write], taken)
}

export function decideState(
  noun: 'organization' | 'partner' | 'member',
  record: { readonly id: number } | null,
  active: boolean,
): Decision {
  if (!record) return unknownRecord(noun)
  return setting(`${noun}.${active ? 'reactivate' : 'deactivate'}`, noun, record.id, { active })
}

export function unknownRecord(noun: Noun): Refusal {
  return new Refusal('record_unknown', `there is no such ${noun}`)
}

/** Returns the record's name in the audit log, such as `partner 3`; null if the line concerns no record. */
export function recordName({ noun, id }: AuditFact, addedId: number | undefined): string | null {
  return noun && `${noun} ${id ?? addedId}`
}

/** The kind of a directory change. `taken` means a change of a provider's taken slots. */
export type ChangedNoun = 'partner' | 'region' | 'provider' | 'taken'

export interface Change {
  readonly noun: ChangedNoun
  readonly recordId: number
}

/** Maps each record type to the directory change that a write causes. Null means no directory change. */
export const directoryNouns: Record<Noun, ChangedNoun | null> = {
  organization: 'partner',
  partner: 'partner',
  key: 'partner',
  region: 'region',
  provider: 'provider',
  member: null,
  request: null,
  note: null,
  unreadRisk: null,
  replay: null,
}

/** Returns true if a partner may have changed. The caller must then be authenticated again. */
export function isCallerStale(since: readonly Change[] | null): boolean {
  return since === null || since.some(({ noun }) => noun === 'partner')
}

/** Returns true if a draft is outdated (optimistic concurrency). Ignores taken slots, because the write checks them. */
export function isStale(since: readonly Change[] | null, providerId: number): boolean {
  return (
    since === null ||
    since.some(({ noun, recordId }) => noun === 'region' || (noun === 'provider' && recordId === providerId))
  )
}
