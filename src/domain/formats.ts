import { parseDate, parseInstant, parseTimeOfDay } from '../scheduling/calendar'
import { isLanguageTag, languageTagPattern } from './language'
import { emailPattern, isEmail, isPhoneNumber, phoneNumberPattern } from './member'
import { absenceForm } from './provider'
import { countryCodePattern, isCountryCode } from './region'

export interface Format {
  readonly isValid: (text: string) => boolean
  /** What is said of a text that is not of this format. */
  readonly fault: string
  /** The texts of this format as a regular expression that every language's engine can read. */
  readonly pattern?: string
}

/** Dates that are in the calendar, leap years and all. */
const date =
  '(?:[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|' +
  '02-(?:0[1-9]|1[0-9]|2[0-8]))|' +
  '(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29)'

const printableAscii = /^[ -~]*$/

/** The kinds of text that documents hold, by the name in their schemas: JSON Schema's own where it has one. */
export const formats = {
  'country-code': {
    isValid: isCountryCode,
    fault: 'not an ISO 3166-1 alpha-2 country code',
    pattern: countryCodePattern,
  },
  'language-tag': {
    isValid: isLanguageTag,
    fault: 'not a well-formed BCP 47 language tag',
    pattern: languageTagPattern,
  },
  email: { isValid: isEmail, fault: 'not an e-mail address', pattern: emailPattern },
  'phone-number': {
    isValid: isPhoneNumber,
    fault: 'not a phone number with a leading + and 7 to 15 digits',
    pattern: phoneNumberPattern,
  },
  date: {
    isValid: (text) => parseDate(text) !== null,
    fault: 'not a calendar date as YYYY-MM-DD',
    pattern: `^${date}$`,
  },
  'date-time': {
    isValid: (text) => parseInstant(text) !== null,
    fault: 'not a UTC timestamp as YYYY-MM-DDTHH:MM:SSZ',
    pattern: `^${date}T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\\.0+)?Z$`,
  },
  'printable-ascii': {
    isValid: (text) => printableAscii.test(text),
    fault: 'holds a character that is not printable ASCII',
    pattern: printableAscii.source,
  },
  'time-of-day': { isValid: (text) => parseTimeOfDay(text) !== null, fault: 'not a time as HH:MM' },
  'absence-boundary': {
    isValid: (text) => absenceForm(text) !== null,
    fault: 'not a date, a local date-time as YYYY-MM-DDTHH:MM or a UTC instant as YYYY-MM-DDTHH:MM:00Z',
  },
} as const satisfies Record<string, Format>

export type FormatName = keyof typeof formats
