import { slotMinutes } from '../scheduling/availability'
import { minuteMillis } from '../scheduling/calendar'
import { Refusal } from './errors'
import type { Member, MemberProfile, MemberUpdate } from './member'

/** The length of a slot in ms (contract, Limits). */
export const slotMillis = slotMinutes * minuteMillis

/** Intakes start as `unassigned`, other requests as `pending`. Pending and accepted requests hold a slot. */
export const requestStates = ['unassigned', 'pending', 'accepted', 'declined', 'closed'] as const

export type RequestState = (typeof requestStates)[number]

/** A PHQ-9 question and the member's answer: health data. */
export interface ScreeningAnswer {
  readonly question: string
  readonly answer: string
}

export interface RequestedSlot {
  readonly providerId: number
  readonly startsAt: number
}

/** A request for a slot with a provider, or an intake, which names neither when it is submitted. Instants in ms. */
export interface BookingRequest {
  readonly id: number
  readonly state: RequestState
  readonly providerId: number | null
  readonly authorizationNumber: string | null
  readonly startsAt: number | null
  readonly acceptedAt: number | null
  readonly declinedAt: number | null
  readonly member: Member
}

export type ReceiptProfile = Pick<MemberProfile, 'firstName' | 'email' | 'phoneNumber' | 'preferredModality'>

/** The response to a submission, stored for its retries. */
export interface Receipt extends Omit<BookingRequest, 'member'> {
  readonly member: { readonly id: number; readonly profile: ReceiptProfile }
}

export interface Replay extends Receipt {
  readonly isReplay: true
}

/** A request as staff see it: without the screening answers. */
export interface RequestRecord extends Omit<BookingRequest, 'member'> {
  readonly isIntake: boolean
  readonly submittedAt: number
  /** Expected offset of the provider's local time at `startsAt`, in minutes east of UTC; null without a slot. */
  readonly localOffsetMinutes: number | null
  /** Null once the person has been erased. */
  readonly member: Member | null
}

/** A `note` is about the request; `decline` and `close` store the reason for declining or closing it. */
export type NoteKind = 'note' | 'decline' | 'close'

/** A note by staff about a request. Only staff may read it, because it may contain health data. */
export interface RequestNote {
  readonly id: number
  readonly kind: NoteKind
  readonly at: number
  readonly actor: string
  readonly text: string
}

export interface Submission {
  readonly partnerId: number
  readonly externalUserId: string
  readonly member: MemberUpdate
  /** Null for an intake. */
  readonly slot: RequestedSlot | null
  readonly screeningAnswers: readonly ScreeningAnswer[]
  /** Null without an idempotency key. */
  readonly retry: Retry | null
}

/** Identifies a submission and its retries. */
export interface Retry {
  /** The partner's idempotency key, the same for all retries. */
  readonly key: string
  /** The request body, byte for byte. A different body under the same key is the partner's error. */
  readonly body: string
}

// Crockford's base 32 alphabet: digits and upper-case letters without I, L, O and U.
const readable = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

/** Returns 60 random bits that are easy to read aloud, such as `7K3Q-M0XA-9RTV`. */
export function newAuthorizationNumber(): string {
  const symbols = Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => readable[byte & 31])
  return [symbols.slice(0, 4), symbols.slice(4, 8), symbols.slice(8)].map((group) => group.join('')).join('-')
}

export function holdsSlot(state: RequestState): boolean {
  return state === 'pending' || state === 'accepted'
}

/** Returns the providers whose slots a change of the request affects: its provider, or none. */
export function providersOf({ providerId }: RequestRecord): number[] {
  return providerId === null ? [] : [providerId]
}

export function refuseErased({ member }: RequestRecord): Refusal | null {
  return member ? null : new Refusal('move_unknown', 'the person of this request was erased')
}
