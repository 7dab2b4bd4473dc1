import type { MemberExport } from '../../domain/decisions/members'
import { languageName } from '../../domain/language'
import type { Member } from '../../domain/member'
import { presentTimestamp } from '../../http/endpoints/fields'
import type { AbsenceReason } from '../../operations/check-bookings'
import type { Records } from '../../operations/context'
import type { MemberTime } from '../../operations/members'
import { partnerNames } from '../../operations/partners'
import { shorten } from './layout'
import { formatJson } from './output'

/** What is to be known of a member before they are called, and what else tells how to reach them. */
export function contactLines({ profile }: Member, time: MemberTime | null) {
  return {
    name: fullName(profile),
    'preferred name': profile.preferredName || null,
    pronouns: profile.preferredPronouns || null,
    'date of birth': profile.dob,
    phone: profile.phoneNumber,
    voicemail: voicemailText(profile.leaveVoicemail),
    'time there': timeText(time),
    language: languageName(profile.preferredSpokenLanguage),
    'e-mail': profile.email || null,
    region: [profile.country, profile.state].filter(Boolean).join(', '),
    'preferred modality': profile.preferredModality || null,
    reason: profile.reasonForSeekingSupport || null,
  }
}

/** The same for programs. */
export function presentContact({ profile }: Member, time: MemberTime | null) {
  const { preferredName, preferredPronouns, dob, phoneNumber, leaveVoicemail } = profile
  return {
    name: fullName(profile),
    preferredName,
    preferredPronouns,
    dob,
    phoneNumber,
    leaveVoicemail,
    localTime: time,
    preferredSpokenLanguage: languageName(profile.preferredSpokenLanguage),
    state: profile.state,
    preferredModality: profile.preferredModality,
    reasonForSeekingSupport: profile.reasonForSeekingSupport,
  }
}

/** Plainly, since whoever overlooks it tells somebody else. */
export function voicemailText(leaveVoicemail: string | null): string {
  if (leaveVoicemail === null) return 'not told: leave none'
  return leaveVoicemail === 'No' ? 'NO' : leaveVoicemail.toLowerCase()
}

/** More zones than these say nothing to anybody. */
const mostZones = 3

/** A member's time for people: one, or the earliest and the latest, with the zones that it is told by. */
export function timeText(time: MemberTime | null): string {
  if (!time) return 'unknown'
  const { earliest, latest, zones } = time
  const named = zones.length > mostZones ? '' : ` (${zones.join(', ')})`
  if (earliest === latest) return `${earliest}${named}`
  const [day, later] = [earliest.slice(0, 15), latest.slice(0, 15)]
  return `between ${earliest} and ${later === day ? latest.slice(15) : latest}${named}`
}

interface Names {
  readonly firstName: string
  readonly lastName: string
}

/** A provider's or a member's name, as their papers have it. */
export function fullName({ firstName, lastName }: Names): string {
  return `${firstName} ${lastName}`
}

/** What a member is called: as their papers have it, and as they prefer where that is told. */
export function calledName({ profile }: Pick<Member, 'profile'>): string {
  const { preferredName } = profile
  return `${fullName(profile)}${preferredName ? ` (${preferredName})` : ''}`
}

/** A person as questions name them, so that whoever is asked sees whom it is about: `Ada Lovelace, quietwater's P-123`. */
export async function personText(records: Records, member: Member | null): Promise<string> {
  if (!member) return 'a person who was erased'
  const partner = (await partnerNames(records)).get(member.partnerId)
  return `${inQuestion(fullName(member.profile))}, ${partner}'s ${inQuestion(member.externalUserId)}`
}

/** More columns of a name would push the question that it stands in out of sight. */
const mostColumns = 60
const nameLike = /^[\p{L}\p{M}\p{N} .,'’()_@+#-]*$/u

/** What a partner chose, within a question: in quotes where it could be read as the end of that, or as another. */
function inQuestion(text: string): string {
  const shown = shorten(text, mostColumns)
  return nameLike.test(text) ? shown : formatJson(shown)
}

/** Why a provider cannot hold a session. */
export const absenceTexts: Record<AbsenceReason, string> = {
  provider_suspended: 'is suspended',
  provider_deactivated: 'is deactivated',
  license: 'holds no license then',
  override: 'has other hours that day',
  outside_hours: 'does not work then',
  time_off: 'is away then',
}

/** Everything stored about a member, as JSON. */
export function presentExport({ member, createdAt, updatedAt, requests }: MemberExport) {
  const { profile, ...identity } = member
  return {
    member: {
      ...identity,
      ...profile,
      createdAt: presentTimestamp(createdAt),
      updatedAt: presentTimestamp(updatedAt),
    },
    requests: requests.map(({ submittedAt, startsAt, acceptedAt, declinedAt, notes, ...facts }) => ({
      ...facts,
      submittedAt: presentTimestamp(submittedAt),
      startsAt: presentTimestamp(startsAt),
      acceptedAt: presentTimestamp(acceptedAt),
      declinedAt: presentTimestamp(declinedAt),
      notes: notes.map(({ at, ...note }) => ({ ...note, at: presentTimestamp(at) })),
    })),
  }
}
