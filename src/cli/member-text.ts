import { languageName } from '../domain/language'
import type { Member } from '../domain/member'

/** What is shown of a member wherever one is shown: how to reach them, and what they wish. */
export function memberLines({ profile }: Member) {
  return {
    'e-mail': profile.email,
    phone: profile.phoneNumber,
    region: [profile.country, profile.state].filter(Boolean).join(', '),
    language: languageName(profile.preferredSpokenLanguage),
    'preferred modality': profile.preferredModality,
  }
}
