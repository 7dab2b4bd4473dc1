import type { RequestedSlot } from '../../domain/booking-request'
import { emptyProfile, type Member } from '../../domain/member'

/** What a partner sends of the member of the document's examples. */
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

/** The member as answers show it. */
export const exampleMember: Member = {
  id: 1,
  partnerId: 1,
  externalUserId: 'member-1001',
  active: true,
  profile: { ...emptyProfile, ...exampleProfile },
}

/** Ontario, in the sandbox's own directory. */
export const exampleRegionId = 9

/** The slot of the examples where none is known that can be booked at this moment. */
export const exampleSlot: RequestedSlot = { providerId: 1, startsAt: Date.UTC(2026, 11, 1, 14) }
