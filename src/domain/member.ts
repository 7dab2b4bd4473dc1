import { dayMillis, parseDate } from '../scheduling/calendar'
import { defaultLanguageTag } from './language'

/** What a partner tells of a member. Free texts may be empty; whatever was never told is null. */
export interface MemberProfile {
  /** Empty where the operator has released it. */
  readonly email: string
  readonly firstName: string
  readonly lastName: string
  /** ISO 3166-1 alpha-2, upper case. */
  readonly country: string
  readonly preferredName: string | null
  readonly preferredPronouns: string | null
  readonly dob: string | null
  readonly gender: string | null
  readonly maritalStatus: string | null
  readonly clientType: string | null
  readonly leaveVoicemail: string | null
  readonly phoneNumber: string | null
  readonly streetAddress: string | null
  readonly suite: string | null
  readonly city: string | null
  readonly state: string | null
  readonly zipCode: string | null
  readonly reasonForSeekingSupport: string | null
  readonly preferredModality: string | null
  /** BCP 47. */
  readonly preferredSpokenLanguage: string
}

/** What is known of a member before anything was told. */
export const emptyProfile = {
  preferredName: null,
  preferredPronouns: null,
  dob: null,
  gender: null,
  maritalStatus: null,
  clientType: null,
  leaveVoicemail: null,
  phoneNumber: null,
  streetAddress: null,
  suite: null,
  city: null,
  state: null,
  zipCode: null,
  reasonForSeekingSupport: null,
  preferredModality: null,
  preferredSpokenLanguage: defaultLanguageTag,
}

const unreadable = '(unreadable)'

/** What staff are shown for a member who cannot be opened. It is never written. */
export const unreadableMember = {
  externalUserId: unreadable,
  profile: {
    ...emptyProfile,
    email: unreadable,
    firstName: unreadable,
    lastName: unreadable,
    country: unreadable,
  },
} as const satisfies Pick<Member, 'externalUserId' | 'profile'>

/** A person seeking care, whom one partner knows by `externalUserId`. */
export interface Member {
  readonly id: number
  readonly partnerId: number
  readonly externalUserId: string
  readonly active: boolean
  readonly profile: MemberProfile
}

/** What one call tells of a member: what it leaves out stays as it is. */
export type MemberUpdate = Pick<MemberProfile, 'email' | 'firstName' | 'lastName' | 'country'> &
  Partial<MemberProfile>

/** The one form of an e-mail address by which two members are told apart: NFC, and case does not matter. */
export function foldEmail(email: string): string {
  return email.normalize('NFC').toLowerCase()
}

/** What of a member a text was found in. */
export type MatchedBy = 'name' | 'phone' | 'e-mail' | "partner's id"

/** Fewer digits are in too many numbers. */
const leastDigits = 4

/**
 * Tells what of a member a text stands in, null for nothing: in what they are called, however either is composed (NFKC),
 * whatever its case, accents and apostrophes, which not every keyboard has; in their phone number, however either is spaced; or in their e-mail address.
 */
export function matcherOf(text: string): (member: Member) => MatchedBy | null {
  const wanted = foldName(text)
  const digits = /^[+\d ().-]+$/.test(text) ? digitsOf(text) : ''
  const isNumber = digits.length >= leastDigits
  const isAddress = text.includes('@')
  return ({ profile }) => {
    const { firstName, lastName, preferredName, phoneNumber, email } = profile
    if (foldName(`${firstName} ${lastName}`).includes(wanted)) return 'name'
    if (preferredName && foldName(preferredName).includes(wanted)) return 'name'
    if (isNumber && phoneNumber && digitsOf(phoneNumber).includes(digits)) return 'phone'
    return isAddress && foldEmail(email).includes(foldEmail(text)) ? 'e-mail' : null
  }
}

/**
 * The name of a person or a place as names are compared: whatever its case, accents, apostrophes and the space around it. Marks
 * alone stay, or they would stand in every name.
 */
export function foldName(name: string): string {
  const folded = name.trim().normalize('NFKC').toLowerCase().replace(/[’‘ʼ]/g, "'")
  return (
    folded
      .normalize('NFD')
      .replace(/[\u0300-\u036f]/g, '')
      .normalize('NFC') || folded
  )
}

function digitsOf(text: string): string {
  return text.replace(/\D/g, '')
}

const atom = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
const label = '[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?'
/** A dot-atom, an @ and a domain name, as a regular expression. */
export const emailPattern = `^${atom}(?:\\.${atom})*@(?:${label}\\.)+${label}$`
const address = new RegExp(emailPattern)

/** Whether a text is a mailbox: a dot-atom of at most 64 characters, @, a domain name (RFC 5321 §4.1.2, §4.5.3.1.1). */
export function isEmail(text: string): boolean {
  return text.indexOf('@') <= 64 && address.test(text)
}

/** `+` and 7 to 15 digits (E.164), with spaces, dots, hyphens or parentheses between them, as a regular expression. */
export const phoneNumberPattern = '^\\+[0-9](?:[ .()-]*[0-9]){6,14}$'
const phoneNumber = new RegExp(phoneNumberPattern)

export function isPhoneNumber(text: string): boolean {
  return phoneNumber.test(text)
}

/** Whether a text is a date on or before the day of `now` (ms) that a birth date can be. */
export function isPastDate(text: string, now: number): boolean {
  const day = parseDate(text)
  return day !== null && day <= Math.floor(now / dayMillis)
}
