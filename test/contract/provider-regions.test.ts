import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { loadDirectory } from '../../src/operations/directory-loads'
import { countryWide, region } from '../support/builders'
import { startService } from '../support/service'
import { expectRefusal, expectSuccess, paths } from './contract'

// The codes are in another order than the ids and the lines of the file.
const directory = {
  regions: [
    region({ id: 5, stateProvinceCode: 'QC', stateProvinceNameLocal: 'Québec' }),
    region({ id: 31, stateProvinceCode: 'ON' }),
    region({ id: 12, stateProvinceCode: 'AB', stateProvinceNameLocal: 'Alberta' }),
    region({
      id: 2,
      stateProvinceCode: 'YT',
      stateProvinceNameLocal: 'Yukon',
      stateProvinceLabel: 'Territory',
    }),
    region({ id: 3, stateProvinceCode: 'BC', stateProvinceNameLocal: 'British Columbia', active: false }),
    { ...countryWide('GB', 'United Kingdom'), id: 44 },
    { ...countryWide('IE', 'Ireland'), id: 45, active: false },
  ],
  providers: [],
}

const start = () => startService({ directory })
let service: Awaited<ReturnType<typeof start>>
beforeAll(async () => {
  service = await start()
})
afterAll(() => service.stop())

const alberta = {
  id: 12,
  countryCode: 'CA',
  stateProvinceCode: 'AB',
  stateProvinceNameLocal: 'Alberta',
  stateProvinceLabel: 'Province',
}
const ontario = { ...alberta, id: 31, stateProvinceCode: 'ON', stateProvinceNameLocal: 'Ontario' }
const quebec = { ...alberta, id: 5, stateProvinceCode: 'QC', stateProvinceNameLocal: 'Québec' }
const yukon = {
  ...alberta,
  id: 2,
  stateProvinceCode: 'YT',
  stateProvinceNameLocal: 'Yukon',
  stateProvinceLabel: 'Territory',
}
const unitedKingdom = {
  id: 44,
  countryCode: 'GB',
  stateProvinceCode: 'GB',
  stateProvinceNameLocal: 'United Kingdom',
  stateProvinceLabel: 'Country',
}

describe('contract: the list of regions', () => {
  test('is a bare array of the active regions, ordered by code', async () => {
    const answer = await service.get(`${paths.regions}?country_code=CA`)
    expectSuccess(answer, 200, [alberta, ontario, quebec, yukon])
    expect(answer.headers.get('x-total-count')).toBe('4')
  })

  test('of an undivided country contains only the country-wide region', async () => {
    const answer = await service.get(`${paths.regions}?country_code=GB`)
    expectSuccess(answer, 200, [unitedKingdom])
    expect(answer.headers.get('x-total-count')).toBe('1')
  })

  for (const [code, why] of [
    ['IE', 'with only an inactive region'],
    ['AQ', 'without regions'],
  ] as const) {
    test(`of a country ${why} is empty`, async () => {
      const answer = await service.get(`${paths.regions}?country_code=${code}`)
      expectSuccess(answer, 200, [])
      expect(answer.headers.get('x-total-count')).toBe('0')
    })
  }

  test('ignores unknown parameters', async () => {
    const answer = await service.get(`${paths.regions}?country_code=CA&region_id=x&modality=&x=1&__proto__=2`)
    expectSuccess(answer, 200, [alberta, ontario, quebec, yukon])
  })

  test('shows a directory change at the next request', async () => {
    const changing = await start()
    try {
      expect((await changing.get(`${paths.regions}?country_code=IE`)).body).toEqual([])
      await loadDirectory(
        changing.context,
        {
          ...directory,
          regions: directory.regions.map((entry) => ({ ...entry, active: entry.id === 45 })),
        },
        changing.act(),
      )
      const answer = await changing.get(`${paths.regions}?country_code=IE`)
      expectSuccess(answer, 200, [
        {
          id: 45,
          countryCode: 'IE',
          stateProvinceCode: 'IE',
          stateProvinceNameLocal: 'Ireland',
          stateProvinceLabel: 'Country',
        },
      ])
      expectSuccess(await changing.get(`${paths.regions}?country_code=CA`), 200, [])
    } finally {
      await changing.stop()
    }
  })
})

describe('contract: a country_code that is not an assigned ISO 3166-1 alpha-2 code', () => {
  const rows = ['', 'CAN', 'UK', ' CA', 'CA,GB', 'canary-country', '__proto__', 'CA\u0000']
  for (const code of rows) {
    test(`country_code=${JSON.stringify(code)} is 400`, async () => {
      const answer = await service.get(`${paths.regions}?country_code=${encodeURIComponent(code)}`)
      const absent = code.length > 4 ? [code] : []
      expectRefusal(answer, { status: 400, path: 'country_code', absent })
    })
  }
})

describe('contract: parameters of the list of regions', () => {
  const rows: { query: string; path: string }[] = [
    { query: '', path: 'country_code' },
    { query: '?', path: 'country_code' },
    { query: '?Country_Code=CA', path: 'country_code' },
    { query: '?countryCode=CA', path: 'country_code' },
    { query: '?country_code', path: 'country_code' },
    { query: '?country_code=CA&country_code=CA', path: 'country_code' },
    { query: '?country_code=CA&country_code=GB', path: 'country_code' },
    { query: '?country_code=CA&country%5Fcode=GB', path: 'country_code' },
    { query: '?country_code=CA&page=1&page=1', path: 'page' },
    { query: '?country_code=CA&page_size=5&page_size=6', path: 'page_size' },
  ]
  for (const { query, path } of rows) {
    test(`${query || 'no query'} is 400 and the message contains ${path}`, async () => {
      expectRefusal(await service.get(`${paths.regions}${query}`), { status: 400, path })
    })
  }
})
