import type { BookingRequestBody, BookingResponse } from './booking-request'
import type { RegionBody } from './provider-regions'
import type { ProviderPageBody } from './providers'
import type { UserBody } from './user'

/** An example as OpenAPI names it. */
export interface Example {
  readonly summary: string
  readonly value: unknown
}

type Examples<Value> = Record<string, { readonly summary: string; readonly value: Value }>

/** Of every operation: what is sent, where it takes a body, and what is answered when all is well. */
export interface OperationExamples {
  readonly request?: Record<string, Example>
  readonly answer: Record<string, Example>
}

const memberData = {
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

const phq9Data = [{ question: 'Little interest or pleasure in doing things?', answer: 'Several days' }]

const requests: Examples<typeof BookingRequestBody.static> = {
  booking: {
    summary: 'A booking request for a slot of the search',
    value: {
      user: { external_user_id: 'member-1001' },
      bookingData: {
        selfSchedulingProviderId: 1,
        utcStartTime: '2026-12-01T14:00:00Z',
        utcEndTime: '2026-12-01T14:45:00Z',
      },
      memberData,
      phq9Data,
    },
  },
  intake: {
    summary: 'An intake: a request without a provider or a slot',
    value: { user: { external_user_id: 'member-1001' }, memberData, phq9Data },
  },
}

const stored = {
  phoneNumber: memberData.phoneNumber,
  preferredModality: memberData.preferredModality,
  acceptedAt: null,
  declinedAt: null,
  member: { id: 1, firstName: memberData.firstName, email: memberData.email },
}

const bookings: Examples<typeof BookingResponse.static> = {
  booking: {
    summary: 'The answer to a booking request',
    value: {
      id: 1,
      providerId: 1,
      authorizationNumber: '7K3Q-M0XA-9RTV',
      ...stored,
      utcStartTime: '2026-12-01T14:00:00Z',
    },
  },
  intake: {
    summary: 'The answer to an intake',
    value: { id: 2, providerId: null, authorizationNumber: null, ...stored, utcStartTime: null },
  },
}

const regions: Examples<(typeof RegionBody.static)[]> = {
  regions: {
    summary: 'A country with regions of its own',
    value: [
      {
        id: 9,
        countryCode: 'CA',
        stateProvinceCode: 'ON',
        stateProvinceNameLocal: 'Ontario',
        stateProvinceLabel: 'Province',
      },
      {
        id: 11,
        countryCode: 'CA',
        stateProvinceCode: 'QC',
        stateProvinceNameLocal: 'Québec',
        stateProvinceLabel: 'Province',
      },
    ],
  },
  country: {
    summary: 'A country with one country-wide region',
    value: [
      {
        id: 66,
        countryCode: 'IE',
        stateProvinceCode: 'IE',
        stateProvinceNameLocal: 'Ireland',
        stateProvinceLabel: 'Country',
      },
    ],
  },
}

const providers = (baseUrl: string): Examples<typeof ProviderPageBody.static> => ({
  page: {
    summary: 'The first of two pages',
    value: {
      count: 2,
      next: `${baseUrl}/partners/v1/providers/?region_id=9&page_size=1&page=2`,
      previous: null,
      results: [
        {
          providerId: 1,
          details: {
            firstName: 'Marlow',
            lastName: 'Fernhill',
            credentials: 'PhD',
            pronouns: 'they/them',
            gender: null,
            bio: null,
            timeZone: 'America/Toronto',
            languagesSpoken: ['en-CA', 'fr-CA'],
            modalities: ['in-person', 'in-video'],
          },
          availability: [
            { utcStartTime: '2026-12-01T14:00:00Z', utcEndTime: '2026-12-01T14:45:00Z' },
            { utcStartTime: '2026-12-01T14:45:00Z', utcEndTime: '2026-12-01T15:30:00Z' },
          ],
        },
      ],
    },
  },
})

const members: Examples<typeof UserBody.static> = {
  member: {
    summary: 'A member',
    value: {
      id: 1,
      firstName: memberData.firstName,
      lastName: memberData.lastName,
      email: memberData.email,
      userType: 'member',
      country: memberData.country,
      preferredSpokenLanguage: 'French (Canada)',
      preferredSpokenLanguageCode: memberData.preferredSpokenLanguage,
      externalUserId: 'member-1001',
    },
  },
}

/** Examples by operationId, each of the type that its schema validates. */
export function examplesOf(baseUrl: string): Record<string, OperationExamples> {
  return {
    listProviderRegions: { answer: regions },
    searchProviders: { answer: providers(baseUrl) },
    submitBookingRequest: { request: requests, answer: bookings },
    lookUpMember: { answer: members },
  }
}
