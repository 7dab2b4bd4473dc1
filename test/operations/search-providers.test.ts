import { expect, test } from 'bun:test'
import type { Listing } from '../../src/directory/directory'
import { type ProviderSearch, searchProviders } from '../../src/operations/search-providers'

const count = 10_000
const languages = [['en'], ['fr-CA', 'en'], []]
const search = { regionId: 9, countryCode: undefined, modality: undefined, page: 1, pageSize: 1 } as const

/** Searches a region of many providers: how many of them each step looked at, and how many were found. */
function searchAll(different: Partial<ProviderSearch>) {
  let looked = 0
  const listings = Array.from({ length: count }, (_, index) => ({
    get provider() {
      looked++
      const modalities = index % 2 ? ['in-person', 'in-video'] : ['in-video']
      return {
        languagesSpoken: languages[index % 3],
        modalities,
        inPersonRegionIds: index % 4 > 1 ? [9] : [],
      }
    },
  })) as unknown as Listing[]
  const directory = { findRegion: () => ({ id: 9, countryCode: 'CA' }), listLicensed: () => listings }
  const steps = searchProviders(
    { directory } as never,
    { ...search, languageTag: undefined, ...different },
    0,
  )
  const lookedAt: number[] = []
  for (;;) {
    const step = steps.next()
    lookedAt.push(looked)
    looked = 0
    if (step.done) return { most: Math.max(...lookedAt), count: step.value.count }
  }
}

test.each<[what: string, filter: Partial<ProviderSearch>, found: number]>([
  ['a language', { languageTag: 'fr' }, 3_333],
  ['a language that nobody speaks', { languageTag: 'de' }, 0],
  ['a modality', { modality: 'in-video' }, 10_000],
  ['who sees people in person', { modality: 'in-person' }, 2_500],
  ['both', { modality: 'in-person', languageTag: 'en-CA' }, 1_667],
])(
  'a search for %s looks at a few hundred providers in a step, however many there are',
  (_, filter, found) => {
    const { most, count } = searchAll(filter)
    expect(count).toBe(found)
    expect(most).toBeLessThanOrEqual(256)
  },
)

test('a search without a filter looks at those of its page alone', () => {
  expect(searchAll({})).toEqual({ most: 0, count })
})
