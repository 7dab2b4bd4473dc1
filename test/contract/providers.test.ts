import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { loadDirectory } from '../../src/operations/directory-loads'
import { countryWide, provider, region } from '../support/builders'
import { startService } from '../support/service'
import { words } from '../support/words'
import { entryOf, expectRefusal, expectSuccess, lastNames, on, paths, slotsAt } from './contract'

type Provider = ReturnType<typeof provider>

const named = (lastName: string, different: Partial<Provider> = {}): Provider =>
  provider(`ref-${lastName}`, { lastName, workingHours: [], ...different })

const since2020 = (...regions: string[]) => regions.map((ref) => ({ region: ref, from: '2020-01-01' }))

const regions = [
  region({ id: 31 }),
  region({ id: 12, stateProvinceCode: 'QC', stateProvinceNameLocal: 'Québec' }),
  region({ id: 7, stateProvinceCode: 'NB', stateProvinceNameLocal: 'New Brunswick', active: false }),
  { ...countryWide('GB', 'United Kingdom'), id: 44 },
  { ...countryWide('IE', 'Ireland'), id: 45, active: false },
  // Only one of the two Australian regions is active, so Australia counts as a country with a single region.
  region({ id: 61, countryCode: 'AU', stateProvinceCode: 'NSW', stateProvinceNameLocal: 'New South Wales' }),
  region({ id: 62, countryCode: 'AU', stateProvinceCode: 'VIC', active: false }),
]

describe('contract: a provider search', () => {
  const start = () =>
    startService({
      directory: {
        regions,
        providers: [
          named('Whole', {
            firstName: 'Zoë',
            credentials: 'RSW, MSW',
            pronouns: 'they/them',
            gender: 'Non-binary',
            bio: 'Listens.\nLong bio with “quotes” & <tags>.',
            timeZone: 'America/St_Johns',
            languagesSpoken: ['fr-CA', 'en'],
            modalities: ['telephonic', 'in-video'],
            inPersonRegions: ['CA-QC'],
            licenses: since2020('CA-QC', 'CA-ON'),
            workingHours: [on('2026-12-02', '09:00', '10:30')],
          }),
          named('Bare'),
          named('Quebecer', { licenses: since2020('CA-QC') }),
          named('Inactive', { active: false }),
          named('Elsewhere', { licenses: since2020('CA-NB') }),
          named('Unlicensed', { licenses: [] }),
          named('Briton', { licenses: since2020('GB') }),
          named('Irish', { licenses: since2020('IE') }),
          named('Sydney', { licenses: since2020('AU-NSW') }),
          named('Melbourne', { licenses: since2020('AU-VIC') }),
        ],
      },
    })
  let service: Awaited<ReturnType<typeof start>>
  beforeAll(async () => {
    service = await start()
  })
  afterAll(() => service.stop())

  test('lists all details of each provider in the order of the ids', async () => {
    const answer = await service.get(`${paths.providers}?region_id=31`)
    const [whole, bare] = answer.body.results
    expectSuccess(answer, 200, {
      count: 2,
      next: null,
      previous: null,
      results: [
        {
          providerId: whole.providerId,
          details: {
            firstName: 'Zoë',
            lastName: 'Whole',
            credentials: 'RSW, MSW',
            pronouns: 'they/them',
            gender: 'Non-binary',
            bio: 'Listens.\nLong bio with “quotes” & <tags>.',
            timeZone: 'America/St_Johns',
            languagesSpoken: ['fr-CA', 'en'],
            modalities: ['telephonic', 'in-video'],
          },
          availability: [
            { utcStartTime: '2026-12-02T12:30:00Z', utcEndTime: '2026-12-02T13:15:00Z' },
            { utcStartTime: '2026-12-02T13:15:00Z', utcEndTime: '2026-12-02T14:00:00Z' },
          ],
        },
        {
          providerId: bare.providerId,
          details: {
            firstName: 'Marlow',
            lastName: 'Bare',
            credentials: null,
            pronouns: null,
            gender: null,
            bio: null,
            timeZone: 'America/Toronto',
            languagesSpoken: ['en'],
            modalities: ['in-video'],
          },
          availability: [],
        },
      ],
    })
    expect([whole.providerId, bare.providerId].every(Number.isSafeInteger)).toBe(true)
    expect(whole.providerId).toBeLessThan(bare.providerId)
  })

  const found: { query: string; names: string[]; why: string }[] = [
    { query: 'region_id=31', names: ['Whole', 'Bare'], why: 'providers licensed in the region' },
    { query: 'region_id=12', names: ['Whole', 'Quebecer'], why: 'providers licensed in the region' },
    { query: 'region_id=31&country_code=CA', names: ['Whole', 'Bare'], why: 'country and region agree' },
    { query: 'region_id=31&country_code=ca', names: ['Whole', 'Bare'], why: 'the country code in any case' },
    { query: 'country_code=GB', names: ['Briton'], why: 'a country-wide region by its country' },
    { query: 'country_code=gb', names: ['Briton'], why: 'the country code in any case' },
    { query: 'region_id=44', names: ['Briton'], why: 'a country-wide region by its id' },
    { query: 'region_id=44&country_code=GB', names: ['Briton'], why: 'a country-wide region by both' },
    { query: 'country_code=AU', names: ['Sydney'], why: 'only active regions count' },
    { query: 'country_code=AU&region_id=61', names: ['Sydney'], why: 'only active regions count' },
    { query: 'country_code=IE', names: [], why: 'a country without an active region is empty' },
    { query: 'country_code=AQ', names: [], why: 'a country without any region is empty' },
    { query: 'region_id=31&modality=telephonic', names: ['Whole'], why: 'the modality filters' },
    { query: 'region_id=31&modality=in-video', names: ['Whole', 'Bare'], why: 'the modality filters' },
    { query: 'country_code=GB&modality=telephonic', names: [], why: 'no provider has the modality' },
    { query: 'region_id=12&language=fr&modality=in-video', names: ['Whole'], why: 'all filters apply' },
    {
      query: 'region_id=31&Modality=x&languages=x&x=1',
      names: ['Whole', 'Bare'],
      why: 'unknown parameters are ignored',
    },
  ]
  for (const { query, names, why } of found) {
    test(`?${query} finds ${names.join(' and ') || 'no provider'}: ${why}`, async () => {
      expect(await lastNames(service, query)).toEqual(names)
    })
  }

  const place = /(^|\W)(region_id|country_code): /
  const refused: { query: string; path: string | RegExp; kind?: string; why: string }[] = [
    { query: '', path: place, why: 'one of region_id and country_code is required' },
    { query: '?language=en&modality=in-video', path: place, why: 'filters alone are not enough' },
    {
      query: '?country_code=CA',
      path: 'region_id',
      kind: 'region_required',
      why: 'the country has more than one region',
    },
    {
      query: '?country_code=ca',
      path: 'region_id',
      kind: 'region_required',
      why: 'the country has more than one region',
    },
    { query: '?country_code=CA&region_id=44', path: place, why: 'a region of another country' },
    { query: '?country_code=GB&region_id=31', path: place, why: 'a region of another country' },
    { query: '?country_code=GB&region_id=45', path: place, why: 'an inactive region of another country' },
    { query: '?country_code=AQ&region_id=31', path: place, why: 'a region of another country' },
    { query: '?region_id=7', path: 'region_id', why: 'an inactive region' },
    { query: '?region_id=7&country_code=CA', path: 'region_id', why: 'an inactive region' },
    { query: '?region_id=45&country_code=IE', path: 'region_id', why: 'an inactive region' },
    { query: '?region_id=31&country_code=XX', path: 'country_code', why: 'not an assigned country code' },
    { query: '?region_id=31&country_code=', path: 'country_code', why: 'not an assigned country code' },
    { query: '?country_code=CAN', path: 'country_code', why: 'not an assigned country code' },
    { query: '?country_code=UK', path: 'country_code', why: 'not an assigned country code' },
    {
      query: '?country_code=GB&modality=in-person',
      path: /(^|\W)(region_id|modality): /,
      why: 'in-person needs region_id',
    },
    {
      query: '?country_code=CA&modality=in-person',
      path: /(^|\W)(region_id|modality): /,
      why: 'in-person needs region_id',
    },
  ]
  for (const { query, path, kind, why } of refused) {
    test(`${query || 'without parameters'} is 400: ${why}`, async () => {
      const answer = await service.get(`${paths.providers}${query}`)
      expectRefusal(answer, { status: 400, path, ...(kind && { kind }) })
    })
  }

  const values: Record<string, string[]> = {
    region_id: ['', ...words`0 -31 31.0 0x1F %2031 31,12 999 CA-ON canary-region 9007199254740993 31%00`],
    modality: ['', 'canary-modality', 'in_person', 'in-person,telephonic', '__proto__'],
    language: ['', 'fr_CA', 'fr,en', 'canary-languages', 'fr%00', '*'],
    country_code: ['C', 'CA-ON', 'XX', 'canary-country', 'CA%00'],
  }
  for (const [parameter, bad] of Object.entries(values)) {
    test(`an invalid ${parameter} is 400, and the message contains its name but not its value`, async () => {
      for (const value of bad) {
        const others = parameter === 'region_id' ? '' : 'region_id=31&'
        const answer = await service.get(`${paths.providers}?${others}${parameter}=${value}`)
        const absent = value.length > 6 && !value.includes('in-person') ? [value] : []
        expectRefusal(answer, { status: 400, path: parameter, absent })
      }
    })
  }

  test('a repeated parameter is 400 and the message contains its name', async () => {
    const good: Record<string, string> = {
      region_id: '31',
      country_code: 'CA',
      modality: 'in-video',
      language: 'en',
      page: '1',
      page_size: '20',
    }
    for (const [parameter, value] of Object.entries(good)) {
      const answer = await service.get(
        `${paths.providers}?${new URLSearchParams(good)}&${parameter}=${value}`,
      )
      expectRefusal(answer, { status: 400, path: parameter })
    }
    expect((await service.get(`${paths.providers}?${new URLSearchParams(good)}`)).status).toBe(200)
  })
})

describe('contract: a change of the directory', () => {
  test('applies to the next search and keeps the ids of providers and regions', async () => {
    const directory = (isGone: boolean) => ({
      regions: [region({ id: 31, active: !isGone }), region({ id: 12, stateProvinceCode: 'QC' })],
      providers: [
        named('Changing', { active: !isGone, licenses: since2020('CA-ON', 'CA-QC') }),
        named('Staying', { firstName: isGone ? 'New' : 'Old', licenses: since2020('CA-ON', 'CA-QC') }),
      ],
    })
    const service = await startService({ directory: directory(false) })
    try {
      const before = await service.get(`${paths.providers}?region_id=31`)
      expect(await lastNames(service, 'region_id=12')).toEqual(['Changing', 'Staying'])

      await loadDirectory(service.context, directory(true), service.act())
      expectRefusal(await service.get(`${paths.providers}?region_id=31`), { status: 400, path: 'region_id' })
      const [, staying] = before.body.results
      expectSuccess(await service.get(`${paths.providers}?country_code=CA`), 200, {
        count: 1,
        next: null,
        previous: null,
        results: [{ ...staying, details: { ...staying.details, firstName: 'New' } }],
      })

      await loadDirectory(service.context, directory(false), service.act())
      expectSuccess(await service.get(`${paths.providers}?region_id=31`), 200, before.body)
    } finally {
      await service.stop()
    }
  })
})

describe('contract: the language filter', () => {
  const speakers: Record<string, string[]> = {
    Fr: ['fr'],
    FrCa: ['fr-CA'],
    FrFr: ['en', 'fr-FR'],
    Frr: ['frr'],
    EnUs: ['en-us'],
    Taiwan: ['zh-Hant-TW'],
    Simplified: ['zh-Hans'],
    Both: ['de', 'fr', 'fr-BE'],
  }
  const start = () =>
    startService({
      directory: {
        regions: [region({ id: 31 })],
        providers: Object.entries(speakers).map(([name, languagesSpoken]) =>
          named(name, { languagesSpoken }),
        ),
      },
    })
  let service: Awaited<ReturnType<typeof start>>
  beforeAll(async () => {
    service = await start()
  })
  afterAll(() => service.stop())

  const rows: { language: string; names: string[] }[] = [
    { language: 'fr', names: ['Fr', 'FrCa', 'FrFr', 'Both'] },
    { language: 'fr-CA', names: ['Fr', 'FrCa', 'Both'] },
    { language: 'zh-hant-tw', names: ['Taiwan'] },
    { language: 'es', names: [] },
  ]
  for (const { language, names } of rows) {
    test(`${language} finds ${names.join(', ') || 'no provider'}`, async () => {
      expect(await lastNames(service, `region_id=31&language=${language}`)).toEqual(names)
    })
  }
})

describe('contract: the in-person filter', () => {
  const inPerson = (name: string, inPersonRegions: string[], licensed: string[]) =>
    named(name, { modalities: ['in-person', 'in-video'], inPersonRegions, licenses: since2020(...licensed) })
  const start = () =>
    startService({
      directory: {
        regions,
        providers: [
          inPerson('Ontario', ['CA-ON'], ['CA-ON', 'CA-QC']),
          inPerson('Quebec', ['CA-QC'], ['CA-ON', 'CA-QC']),
          inPerson('Everywhere', ['CA-ON', 'CA-QC'], ['CA-ON', 'CA-QC']),
          inPerson('Nowhere', [], ['CA-ON', 'CA-QC']),
          inPerson('Unlicensed', ['CA-ON', 'CA-QC'], ['CA-QC']),
          named('Remote', { licenses: since2020('CA-ON', 'CA-QC') }),
          inPerson('Briton', ['GB'], ['GB']),
        ],
      },
    })
  let service: Awaited<ReturnType<typeof start>>
  beforeAll(async () => {
    service = await start()
  })
  afterAll(() => service.stop())

  const rows: { query: string; names: string[] }[] = [
    { query: 'region_id=31&modality=in-person', names: ['Ontario', 'Everywhere'] },
    { query: 'region_id=12&modality=in-person', names: ['Quebec', 'Everywhere', 'Unlicensed'] },
    {
      query: 'region_id=12&country_code=CA&modality=in-person',
      names: ['Quebec', 'Everywhere', 'Unlicensed'],
    },
    { query: 'region_id=44&modality=in-person', names: ['Briton'] },
    {
      query: 'region_id=31&modality=in-video',
      names: ['Ontario', 'Quebec', 'Everywhere', 'Nowhere', 'Remote'],
    },
  ]
  for (const { query, names } of rows) {
    test(`?${query} finds ${names.join(', ')}`, async () => {
      expect(await lastNames(service, query)).toEqual(names)
    })
  }
})

describe('contract: licenses', () => {
  // At the test clock it is 2026-12-01 07:00 in Toronto and 2026-12-02 01:00 in Auckland.
  const licensed = (name: string, different: Partial<Provider>) =>
    named(name, {
      timeZone: 'Etc/UTC',
      workingHours: [
        on('2026-12-05', '10:00', '10:45'),
        on('2026-12-10', '10:00', '10:45'),
        on('2026-12-11', '10:00', '10:45'),
        on('2026-12-20', '10:00', '10:45'),
      ],
      ...different,
    })
  const inOntario = (from: string, until?: string) => ({ region: 'CA-ON', from, ...(until && { until }) })
  const start = () =>
    startService({
      directory: {
        regions,
        providers: [
          licensed('Ending', { licenses: [inOntario('2020-01-01', '2026-12-10')] }),
          licensed('Renewed', {
            licenses: [inOntario('2020-01-01', '2026-12-10'), inOntario('2026-12-11')],
          }),
          licensed('Moving', {
            licenses: [
              inOntario('2020-01-01', '2026-12-05'),
              { region: 'CA-QC', from: '2026-12-01', until: '2026-12-10' },
            ],
          }),
          licensed('AucklandFromTomorrow', {
            timeZone: 'Pacific/Auckland',
            licenses: [inOntario('2026-12-03')],
            workingHours: [],
          }),
          licensed('AucklandUntilToday', {
            timeZone: 'Pacific/Auckland',
            licenses: [inOntario('2020-01-01', '2026-12-02')],
            workingHours: [on('2026-12-02', '23:00', '01:00'), on('2026-12-03', '09:00', '10:00')],
          }),
        ],
      },
    })
  let service: Awaited<ReturnType<typeof start>>
  beforeAll(async () => {
    service = await start()
  })
  afterAll(() => service.stop())

  const [fifth, tenth, _eleventh, _twentieth] = [
    '2026-12-05T10:00:00Z',
    '2026-12-10T10:00:00Z',
    '2026-12-11T10:00:00Z',
    '2026-12-20T10:00:00Z',
  ] as const

  const rows: { name: string; regionId: number; starts: string[] }[] = [
    { name: 'Moving', regionId: 31, starts: [fifth] },
    { name: 'Moving', regionId: 12, starts: [fifth, tenth] },
    // On the last day of the license only the slot at 23:00 is offered. The slot at 23:45 would end on the next day.
    { name: 'AucklandUntilToday', regionId: 31, starts: ['2026-12-02T10:00:00Z'] },
  ]
  for (const { name, regionId, starts } of rows) {
    test(`a search of region ${regionId} offers ${starts.length} slots of provider ${name}`, async () => {
      expect((await entryOf(service, regionId, name)).availability).toEqual(slotsAt(...starts))
    })
  }

  test('begin and end at midnight in the provider’s time zone', async () => {
    const moving = await start()
    try {
      const midnights = [
        { now: '2026-12-02T10:59:59Z', starting: false, ending: true },
        { now: '2026-12-02T11:00:00Z', starting: true, ending: false },
      ]
      for (const { now, starting, ending } of midnights) {
        moving.setNow(now)
        const names = await lastNames(moving, 'region_id=31')
        expect([now, names.includes('AucklandUntilToday')]).toEqual([now, ending])
        expect([now, names.includes('AucklandFromTomorrow')]).toEqual([now, starting])
      }
      moving.setNow('2026-12-10T23:59:59Z')
      expect((await entryOf(moving, 31, 'Ending')).availability).toEqual([])
      moving.setNow('2026-12-11T00:00:00Z')
      const names = await lastNames(moving, 'region_id=31')
      expect([names.includes('Ending'), names.includes('Renewed')]).toEqual([false, true])
    } finally {
      await moving.stop()
    }
  })
})
