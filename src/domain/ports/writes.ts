import type { Act, AuditAction, AuditEntry } from '../audit'
import type {
  BookingRequest,
  ReceiptProfile,
  RequestNote,
  RequestState,
  Retry,
  ScreeningAnswer,
} from '../booking-request'
import { Refusal } from '../errors'
import type { PartnerRates } from '../limits'
import type { MemberProfile } from '../member'
import type { KeyEndReason } from '../partner'
import type { Provider } from '../provider'
import type { Region } from '../region'

/** What an engine keeps, noun by noun, apart from the ids that it gives. Instants in ms. */
export interface Records {
  organization: { readonly name: string; readonly active: boolean; readonly createdAt: number }
  partner: PartnerRates & {
    readonly name: string
    readonly organizationId: number | null
    readonly active: boolean
    readonly createdAt: number
  }
  key: {
    readonly partnerId: number
    readonly kid: string
    /** To be sealed. */
    readonly secret: Uint8Array
    readonly issuedAt: number
    readonly startsAt: number
    readonly endsAt: number | null
    readonly endReason: KeyEndReason | null
  }
  /** Regions come with their ids, which providers refer to. */
  region: Region
  provider: Omit<Provider, 'id'>
  member: {
    readonly partnerId: number
    readonly externalUserId: string
    readonly active: boolean
    readonly profile: MemberProfile
    readonly createdAt: number
    readonly updatedAt: number
  }
  request: {
    /** Null once the person has been erased; `added` for the member whom a write before this one adds. */
    readonly memberId: number | null | 'added'
    readonly isIntake: boolean
    readonly state: RequestState
    readonly providerId: number | null
    readonly authorizationNumber: string | null
    readonly startsAt: number | null
    readonly endsAt: number | null
    readonly localOffsetMinutes: number | null
    readonly acceptedAt: number | null
    readonly declinedAt: number | null
    /** To be sealed; null once the person has been erased. */
    readonly screeningAnswers: readonly ScreeningAnswer[] | null
    readonly submittedAt: number
  }
  /** What staff wrote about a request. */
  note: Omit<RequestNote, 'id'> & { readonly requestId: number }
  /** What a submission was answered with, kept for its retries. Its id is that of the request. */
  replay: {
    readonly partnerId: number
    /** To be hashed: either may tell of a person. */
    readonly retry: Retry
    /** `added` for the request that a write before this one adds, and so with its member. */
    readonly requestId: number | 'added'
    readonly memberId: number | 'added'
    /** To be sealed, as the next. */
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

/** One record to be added, changed in some members, or removed. */
export type Write = { [N in Noun]: WriteOf<N> }[Noun]

/** A row that refers to what writes before it have added, with the ids that these have got. */
export function withIds(row: Extract<Write, { add: Noun }>['row'], added: ReadonlyMap<Noun, number>): object {
  const ids = { requestId: added.get('request'), memberId: added.get('member') }
  const isAdded = ([name]: [string, unknown]) => Reflect.get(row, name) === 'added'
  return { ...row, ...Object.fromEntries(Object.entries(ids).filter(isAdded)) }
}

/** What a decision allows: what is to be written, all or nothing, and what is answered then. */
export interface Outcome<Answer> {
  /** In order. */
  readonly writes: readonly Write[]
  /** The providers of whom other slots are taken than before. */
  readonly taken: readonly number[]
  /** The lines that are left in the audit log; one without an id names the record that the first write adds. */
  readonly audit: AuditFact | readonly AuditFact[] | null
  /** @param ids of the record of each write, in order */
  readonly answer: (ids: readonly number[]) => Answer
}

/** What was done to which record: `partner 3`. */
export interface AuditFact {
  readonly action: AuditAction
  readonly noun: Noun | null
  readonly id: number | null
  /** How it ended: `done` unless given. */
  readonly outcome?: string
}

/** A decision: no, and why, or what is to be done. */
export type Decision<Answer = void> = Refusal | Outcome<Answer>

/** The lines that an outcome leaves in the audit log. */
export function linesOf(
  { audit }: Outcome<unknown>,
  { actor, at }: Act,
  addedId: number | undefined,
): AuditEntry[] {
  return [audit ?? []].flat().map((fact) => {
    const { action, outcome = 'done' } = fact
    return { at, actor, action, record: recordName(fact, addedId), outcome }
  })
}

/** What is to be written and audited, where nothing has to be answered. */
export function outcome(
  action: AuditAction,
  noun: Noun | null,
  id: number | null,
  writes: readonly Write[],
  taken: readonly number[] = [],
): Outcome<void> {
  return { writes, taken, audit: { action, noun, id }, answer: () => {} }
}

/** The outcome of setting some members of a record, and nothing else. */
export function setting<N extends Noun>(
  action: AuditAction,
  noun: N,
  id: number,
  to: Partial<Records[N]>,
  taken: readonly number[] = [],
): Outcome<void> {
  return outcome(action, noun, id, [{ set: noun, id, to } as Write], taken)
}

/** Switches a record off or on again, whatever else can be told of it. */
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

/** How the audit log names a record, as `partner 3`; null where a line is about none. */
export function recordName({ noun, id }: AuditFact, addedId: number | undefined): string | null {
  return noun && `${noun} ${id ?? addedId}`
}

/** A thing that the directory shows, as the record of changes names it; `taken` is a provider's taken slots. */
export type ChangedNoun = 'partner' | 'region' | 'provider' | 'taken'

/** One entry of the record of changes. */
export interface Change {
  readonly noun: ChangedNoun
  readonly recordId: number
}

/** As what the directory shows a noun; null for those that it does not show. */
export const shownAs: Record<Noun, ChangedNoun | null> = {
  organization: 'partner',
  partner: 'partner',
  key: 'partner',
  region: 'region',
  provider: 'provider',
  member: null,
  request: null,
  note: null,
  replay: null,
}

/** Whether anything about partners has changed: whoever was let in has to be asked for again. */
export function isCallerStale(since: readonly Change[] | null): boolean {
  return since === null || since.some(({ noun }) => noun === 'partner')
}

/**
 * Whether what was decided of a provider on an earlier snapshot of the directory has to be decided anew
 * (optimistic concurrency). Taken slots are looked up when it is written and make nothing stale.
 *
 * @param since all that has changed since that snapshot; null where that can no longer be told
 */
export function isStale(since: readonly Change[] | null, providerId: number): boolean {
  return (
    since === null ||
    since.some(({ noun, recordId }) => noun === 'region' || (noun === 'provider' && recordId === providerId))
  )
}
