import { parseDate, parseInstant, parseTimeOfDay } from '../scheduling/calendar'
import { isLanguageTag } from './language'
import { isEmail, isPhoneNumber } from './member'
import { isAbsenceBoundary } from './provider'
import { isCountryCode } from './region'

interface Format {
  readonly isValid: (text: string) => boolean
  /** What is said of a text that is not of this format. */
  readonly fault: string
}

/** The kinds of text that documents hold, by the name in their schemas: JSON Schema's own where it has one. */
export const formats = {
  'country-code': { isValid: isCountryCode, fault: 'not an ISO 3166-1 alpha-2 country code' },
  'language-tag': { isValid: isLanguageTag, fault: 'not a well-formed BCP 47 language tag' },
  email: { isValid: isEmail, fault: 'not an e-mail address' },
  'phone-number': { isValid: isPhoneNumber, fault: 'not a phone number with a leading + and 7 to 15 digits' },
  date: { isValid: (text) => parseDate(text) !== null, fault: 'not a calendar date as YYYY-MM-DD' },
  'date-time': {
    isValid: (text) => parseInstant(text) !== null,
    fault: 'not a UTC timestamp as YYYY-MM-DDTHH:MM:SSZ',
  },
  'time-of-day': { isValid: (text) => parseTimeOfDay(text) !== null, fault: 'not a time as HH:MM' },
  'absence-boundary': {
    isValid: isAbsenceBoundary,
    fault: 'not a date, a local date-time as YYYY-MM-DDTHH:MM or a UTC instant as YYYY-MM-DDTHH:MM:00Z',
  },
} as const satisfies Record<string, Format>

export type FormatName = keyof typeof formats
