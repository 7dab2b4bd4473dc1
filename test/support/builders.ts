import type { DirectoryFile } from '../../src/directory-files/document'

type ProviderInFile = DirectoryFile['providers'][number]
type RegionInFile = DirectoryFile['regions'][number]

/** Ontario as in a directory file; `different` overrides fields. */
export function region(different: Partial<RegionInFile> = {}): RegionInFile {
  return {
    countryCode: 'CA',
    stateProvinceCode: 'ON',
    stateProvinceNameLocal: 'Ontario',
    stateProvinceLabel: 'Province',
    ...different,
  }
}

export function countryWide(countryCode: string, name: string): RegionInFile {
  return {
    countryCode,
    stateProvinceCode: countryCode,
    stateProvinceNameLocal: name,
    stateProvinceLabel: 'Country',
  }
}

/** A provider licensed in Ontario who works on weekdays from 09:00 to 12:00 in Toronto. */
export function provider(ref: string, different: Partial<ProviderInFile> = {}): ProviderInFile {
  return {
    ref,
    firstName: 'Marlow',
    lastName: 'Fernhill',
    timeZone: 'America/Toronto',
    languagesSpoken: ['en'],
    modalities: ['in-video'],
    licenses: [{ region: 'CA-ON', from: '2020-01-01' }],
    workingHours: [
      {
        weekdays: ['monday', 'tuesday', 'wednesday', 'thursday', 'friday'],
        start: '09:00',
        end: '12:00',
      },
    ],
    ...different,
  }
}

export function booking(
  externalUserId: string,
  slot?: { providerId: number; utcStartTime: string },
  memberData: Record<string, unknown> = {},
) {
  return {
    user: { external_user_id: externalUserId },
    ...(slot && {
      bookingData: {
        selfSchedulingProviderId: slot.providerId,
        utcStartTime: slot.utcStartTime,
        utcEndTime: `${new Date(Date.parse(slot.utcStartTime) + 45 * 60_000).toISOString().slice(0, 19)}Z`,
      },
    }),
    memberData: {
      email: `${externalUserId}@example.com`,
      firstName: 'Robin',
      lastName: 'Sample',
      country: 'CA',
      ...memberData,
    },
    phq9Data: [{ question: 'Little interest or pleasure in doing things?', answer: 'Several days' }],
  }
}
