import { Type } from '@sinclair/typebox'
import { Refusal } from '../../domain/errors'
import { isPastDate, type MemberUpdate } from '../../domain/member'
import { Choice, Text } from '../../domain/validation'
import { CountryCode, LanguageTag } from './fields'

const Name = (description: string) => Text({ minLength: 1, maxLength: 200, format: 'not-blank', description })
const Line = (description: string) => Text({ maxLength: 500, description })

export const MemberData = Type.Object(
  {
    email: Text({
      format: 'email',
      minLength: 1,
      maxLength: 254,
      description:
        'E-mail address, unique among all members (case-insensitive), with at most 64 characters before the @',
    }),
    firstName: Name('First name'),
    lastName: Name('Last name'),
    country: CountryCode,
    preferredName: Type.Optional(Text({ maxLength: 200, description: 'Name to address the member by' })),
    preferredPronouns: Type.Optional(Line('Pronouns, free text')),
    dob: Type.Optional(
      Text({
        format: 'date',
        minLength: 0,
        description: 'Date of birth, not in the future. An empty string removes it',
      }),
    ),
    gender: Type.Optional(Line('Gender, free text')),
    maritalStatus: Type.Optional(Line('Marital status, free text')),
    clientType: Type.Optional(Line('Type of client, free text')),
    leaveVoicemail: Type.Optional(
      Choice(['Yes', 'No'], { title: 'LeaveVoicemail', description: 'May the provider leave a voicemail?' }),
    ),
    phoneNumber: Type.Optional(
      Text({
        format: 'phone-number',
        minLength: 0,
        maxLength: 500,
        description:
          'A + and 7 to 15 digits, which may be separated by spaces, dots, hyphens or parentheses. ' +
          'An empty string removes it',
      }),
    ),
    streetAddress: Type.Optional(Line('Street and number')),
    suite: Type.Optional(Line('Suite or apartment; may be empty')),
    city: Type.Optional(Line('City')),
    state: Type.Optional(Line('State or province')),
    zipCode: Type.Optional(Line('Postal code')),
    reasonForSeekingSupport: Type.Optional(
      Text({ maxLength: 4000, description: 'Reason why the member seeks support, free text' }),
    ),
    preferredModality: Type.Optional(Line('Preferred form of session, free text')),
    preferredSpokenLanguage: Type.Optional({
      ...LanguageTag,
      description: 'BCP 47 tag of the preferred language. The default for a new member is en',
    }),
  },
  {
    title: 'MemberData',
    description: 'Profile of the member. A later call changes only the fields that it contains',
  },
)

/**
 * Drops fields that the contract does not define. An empty phone number or date of birth removes the stored one.
 * @throws Refusal field_invalid if the date of birth is in the future
 */
export function toMemberUpdate(memberData: typeof MemberData.static, now: number): MemberUpdate {
  if (memberData.dob && !isPastDate(memberData.dob, now)) {
    throw new Refusal('field_invalid', 'memberData.dob: must not be in the future')
  }
  const known = Object.entries(memberData).filter(([name]) => Object.hasOwn(MemberData.properties, name))
  const sent = Object.fromEntries(known) as typeof memberData
  return {
    ...sent,
    country: sent.country.toUpperCase(),
    ...(sent.phoneNumber === '' && { phoneNumber: null }),
    ...(sent.dob === '' && { dob: null }),
  }
}
