import type { SentWith } from '../../domain/booking-request'
import type { MemberExport } from '../../domain/decisions/members'
import { languageName } from '../../domain/language'
import type { Member, MemberProfile } from '../../domain/member'
import { presentTimestamp } from '../../http/endpoints/fields'
import type { AbsenceReason } from '../../operations/check-bookings'
import type { Records } from '../../operations/context'
import type { MemberTime } from '../../operations/members'
import { partnerNames } from '../../operations/partners'
import { joined, shorten } from './layout'
import { ageText, formatJson } from './output'

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

export const changeNames: Partial<Record<keyof MemberProfile, string>> = {
  phoneNumber: 'phone',
  leaveVoicemail: 'voicemail',
  email: 'e-mail',
  firstName: 'first name',
  lastName: 'last name',
  preferredName: 'preferred name',
  dob: 'date of birth',
  country: 'country',
  state: 'state',
  preferredPronouns: 'pronouns',
  preferredModality: 'modality',
  preferredSpokenLanguage: 'language',
  reasonForSeekingSupport: 'reason',
}

/**
 * Shows the newest change of each field, newest first, and the field's first value if it changed more than once. For
 * example `Phone changed 2 h ago by request 41; before: phone +1 416 555 0100, first +1 416 555 0199`. @param now ms
 */
export function changeLines(sent: readonly SentWith[], now: number): string[] {
  const fields = Object.entries(changeNames).map(([name, label]) => {
    const changes = sent.filter(({ before }) => name in before)
    const [oldest, newest] = [changes[0], changes.at(-1)].map((change) =>
      inQuestion(change?.before[name as keyof MemberProfile] || 'none'),
    )
    const first = changes.length > 1 && oldest !== newest ? `, first ${oldest}` : ''
    return { by: changes.at(-1), label, before: `${label} ${newest}${first}` }
  })
  return sent.toReversed().flatMap((request) => {
    const changed = fields.filter(({ by }) => by === request)
    if (changed.length === 0) return []
    const names = joined(changed.map(({ label }) => label))
    const what = `${names[0]?.toUpperCase()}${names.slice(1)} changed ${ageText(request.submittedAt, now)} ago`
    return `${what} by request ${request.id}; before: ${changed.map(({ before }) => before).join(', ')}`
  })
}

export function presentChanges(sent: readonly SentWith[]) {
  return sent.toReversed().flatMap(({ id, submittedAt, before }) => {
    return Object.keys(before).length > 0 ? { request: id, at: presentTimestamp(submittedAt), before } : []
  })
}

/** Returns NO in capitals, because an unwanted voicemail discloses the contact to others. */
export function voicemailText(leaveVoicemail: string | null): string {
  if (leaveVoicemail === null) return 'unknown; do not leave one'
  return leaveVoicemail === 'No' ? 'NO' : leaveVoicemail.toLowerCase()
}

const mostZones = 3

/** Returns a member's local time with its zone. If the region has several zones, returns the earliest and the latest. */
export function timeText(time: MemberTime | null): string {
  if (!time) return 'unknown'
  const { earliest, latest, zones } = time
  const named = zones.length > mostZones ? '' : ` (${zones.join(', ')})`
  if (earliest === latest) return `${earliest}${named}`
  const [day, later] = [earliest.slice(0, 15), latest.slice(0, 15)]
  return `between ${earliest} and ${later === day ? latest.slice(15) : latest}${named}`
}

/** Returns the full name as stored, not the preferred name. */
export function fullName({ firstName, lastName }: Record<'firstName' | 'lastName', string>): string {
  return `${firstName} ${lastName}`
}

export function calledName({ profile }: Pick<Member, 'profile'>): string {
  const { preferredName } = profile
  return `${fullName(profile)}${preferredName ? ` (${preferredName})` : ''}`
}

/** Returns how confirmation questions name a member: `Ada Lovelace, quietwater's P-123`. */
export async function personText(records: Records, member: Member | null): Promise<string> {
  if (!member) return 'a person who was erased'
  const partner = (await partnerNames(records)).get(member.partnerId)
  return `${inQuestion(fullName(member.profile))}, ${partner}'s ${inQuestion(member.externalUserId)}`
}

/** Names are cut to this length, because a longer name could push the question out of view. */
const mostColumns = 60
const nameLike = /^[\p{L}\p{M}\p{N} .,'’()_@+#-]*$/u

/** Quotes partner text that could look like a part of the question. Leaves plain names unquoted. */
export function inQuestion(text: string): string {
  const shown = shorten(text, mostColumns)
  return nameLike.test(text) ? shown : formatJson(shown)
}

export const absenceTexts: Record<AbsenceReason, string> = {
  provider_suspended: 'is suspended',
  provider_deactivated: 'is deactivated',
  license: 'holds no license then',
  override: 'has other hours that day',
  outside_hours: 'does not work then',
  time_off: 'is away then',
}

export function presentExport({ member, createdAt, updatedAt, requests }: MemberExport) {
  const { profile, ...identity } = member
  return {
    member: {
      ...identity,
      ...profile,
      createdAt: presentTimestamp(createdAt),
      updatedAt: presentTimestamp(updatedAt),
    },
    requests: requests.map(
      ({ submittedAt, startsAt, acceptedAt, declinedAt, cancelledAt, notes, ...facts }) => ({
        ...facts,
        submittedAt: presentTimestamp(submittedAt),
        startsAt: presentTimestamp(startsAt),
        acceptedAt: presentTimestamp(acceptedAt),
        declinedAt: presentTimestamp(declinedAt),
        cancelledAt: presentTimestamp(cancelledAt),
        notes: notes.map(({ at, ...note }) => ({ ...note, at: presentTimestamp(at) })),
      }),
    ),
  }
}
