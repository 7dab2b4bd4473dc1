import { slotMinutes } from '../scheduling/availability'
import { minuteMillis } from '../scheduling/calendar'
import { Refusal } from './errors'
import type { Member, MemberProfile, MemberUpdate } from './member'

/** The length of a slot in milliseconds (contract, Limits). */
export const slotMillis = slotMinutes * minuteMillis

/**
 * The states of a request: an intake begins unassigned, a booking request pending; pending and accepted
 * requests hold their slot; an intake that nobody is to be assigned to is closed.
 */
export const requestStates = ['unassigned', 'pending', 'accepted', 'declined', 'closed'] as const

export type RequestState = (typeof requestStates)[number]

/** One question of a screening (PHQ-9) and what the member answered: health data. */
export interface ScreeningAnswer {
  readonly question: string
  readonly answer: string
}

/** A provider's slot that is asked for; instants in ms. */
export interface RequestedSlot {
  readonly providerId: number
  readonly startsAt: number
}

/** A request of a member for one provider and slot, or, with neither, an intake. Instants in ms. */
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

/** What a partner is told of a member with a request of theirs. */
export type ReceiptProfile = Pick<MemberProfile, 'firstName' | 'email' | 'phoneNumber' | 'preferredModality'>

/** What is kept of the answer to a submission, for its retries: the request as it was stored, and what is told of its member. */
export interface Receipt extends Omit<BookingRequest, 'member'> {
  readonly member: { readonly id: number; readonly profile: ReceiptProfile }
}

/** The answer to a retry. */
export interface Replay extends Receipt {
  readonly isReplay: true
}

/** A request as the operator sees it: all of it but the screening answers. */
export interface RequestRecord extends Omit<BookingRequest, 'member'> {
  readonly isIntake: boolean
  readonly submittedAt: number
  /** Minutes east of UTC that the provider's clock was expected to be at startsAt; null without a slot. */
  readonly localOffsetMinutes: number | null
  /** Null once the person has been erased. */
  readonly member: Member | null
}

/** What a note is about: the request, or why it was declined or closed. */
export type NoteKind = 'note' | 'decline' | 'close'

/** What staff wrote about a request, for staff alone: it may be health data. */
export interface RequestNote {
  readonly id: number
  readonly kind: NoteKind
  /** ms */
  readonly at: number
  readonly actor: string
  readonly text: string
}

/** What a partner submits, before anything of it is stored. */
export interface Submission {
  readonly partnerId: number
  readonly externalUserId: string
  readonly member: MemberUpdate
  /** Null for an intake. */
  readonly slot: RequestedSlot | null
  readonly screeningAnswers: readonly ScreeningAnswer[]
  /** Null where it is not to be told from a retry of itself. */
  readonly retry: Retry | null
}

/** By what a submission is known when it is sent again. */
export interface Retry {
  /** The partner's idempotency key: one for a submission and all its retries. */
  readonly key: string
  /** What was sent, byte for byte: the same key with anything else is a fault of the sender. */
  readonly body: string
}

// Crockford's alphabet: no letter that can be heard or read as another character.
const readable = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

/** A new authorization number of 60 random bits that can be read aloud, as `7K3Q-M0XA-9RTV`. */
export function newAuthorizationNumber(): string {
  const symbols = Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => readable[byte & 31])
  return [symbols.slice(0, 4), symbols.slice(4, 8), symbols.slice(8)].map((group) => group.join('')).join('-')
}

/** Whether requests of a state hold their slot, where they have one. */
export function holdsSlot(state: RequestState): boolean {
  return state === 'pending' || state === 'accepted'
}

/** The provider of a request, if it has one, for those who are told whose slots have changed. */
export function providersOf({ providerId }: RequestRecord): number[] {
  return providerId === null ? [] : [providerId]
}

/** Why nothing more can be done for the person of a request; null if they are still known. */
export function refuseErased({ member }: RequestRecord): Refusal | null {
  return member ? null : new Refusal('move_unknown', 'the person of this request was erased')
}
