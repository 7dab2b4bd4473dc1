import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { countryWide, provider, region } from '../support/builders'
import { type Answer, startService } from '../support/service'
import { expectRefusal, expectSuccess, paths, sendRaw } from './contract'

const total = 105

/** The codes A0, A1 and so on up to K4. */
const codes = Array.from({ length: total }, (_, i) => `${'ABCDEFGHIJK'[Math.floor(i / 10)]}${i % 10}`)

const start = () =>
  startService({
    directory: {
      regions: [
        ...codes.toReversed().map((code, i) =>
          region({
            id: 1000 + ((i * 8) % total),
            countryCode: 'US',
            stateProvinceCode: code,
            stateProvinceNameLocal: `State ${code}`,
          }),
        ),
        region({ id: 1 }),
        region({ id: 2, stateProvinceCode: 'QC' }),
        countryWide('GB', 'United Kingdom'),
      ],
      providers: Array.from({ length: total }, (_, i) =>
        provider(`gb-${i}`, {
          lastName: `Number ${i}`,
          languagesSpoken: i < 5 ? ['en', 'fr-CA'] : ['en'],
          modalities: ['telephonic'],
          licenses: [{ region: 'GB', from: '2020-01-01' }],
          workingHours: [],
        }),
      ),
    },
  })
let service: Awaited<ReturnType<typeof start>>
beforeAll(async () => {
  service = await start()
})
afterAll(() => service.stop())

function idsOf({ body }: Answer): (string | number)[] {
  if (Array.isArray(body)) return body.map(({ stateProvinceCode }) => stateProvinceCode)
  return body.results.map(({ providerId }: { providerId: number }) => providerId)
}

/** The URLs of a Link header, by relation. */
function linksOf(answer: Answer): Record<string, string> {
  const header = answer.headers.get('link') ?? ''
  const links = [...header.matchAll(/<([^<>]*)>; rel="([a-z]+)"(?:, |$)/g)]
  expect(links.map(([whole]) => whole).join('')).toBe(header)
  return Object.fromEntries(links.map(([, url = '', rel = '']) => [rel, url]))
}

/** Requests a URL that a response contains. The URL must begin with the service's base URL. */
function call(url: string): Promise<Answer> {
  expect(url).toStartWith(`${service.baseUrl}/`)
  return service.get(url.slice(service.baseUrl.length))
}

const lists = [
  { name: 'regions', path: `${paths.regions}?country_code=US` },
  { name: 'providers', path: `${paths.providers}?country_code=GB` },
]

for (const { name, path } of lists) {
  describe(`contract: paging the list of ${name}`, () => {
    test('returns 20 entries a page by default', async () => {
      const [first, sixth] = [await service.get(path), await service.get(`${path}&page=6`)]
      expect([first.status, idsOf(first).length, sixth.status, idsOf(sixth).length]).toEqual([
        200, 20, 200, 5,
      ])
      expect(idsOf(await service.get(`${path}&page=1`))).toEqual(idsOf(first))
    })

    test('returns up to 100 entries a page', async () => {
      const whole = await service.get(`${path}&page_size=100`)
      const rest = await service.get(`${path}&page_size=100&page=2`)
      const all = [...idsOf(whole), ...idsOf(rest)]
      expect([idsOf(whole).length, idsOf(rest).length, new Set(all).size]).toEqual([100, 5, total])
    })

    for (const size of [1, 7, 20, 35, 99, 100]) {
      test(`returns the same entries in pages of ${size} as in pages of 20`, async () => {
        const walk = async (pageSize: number) => {
          const pages = Array.from({ length: Math.ceil(total / pageSize) }, (_, i) =>
            service.get(`${path}&page_size=${pageSize}&page=${i + 1}`),
          )
          return (await Promise.all(pages)).flatMap(idsOf)
        }
        const ids = await walk(size)
        expect(ids).toEqual(await walk(20))
        expect(ids).toEqual(ids.toSorted((a, b) => (a < b ? -1 : 1)))
      })
    }

    for (const query of ['page=7', 'page=106&page_size=1', 'page=2147483648', 'page=3&page_size=100']) {
      test(`answers 400 past the last page: ${query}`, async () => {
        expectRefusal(await service.get(`${path}&${query}`), { status: 400, path: 'page' })
      })
    }

    const notAPage = [
      '',
      ...'0 -1 01 1.5 1e2 0x10 %2B1 +1 %201 1%0A 1_0 1,2 NaN Infinity canary-page %EF%BC%91 1%00 9007199254740993'.split(
        ' ',
      ),
      '9'.repeat(400),
    ]
    for (const parameter of ['page', 'page_size']) {
      for (const value of parameter === 'page' ? notAPage : [...notAPage, '101', '1000000']) {
        test(`answers 400 to ${parameter}=${value.slice(0, 30)}`, async () => {
          const answer = await service.get(`${path}&${parameter}=${value}`)
          expectRefusal(answer, { status: 400, path: parameter, absent: value.length > 5 ? [value] : [] })
        })
      }

      test(`answers 400 to a repeated ${parameter}`, async () => {
        for (const query of [`${parameter}=1&${parameter}=1`, `${parameter}=1&${parameter}=2`]) {
          expectRefusal(await service.get(`${path}&${query}`), { status: 400, path: parameter })
        }
      })
    }
  })
}

describe('contract: paging an empty list', () => {
  test('of regions has only a first page', async () => {
    const path = `${paths.regions}?country_code=AQ`
    for (const query of ['', '&page=1', '&page=1&page_size=100']) {
      const answer = await service.get(`${path}${query}`)
      expectSuccess(answer, 200, [])
      expect(answer.headers.get('x-total-count')).toBe('0')
    }
    expectRefusal(await service.get(`${path}&page=2`), { status: 400, path: 'page' })
  })

  test('of providers has only a first page', async () => {
    const path = `${paths.providers}?country_code=AQ`
    for (const query of ['', '&page=1', '&page=1&page_size=100']) {
      expectSuccess(await service.get(`${path}${query}`), 200, {
        count: 0,
        next: null,
        previous: null,
        results: [],
      })
    }
    expectRefusal(await service.get(`${path}&page=2`), { status: 400, path: 'page' })
  })
})

describe("contract: the region list's headers", () => {
  const path = `${paths.regions}?country_code=us`

  test('X-Total-Count counts all pages', async () => {
    for (const query of ['', '&page=6', '&page_size=1', '&page_size=100&page=2']) {
      expect((await service.get(`${path}${query}`)).headers.get('x-total-count')).toBe(String(total))
    }
  })

  const rows = [
    { page: 1, rels: ['first', 'last', 'next'] },
    { page: 2, rels: ['first', 'last', 'next', 'prev'] },
    { page: 4, rels: ['first', 'last', 'prev'] },
  ]
  for (const { page, rels } of rows) {
    test(`Link on page ${page} of 4 has ${rels.join(', ')}, each with the sent filters`, async () => {
      const links = linksOf(await service.get(`${path}&page_size=30&page=${page}`))
      expect(Object.keys(links).sort()).toEqual(rels)
      const expectedPage: Record<string, number> = { first: 1, prev: page - 1, next: page + 1, last: 4 }
      for (const [rel, link] of Object.entries(links)) {
        const { searchParams } = new URL(link)
        expect(searchParams.get('country_code')?.toUpperCase()).toBe('US')
        expect(searchParams.get('page_size')).toBe('30')
        const direct = await service.get(`${path}&page_size=30&page=${expectedPage[rel]}`)
        const answer = await call(link)
        expectSuccess(answer, 200, direct.body)
        expect(answer.headers.get('link')).toBe(direct.headers.get('link'))
      }
    })
  }

  test('Link on a single page has first and last, both for that page', async () => {
    const links = linksOf(await service.get(`${paths.regions}?country_code=CA`))
    expect(Object.keys(links).sort()).toEqual(['first', 'last'])
    for (const link of Object.values(links)) {
      expect((await call(link)).body.map(({ id }: { id: number }) => id)).toEqual([1, 2])
    }
  })

  test('the links lead from the first page to the last and back', async () => {
    const seen: (string | number)[] = []
    let answer = await service.get(path)
    for (let next: string | undefined = linksOf(answer).first; next; next = linksOf(answer).next) {
      answer = await call(next)
      seen.push(...idsOf(answer))
    }
    expect(seen).toEqual(codes)
    let backwards = 0
    for (let prev = linksOf(answer).prev; prev; prev = linksOf(answer).prev) {
      answer = await call(prev)
      backwards++
    }
    expect([backwards, idsOf(answer)]).toEqual([5, codes.slice(0, 20)])
  })
})

describe("contract: the provider search's paging links", () => {
  test('count is the number of all matches, and next and previous lead through all pages', async () => {
    const seen: (string | number)[] = []
    let answer = await service.get(`${paths.providers}?country_code=GB&page_size=40`)
    expect(answer.body.previous).toBeNull()
    for (;;) {
      expect(Object.keys(answer.body)).toEqual(['count', 'next', 'previous', 'results'])
      expect(answer.body.count).toBe(total)
      seen.push(...idsOf(answer))
      if (answer.body.next === null) break
      const before = answer
      answer = await call(answer.body.next)
      expect((await call(answer.body.previous)).body).toEqual(before.body)
    }
    expect([seen.length, new Set(seen).size]).toEqual([total, total])
  })

  test('next and previous keep every sent filter', async () => {
    const filters = 'country_code=gb&modality=telephonic&language=fr&page_size=2'
    const answer = await service.get(`${paths.providers}?${filters}&page=2`)
    const sent = { country_code: 'gb', modality: 'telephonic', language: 'fr', page_size: '2' }
    expect(answer.body.count).toBe(5)
    for (const [url, page] of [
      [answer.body.next, '3'],
      [answer.body.previous, '1'],
    ]) {
      const { origin, pathname, searchParams } = new URL(url)
      expect([origin, pathname]).toEqual([service.baseUrl, paths.providers])
      expect(Object.fromEntries(searchParams)).toMatchObject({ ...sent, page })
      const direct = await service.get(`${paths.providers}?${filters}&page=${page}`)
      expectSuccess(await call(url), 200, direct.body)
    }
  })

  test('next keeps region_id', async () => {
    const regions = await service.get(`${paths.regions}?country_code=GB`)
    const { id } = regions.body[0]
    const answer = await service.get(`${paths.providers}?region_id=${id}&page_size=1`)
    expect(new URL(answer.body.next).searchParams.get('region_id')).toBe(String(id))
    expect((await call(answer.body.next)).body.count).toBe(total)
  })

  test('next keeps a percent-encoded filter value', async () => {
    const answer = await service.get(`${paths.providers}?country_code=GB&page_size=3&language=f%72-%43A`)
    expect(answer.body.count).toBe(5)
    const next = await call(answer.body.next)
    expect([next.body.count, next.body.results.length, next.body.next]).toEqual([5, 2, null])
  })
})

describe('contract: the URLs in paging links', () => {
  const forgeries = [
    ['Host: canary.example'],
    ['Host: canary.example:9999'],
    ['Host: localhost', 'X-Forwarded-Host: canary.example', 'X-Forwarded-Proto: canary'],
    ['Host: localhost', 'Forwarded: host=canary.example;proto=canary', 'X-Forwarded-Port: 9999'],
    ['Host: localhost', 'X-Original-Url: /canary', 'X-Rewrite-Url: /canary', 'X-Forwarded-Prefix: /canary'],
  ]
  for (const lines of forgeries) {
    test(`begin with the base URL in spite of ${lines.join(', ')}`, async () => {
      for (const { path } of lists) {
        const head = [
          `GET ${path}&page=2 HTTP/1.1`,
          ...lines,
          `Authorization: Bearer ${service.partner.token}`,
        ]
        const answer = await sendRaw(service.baseUrl, head)
        expect(answer.status).toBe(200)
        const urls = Array.isArray(answer.body)
          ? Object.values(linksOf(answer))
          : [answer.body.next, answer.body.previous]
        expect(urls.map((url) => new URL(url).origin)).toEqual(urls.map(() => service.baseUrl))
        expect(urls.join(' ')).not.toMatch(/canary|9999/)
      }
    })
  }
})
