import { dayMillis, parseDate } from '../scheduling/calendar'
import { defaultLanguageTag } from './language'

/** The default values of a new member's optional fields. Null means that the partner never sent the field. */
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

/** A member's data as the partner sent it. Texts may be empty. */
export interface MemberProfile extends Readonly<Record<keyof typeof emptyProfile, string | null>> {
  /** Empty if the operator has released the address. */
  readonly email: string
  readonly firstName: string
  readonly lastName: string
  /** ISO 3166-1 alpha-2, upper case. */
  readonly country: string
  /** BCP 47. */
  readonly preferredSpokenLanguage: string
}

const unreadable = '(unreadable)'

/** A placeholder for a member whose data cannot be decrypted. The placeholder is never stored. */
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

export interface Member {
  readonly id: number
  readonly partnerId: number
  readonly externalUserId: string
  readonly active: boolean
  readonly profile: MemberProfile
}

/** The fields of one submission. Omitted fields keep their stored value. */
export type MemberUpdate = Pick<MemberProfile, 'email' | 'firstName' | 'lastName' | 'country'> &
  Partial<MemberProfile>

/** The fields that staff can correct. */
export type MemberEdit = Partial<Pick<MemberProfile, 'phoneNumber' | 'email' | 'firstName' | 'lastName'>>

/** Returns the stored values of the fields that an update changes; empty for a new member. */
export function valuesBefore(known: Member | null, sent: Partial<MemberProfile>): Partial<MemberProfile> {
  const stored = Object.entries(known?.profile ?? {}) as [keyof MemberProfile, string | null][]
  const isChanged = (name: keyof MemberProfile, value: string | null) =>
    name in sent && (sent[name] ?? '') !== (value ?? '')
  return Object.fromEntries(stored.filter(([name, value]) => isChanged(name, value)))
}

/** Returns the form in which e-mail addresses are compared: NFC, lower case. */
export function foldEmail(email: string): string {
  return email.normalize('NFC').toLowerCase()
}

export type MatchedBy = 'name' | 'phone' | 'e-mail' | "partner's id"

/** Shorter digit strings match too many phone numbers. */
const minDigits = 4

/** Matches names without regard to Unicode form, case and accents. Ignores spacing in phone numbers. */
export function matcherOf(text: string): (member: Member) => MatchedBy | null {
  const wanted = foldName(text)
  const digits = /^[+\d ().-]+$/.test(text) ? digitsOf(text) : ''
  const isNumber = digits.length >= minDigits
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
 * Returns a name for comparison: lower case, without accents, with straight apostrophes. Keeps accents if nothing else
 * is left, because an empty text would match every name.
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
export const emailPattern = `^${atom}(?:\\.${atom})*@(?:${label}\\.)+${label}$`
const address = new RegExp(emailPattern)

/** Returns true for dot-atom@domain. The dot-atom has at most 64 characters (RFC 5321 §4.1.2, §4.5.3.1.1). */
export function isEmail(text: string): boolean {
  return text.indexOf('@') <= 64 && address.test(text)
}

/** `+` and 7 to 15 digits (E.164), optionally with spaces, dots, hyphens or parentheses between them. */
export const phoneNumberPattern = '^\\+[0-9](?:[ .()-]*[0-9]){6,14}$'
const phoneNumber = new RegExp(phoneNumberPattern)

export function isPhoneNumber(text: string): boolean {
  return phoneNumber.test(text)
}

/** Returns true for a valid date that is today (UTC) or earlier. @param now ms */
export function isPastDate(text: string, now: number): boolean {
  const day = parseDate(text)
  return day !== null && day <= Math.floor(now / dayMillis)
}
