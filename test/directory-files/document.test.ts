import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type DirectoryFile, readDirectoryFile } from '../../src/directory-files/document'
import { DirectoryInvalid } from '../../src/directory-files/faults'
import { Refusal } from '../../src/domain/errors'
import { loadDirectory } from '../../src/operations/directory-loads'
import { countryWide, provider, region } from '../support/builders'
import { startService, type TestService } from '../support/service'

const isZone = (name: string) => ['America/Toronto', 'Europe/London'].includes(name)

function file(different: Record<string, unknown> = {}): DirectoryFile {
  return {
    regions: [region(), countryWide('GB', 'United Kingdom')],
    providers: [provider('first'), provider('second')],
    ...different,
  } as DirectoryFile
}

const withProvider = (different: Record<string, unknown>): unknown =>
  file({ providers: [provider('first'), { ...provider('second'), ...different }] })

const withRegion = (different: Record<string, unknown>): unknown =>
  file({ regions: [region(), { ...countryWide('GB', 'United Kingdom'), ...different }] })

function without(record: object, name: string): object {
  return Object.fromEntries(Object.entries(record).filter(([key]) => key !== name))
}

/** The faults of a document, each as `path: fault`. Empty if the document is valid. */
function faultsOf(document: unknown): string[] {
  try {
    readDirectoryFile(document, isZone)
  } catch (error) {
    if (!(error instanceof DirectoryInvalid)) throw error
    expect(error.kind).toBe('directory_invalid')
    return error.faults.map(({ path, fault }) => `${path || 'the file'}: ${fault}`)
  }
  return []
}

const morning = { weekdays: ['monday'], start: '09:00', end: '12:00' }

describe('directory-files: a directory file', () => {
  test('fields that a file leaves out get defaults', () => {
    const { regions, providers } = readDirectoryFile(
      file({ regions: [region()], providers: [provider('first')] }),
      isZone,
    )
    expect(regions).toEqual([
      { id: null, countryCode: 'CA', code: 'ON', localName: 'Ontario', label: 'Province', active: true },
    ])
    expect(providers).toEqual([
      {
        ref: 'first',
        firstName: 'Marlow',
        lastName: 'Fernhill',
        credentials: null,
        pronouns: null,
        gender: null,
        bio: null,
        timeZone: 'America/Toronto',
        languagesSpoken: ['en'],
        modalities: ['in-video'],
        inPersonRegions: [],
        licenses: [{ region: 'CA-ON', from: '2020-01-01', until: null }],
        workingHours: [
          {
            weekdays: ['monday', 'tuesday', 'wednesday', 'thursday', 'friday'],
            start: '09:00',
            end: '12:00',
          },
        ],
        overrides: [],
        timeOff: [],
        minimumNoticeMinutes: 0,
        active: true,
      },
    ])
  })

  test('a file can set every field', () => {
    const complete = {
      ref: 'third',
      firstName: 'Odette',
      lastName: 'Quillfeather',
      credentials: 'PhD',
      pronouns: 'she/her',
      gender: 'woman',
      bio: 'Likes plain words.',
      timeZone: 'Europe/London',
      languagesSpoken: ['en-GB', 'cy'],
      modalities: ['in-person', 'telephonic', 'in-video'],
      inPersonRegions: ['GB', 'CA-ON'],
      licenses: [{ region: 'GB', from: '2020-02-29', until: '2027-01-01' }],
      workingHours: [
        { ...morning, from: '2026-01-01', until: '2026-12-31', stepMinutes: 60 },
        { weekdays: ['sunday'], start: '22:00', end: '02:00' },
        { weekdays: ['saturday'], start: '00:00', end: '24:00' },
      ],
      overrides: [
        { date: '2026-12-24', windows: [] },
        { date: '2026-12-23', windows: [{ start: '10:00', end: '11:30', stepMinutes: 45 }] },
      ],
      timeOff: [
        { from: '2026-12-25', until: '2026-12-25' },
        { from: '2026-12-27T09:00', until: '2026-12-27T12:00' },
        { from: '2026-12-28T09:00:00Z', until: '2026-12-28T12:00:00Z' },
      ],
      minimumNoticeMinutes: 120,
      active: false,
    }
    const regions = [
      { ...region(), id: 35, active: false },
      { ...countryWide('GB', 'United Kingdom'), countryCode: 'gb' },
    ]
    const read = readDirectoryFile({ regions, providers: [complete] }, isZone)
    expect(read.regions).toEqual([
      { id: 35, countryCode: 'CA', code: 'ON', localName: 'Ontario', label: 'Province', active: false },
      {
        id: null,
        countryCode: 'GB',
        code: 'GB',
        localName: 'United Kingdom',
        label: 'Country',
        active: true,
      },
    ])
    expect(read.providers as unknown).toEqual([complete])
  })

  test('a file may have no regions and no providers', () => {
    expect(readDirectoryFile({ regions: [], providers: [] }, isZone)).toEqual({ regions: [], providers: [] })
  })

  test.each<[what: string, document: unknown, faults: string[]]>([
    ['an array at the top', [], ['the file: must be an object']],
    ['a string at the top', 'regions', ['the file: must be an object']],
    ['null at the top', null, ['the file: must be an object']],
    ['no providers', without(file(), 'providers'), ['providers: is required']],
    ['an object as regions', file({ regions: {} }), ['regions: must be an array']],
    ['an unknown field at the top', file({ version: 1 }), ['version: is not a known field']],
    [
      'a region twice',
      file({ regions: [region(), { ...region(), countryCode: 'ca' }] }),
      ['regions[1].stateProvinceCode: the region is listed twice'],
    ],
    [
      'the same id for two regions',
      file({
        regions: [
          { ...region(), id: 7 },
          { ...countryWide('GB', 'United Kingdom'), id: 7 },
        ],
      }),
      ['regions[1].id: another region already has this id'],
    ],
  ])('a file with %s is rejected', (_, document, faults) => {
    expect(faultsOf(document)).toEqual(faults)
  })

  test.each<[what: string, different: Record<string, unknown>, fault: string]>([
    ['an unknown field of a region', { name: 'x' }, 'name: is not a known field'],
    [
      'an invalid country code',
      { countryCode: 'UK' },
      'countryCode: must be an ISO 3166-1 alpha-2 country code',
    ],
    [
      'a full ISO 3166-2 code',
      { stateProvinceCode: 'GB-ENG' },
      'stateProvinceCode: must have at most 3 characters',
    ],
    ['a region without a code', { stateProvinceCode: '' }, 'stateProvinceCode: must not be empty'],
    ['a region without a name', { stateProvinceNameLocal: '' }, 'stateProvinceNameLocal: must not be empty'],
    ['a region without a label', { stateProvinceLabel: undefined }, 'stateProvinceLabel: is required'],
    ['a region with the id 0', { id: 0 }, 'id: must be at least 1'],
    ['a string as region id', { id: '7' }, 'id: must be an integer'],
    ['a string as the active flag of a region', { active: 'yes' }, 'active: must be true or false'],
  ])('a file with %s is rejected', (_, different, fault) => {
    expect(faultsOf(withRegion(different))).toEqual([`regions[1].${fault}`])
  })

  test.each<[what: string, different: Record<string, unknown>, fault: string]>([
    ['a misspelt field of a provider', { workinghours: [] }, 'workinghours: is not a known field'],
    [
      'an unknown field of working hours',
      { workingHours: [{ ...morning, step: 45 }] },
      'workingHours[0].step: is not a known field',
    ],
    [
      'an unknown field of a license',
      { licenses: [{ region: 'GB', from: '2020-01-01', to: '2021-01-01' }] },
      'licenses[0].to: is not a known field',
    ],
    [
      'an unknown field of an override',
      { overrides: [{ date: '2026-12-24', windows: [], note: '' }] },
      'overrides[0].note: is not a known field',
    ],
    [
      'weekdays in an override',
      { overrides: [{ date: '2026-12-24', windows: [morning] }] },
      'overrides[0].windows[0].weekdays: is not a known field',
    ],
    [
      'an unknown field of time off',
      { timeOff: [{ from: '2026-12-24', until: '2026-12-24', why: '' }] },
      'timeOff[0].why: is not a known field',
    ],
    ['a provider without a ref', { ref: undefined }, 'ref: is required'],
    ['an empty ref', { ref: '' }, 'ref: must not be empty'],
    ['the same ref for two providers', { ref: 'first' }, 'ref: another provider has this ref'],
    ['a provider without a first name', { firstName: '' }, 'firstName: must not be empty'],
    ['a number as a name', { lastName: 5 }, 'lastName: must be a string'],
    ['a name that is too long', { lastName: 'x'.repeat(201) }, 'lastName: must have at most 200 characters'],
    ['a number as credentials', { credentials: 5 }, 'credentials: must be a string'],
    ['a bio that is too long', { bio: 'x'.repeat(4001) }, 'bio: must have at most 4000 characters'],
    ['an unknown time zone', { timeZone: 'Toronto' }, 'timeZone: must be an IANA time zone'],
    ['an offset as a time zone', { timeZone: '+05:30' }, 'timeZone: must be an IANA time zone'],
    ['no language', { languagesSpoken: [] }, 'languagesSpoken: must have at least 1 element'],
    ['a language twice', { languagesSpoken: ['en', 'en'] }, 'languagesSpoken: must not contain duplicates'],
    [
      'a malformed language tag',
      { languagesSpoken: ['en', 'en_US'] },
      'languagesSpoken[1]: must be a well-formed BCP 47 language tag',
    ],
    ['no modality', { modalities: [] }, 'modalities: must have at least 1 element'],
    [
      'an unknown modality',
      { modalities: ['in-video', 'by-letter'] },
      'modalities[1]: must be one of in-person, telephonic, in-video',
    ],
    ['a modality twice', { modalities: ['in-video', 'in-video'] }, 'modalities: must not contain duplicates'],
    [
      'an in-person region that the file lacks',
      { inPersonRegions: ['CA-ON', 'CA-QC'] },
      'inPersonRegions[1]: is not a region of this file',
    ],
    [
      'an in-person region twice',
      { inPersonRegions: ['CA-ON', 'CA-ON'] },
      'inPersonRegions: must not contain duplicates',
    ],
    [
      'a license in a region that the file lacks',
      { licenses: [{ region: 'ON', from: '2020-01-01' }] },
      'licenses[0].region: is not a region of this file',
    ],
    [
      'a license from an impossible date',
      { licenses: [{ region: 'GB', from: '2023-02-29' }] },
      'licenses[0].from: must be a calendar date, written as YYYY-MM-DD',
    ],
    [
      'a license until an impossible date',
      { licenses: [{ region: 'GB', from: '2020-01-01', until: '2023-02-29' }] },
      'licenses[0].until: must be a calendar date, written as YYYY-MM-DD',
    ],
    [
      'a license that ends before it begins',
      { licenses: [{ region: 'GB', from: '2020-01-02', until: '2020-01-01' }] },
      'licenses[0].until: must not be before from',
    ],
    [
      'working hours without a weekday',
      { workingHours: [{ ...morning, weekdays: [] }] },
      'workingHours[0].weekdays: must have at least 1 element',
    ],
    [
      'working hours on an unknown weekday',
      { workingHours: [{ ...morning, weekdays: ['Monday'] }] },
      'workingHours[0].weekdays[0]: must be one of monday, tuesday, wednesday, thursday, friday, saturday, sunday',
    ],
    [
      'working hours with an invalid start',
      { workingHours: [morning, { ...morning, start: '9:00' }] },
      'workingHours[1].start: must be a time, written as HH:MM',
    ],
    [
      'working hours with an invalid end',
      { workingHours: [{ ...morning, end: '24:30' }] },
      'workingHours[0].end: must be a time, written as HH:MM',
    ],
    [
      'working hours without length',
      { workingHours: [{ ...morning, end: '09:00' }] },
      'workingHours[0].end: must not equal start',
    ],
    [
      'working hours that start at 24:00',
      { workingHours: [{ ...morning, start: '24:00', end: '02:00' }] },
      'workingHours[0].start: must be before 24:00',
    ],
    [
      'working hours whose last date is before their first',
      { workingHours: [{ ...morning, from: '2026-01-02', until: '2026-01-01' }] },
      'workingHours[0].until: must not be before from',
    ],
    [
      'a step shorter than a slot',
      { workingHours: [{ ...morning, stepMinutes: 44 }] },
      'workingHours[0].stepMinutes: must be at least 45',
    ],
    [
      'a step longer than a day',
      { workingHours: [{ ...morning, stepMinutes: 1441 }] },
      'workingHours[0].stepMinutes: must be at most 1440',
    ],
    [
      'an override with an invalid date',
      { overrides: [{ date: '24 December', windows: [] }] },
      'overrides[0].date: must be a calendar date, written as YYYY-MM-DD',
    ],
    [
      'two overrides of one date',
      {
        overrides: [
          { date: '2026-12-24', windows: [] },
          { date: '2026-12-24', windows: [] },
        ],
      },
      'overrides[1].date: another override has this date',
    ],
    [
      'an override without windows',
      { overrides: [{ date: '2026-12-24' }] },
      'overrides[0].windows: is required',
    ],
    [
      'an override window without length',
      { overrides: [{ date: '2026-12-24', windows: [{ start: '10:00', end: '10:00' }] }] },
      'overrides[0].windows[0].end: must not equal start',
    ],
    [
      'an override window that starts at 24:00',
      { overrides: [{ date: '2026-12-24', windows: [{ start: '24:00', end: '02:00' }] }] },
      'overrides[0].windows[0].start: must be before 24:00',
    ],
    [
      'time off with an invalid start',
      { timeOff: [{ from: '2026-12-24 09:00', until: '2026-12-24T12:00' }] },
      'timeOff[0].from: must be a date, a local date-time (YYYY-MM-DDTHH:MM) or a UTC instant (YYYY-MM-DDTHH:MM:00Z)',
    ],
    [
      'time off from a date until a time',
      { timeOff: [{ from: '2026-12-24', until: '2026-12-26T12:00' }] },
      'timeOff[0].until: must have the same form as from',
    ],
    [
      'time off that ends before it begins',
      { timeOff: [{ from: '2026-12-24', until: '2026-12-23' }] },
      'timeOff[0].until: must be after from',
    ],
    [
      'time off that ends when it begins',
      { timeOff: [{ from: '2026-12-24T09:00', until: '2026-12-24T09:00' }] },
      'timeOff[0].until: must be after from',
    ],
    ['a negative notice', { minimumNoticeMinutes: -1 }, 'minimumNoticeMinutes: must be at least 0'],
    [
      'a notice beyond the horizon',
      { minimumNoticeMinutes: 43_201 },
      'minimumNoticeMinutes: must be at most 43200',
    ],
    ['null as the active flag of a provider', { active: null }, 'active: must be true or false'],
  ])('a file with %s is rejected', (_, different, fault) => {
    expect(faultsOf(withProvider(different))).toEqual([`providers[1].${fault}`])
  })

  test('a file with many faults is rejected, and the error lists each fault with its path', () => {
    const document = {
      regions: [region(), region()],
      providers: [
        provider('same', {
          timeZone: 'Nowhere',
          licenses: [{ region: 'XX', from: '2021-01-01', until: '2020-01-01' }],
        }),
        provider('same', {
          workingHours: [
            { weekdays: ['monday'], start: '09:00', end: '09:00' },
            { weekdays: ['monday'], start: '24:00', end: '01:00' },
          ],
          inPersonRegions: ['YY'],
        }),
      ],
    }
    expect(faultsOf(document).sort()).toEqual(
      [
        'regions[1].stateProvinceCode: the region is listed twice',
        'providers[1].ref: another provider has this ref',
        'providers[0].timeZone: must be an IANA time zone',
        'providers[0].licenses[0].region: is not a region of this file',
        'providers[0].licenses[0].until: must not be before from',
        'providers[1].workingHours[0].end: must not equal start',
        'providers[1].workingHours[1].start: must be before 24:00',
        'providers[1].inPersonRegions[0]: is not a region of this file',
      ].sort(),
    )
  })

  test('a file with a wrong type and an unknown time zone is rejected with both faults', () => {
    const document = file({
      providers: [provider('same', { timeZone: 'Nowhere' }), { ...provider('same'), firstName: 5 }],
    })
    expect(faultsOf(document).sort()).toEqual(
      [
        'providers[0].timeZone: must be an IANA time zone',
        'providers[1].firstName: must be a string',
        'providers[1].ref: another provider has this ref',
      ].sort(),
    )
  })

  test('a file with hundreds of faults is rejected, and the error lists each fault', () => {
    const providers = Array.from({ length: 300 }, (_, index) =>
      provider(`p-${index}`, { timeZone: 'Nowhere' }),
    )
    expect(faultsOf(file({ providers }))).toEqual(
      providers.map((_, index) => `providers[${index}].timeZone: must be an IANA time zone`),
    )
  })
})

describe('directory-files: loading a directory file', () => {
  let service: TestService
  beforeAll(async () => {
    service = await startService()
  })
  afterAll(() => service.stop())

  const search = async () => {
    const { body } = await service.get('/partners/v1/provider-regions/?country_code=CA')
    const found = await service.get(`/partners/v1/providers/?region_id=${body[0].id}`)
    const results: { providerId: number; details: { firstName: string }; availability: unknown[] }[] =
      found.body.results
    return {
      regions: body,
      providers: results.map(({ providerId, details, availability }) => ({
        providerId,
        firstName: details.firstName,
        slots: availability.length,
      })),
    }
  }

  test('loading a file with a fault changes nothing', async () => {
    await loadDirectory(service.context, file({ regions: [region()] }), service.act())
    const before = await search()
    const bad = file({
      regions: [{ ...region(), stateProvinceNameLocal: 'Changed' }],
      providers: [
        provider('first', { firstName: 'Changed' }),
        provider('new'),
        provider('third', { timeZone: 'X' }),
      ],
    })
    await expect(loadDirectory(service.context, bad, service.act())).rejects.toThrow(
      new Refusal('directory_invalid', 'providers[2].timeZone: "X" must be an IANA time zone'),
    )
    expect(await search()).toEqual(before)
  })

  test('current and former zone names are accepted, and other texts are rejected', async () => {
    await loadDirectory(service.context, file(), service.act())
    const load = (timeZone: string) =>
      loadDirectory(service.context, file({ providers: [provider('first', { timeZone })] }), service.act())
    for (const zone of ['Asia/Calcutta', 'Pacific/Chatham', 'UTC', 'America/Argentina/Salta']) {
      expect((await load(zone)).changed, zone).toEqual(['first'])
    }
    for (const zone of ['asia/kolkata', '+05:30', 'America', 'constructor', '../etc/passwd']) {
      await expect(load(zone), zone).rejects.toThrow(
        `providers[0].timeZone: ${JSON.stringify(zone)} must be an IANA time zone`,
      )
    }
  })
})
