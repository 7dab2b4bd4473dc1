import { type TSchema, Type } from '@sinclair/typebox'
import { type RequestedSlot, slotMillis } from '../../domain/booking-request'
import { emptyProfile, type Member } from '../../domain/member'
import { defaultPageSize, maximumPageSize } from '../../domain/page'
import { modalities } from '../../domain/provider'
import { Choice, formats, Text } from '../../domain/validation'
import { formatInstant } from '../../scheduling/calendar'

export const Id = (description: string) => Type.Integer({ format: 'int64', description })

export const CountryCode = Text({
  format: 'country-code',
  minLength: 2,
  maxLength: 2,
  description: 'ISO 3166-1 alpha-2 country code; case-insensitive',
  examples: ['CA'],
})

export const LanguageTag = Text({
  format: 'language-tag',
  maxLength: 500,
  description: 'BCP 47 language tag',
  examples: ['fr-CA'],
})

export const ExternalUserId = Text({
  minLength: 1,
  maxLength: 255,
  description: "The partner's stable id for the member",
  examples: ['member-1001'],
})

/** @param usual the number of entries if the parameter is omitted */
export const PageSize = (usual: number) =>
  Type.Optional(
    Type.Integer({ minimum: 1, maximum: maximumPageSize, default: usual, description: 'Entries per page' }),
  )

export const pageParameters = {
  page: Type.Optional(Type.Integer({ minimum: 1, default: 1, description: 'Page number, from 1' })),
  page_size: PageSize(defaultPageSize),
}

export const SlotTime = Type.String({
  pattern: formats['date-time'].pattern,
  description: 'UTC, with a trailing Z; send it back exactly as received',
  examples: ['2026-12-01T14:00:00Z'],
})

/** Returns a slot in the form that clients get. @param startsAt in ms */
export function presentSlot(startsAt: number) {
  return { utcStartTime: formatInstant(startsAt), utcEndTime: formatInstant(startsAt + slotMillis) }
}

export const ModalityName = Choice(modalities, {
  title: 'Modality',
  description: 'How a session takes place',
})

export const nullable = <T extends TSchema>(schema: T, description: string) =>
  Type.Union([schema, Type.Null()], { description })

export const exampleProfile = {
  email: 'robin@example.com',
  firstName: 'Robin',
  lastName: 'Sample',
  country: 'CA',
  dob: '1990-04-17',
  leaveVoicemail: 'No',
  phoneNumber: '+1 416 555 0123',
  suite: '',
  city: 'Toronto',
  state: 'ON',
  reasonForSeekingSupport: 'Trouble sleeping',
  preferredModality: 'Individual counseling',
  preferredSpokenLanguage: 'fr-CA',
} as const

export const exampleMember: Member = {
  id: 1,
  partnerId: 1,
  externalUserId: 'member-1001',
  active: true,
  profile: { ...emptyProfile, ...exampleProfile },
}

/** Id of Ontario in the sandbox's directory. */
export const exampleRegionId = 9

/** The slot that examples use if there is no sandbox, or no free slot. */
export const exampleSlot: RequestedSlot = { providerId: 1, startsAt: Date.UTC(2026, 11, 1, 14) }

/** Formats an instant (ms), with milliseconds. Slot times have no milliseconds. */
export function presentTimestamp(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString()
}

export const exampleTimes = presentSlot(exampleSlot.startsAt)
