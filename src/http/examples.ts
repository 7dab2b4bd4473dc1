/** The member of the document's examples, as a partner sends it and as answers show it. */
export const exampleExternalUserId = 'member-1001'

export const exampleMember = {
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

/** Ontario, in the sandbox's own directory. */
export const exampleRegionId = 9

/** The slot of the examples where none is known that can be booked at this moment. */
export const exampleSlot = {
  providerId: 1,
  utcStartTime: '2026-12-01T14:00:00Z',
  utcEndTime: '2026-12-01T14:45:00Z',
}
