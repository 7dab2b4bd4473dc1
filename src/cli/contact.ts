import { languageName } from '../domain/language'
import type { Member } from '../domain/member'
import type { MemberTime } from '../operations/members'
import { fullName } from './person-text'

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
