import { slotMinutes } from '../scheduling/availability'
import { minuteMillis } from '../scheduling/calendar'
import { Refusal } from './errors'
import type { Member, MemberProfile, MemberUpdate } from './member'
import { type RandomSource, secureRandom } from './ports/random'

/** The length of a slot in ms (contract, Limits). */
export const slotMillis = slotMinutes * minuteMillis

/** Intakes start as `unassigned`, other requests as `pending`. Pending and accepted requests hold a slot. */
export const requestStates = ['unassigned', 'pending', 'accepted', 'declined', 'closed', 'cancelled'] as const

export type RequestState = (typeof requestStates)[number]

/** A PHQ-9 question and the member's answer. Both are health data. */
export interface ScreeningAnswer {
  readonly question: string
  readonly answer: string
}

/** The member's data as a partner sent it with a request. */
export interface SentProfile {
  readonly sent: MemberUpdate
  /** The earlier values of the fields that the request changed. Empty for a new member. */
  readonly before: Partial<MemberProfile>
}

/** A request's id and submission (ms), with the profile that the partner sent. */
export type SentWith = SentProfile & { readonly id: number; readonly submittedAt: number }

export interface RequestedSlot {
  readonly providerId: number
  readonly startsAt: number
}

/** A request for a provider's slot, or an intake. An intake has no provider or slot at first. Instants in ms. */
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

/** The response to a submission. Stored for retries. */
export interface Receipt extends Omit<BookingRequest, 'member'> {
  readonly member: { readonly id: number; readonly profile: ReceiptProfile }
}

export interface Replay extends Receipt {
  readonly isReplay: true
}

/** A request for display to staff. Does not contain the screening answers. */
export interface RequestRecord extends Omit<BookingRequest, 'member'> {
  readonly cancelledAt: number | null
  readonly isIntake: boolean
  readonly submittedAt: number
  /** The provider's expected UTC offset at `startsAt`, in minutes (east is positive). Null without a slot. */
  readonly localOffsetMinutes: number | null
  /** Null once the person has been erased. */
  readonly member: Member | null
}

/** A request as its partner sees it: the person was not erased. */
export type OwnRequest = RequestRecord & { readonly member: Member }

/** All of a member's request, with the profile that was sent with it: null for an older request. */
export interface RequestWithAnswers extends Omit<RequestRecord, 'member'> {
  readonly screeningAnswers: readonly ScreeningAnswer[]
  readonly sentProfile: SentProfile | null
}

export interface RequestEnd
  extends Pick<RequestRecord, 'id' | 'state' | 'submittedAt' | 'acceptedAt' | 'declinedAt' | 'cancelledAt'> {
  readonly memberId: number
  readonly endsAt: number | null
}

/** All kinds but `note` mark reasons for a decision. */
export type NoteKind = 'note' | 'decline' | 'close' | 'cancel'

/** A note by staff about a request. Only staff may read notes, because notes may contain health data. */
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
  readonly slot: RequestedSlot | null
  readonly screeningAnswers: readonly ScreeningAnswer[]
  readonly retry: Retry | null
  /** Set if the partner's intake rate is used up. The checks of the member come first. */
  readonly rateRefusal?: Refusal | null
}

export interface Retry {
  /** The partner's idempotency key, the same for all retries. */
  readonly key: string
  /** The exact request body. A retry must have the same key and the same body. */
  readonly body: string
}

// Crockford's base 32 alphabet: digits and upper-case letters without I, L, O and U.
const readable = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

/** Returns a random number that is easy to read aloud, such as `7K3Q-M0XA-9RTV`. Contains 60 random bits. */
export function newAuthorizationNumber(random: RandomSource = secureRandom): string {
  const symbols = Array.from(random(12), (byte) => readable[byte & 31])
  return [symbols.slice(0, 4), symbols.slice(4, 8), symbols.slice(8)].map((group) => group.join('')).join('-')
}

export function holdsSlot(state: RequestState): boolean {
  return state === 'pending' || state === 'accepted'
}

/** Returns the request's provider as a list. The list is empty if the request has no provider. */
export function providersOf({ providerId }: RequestRecord): number[] {
  return providerId === null ? [] : [providerId]
}

export function refuseErased({ member }: RequestRecord): Refusal | null {
  return member ? null : new Refusal('move_unknown', 'the person of this request was erased')
}
