import { describe, expect, test } from 'bun:test'
import type { Listing } from '../../src/directory/listing'
import type { Context } from '../../src/operations/context'
import { type ProviderSearch, searchProviders } from '../../src/operations/search-providers'

const count = 10_000
const languages = [['en'], ['fr-CA', 'en'], []]
const search = { regionId: 9, countryCode: undefined, modality: undefined, page: 1, pageSize: 1 } as const

/** A region of many providers. `looked` returns the number of provider reads since the previous call of `looked`. */
function manyProviders() {
  let looked = 0
  const listings = Array.from({ length: count }, (_, index) => ({
    provider: {
      id: index,
      languagesSpoken: languages[index % 3],
      modalities: index % 2 ? ['in-person', 'in-video'] : ['in-video'],
      inPersonRegionIds: index % 4 > 1 ? [9] : [],
    },
  })) as unknown as Listing[]
  let roster = { ids: listings.map((_, id) => id), heldFrom: 0, holdsUntil: 1 }
  const directory = {
    version: 1,
    findRegion: () => ({ id: 9, countryCode: 'CA' }),
    rosterOf: () => roster,
    findListing(id: number) {
      looked++
      return listings[id]
    },
  }
  return {
    context: { directory } as unknown as Context,
    looked() {
      const since = looked
      looked = 0
      return since
    },
    replaceRoster(ids: number[]) {
      roster = { ...roster, ids }
    },
  }
}

/** Runs a whole search. Returns the number of providers found, and the most providers read in one step. */
async function searchAll(many: ReturnType<typeof manyProviders>, different: Partial<ProviderSearch>) {
  const lookedAt: number[] = []
  const turn = () => void lookedAt.push(many.looked())
  const found = await searchProviders(
    many.context,
    { ...search, languageTag: undefined, ...different },
    0,
    turn,
  )
  turn()
  return { most: Math.max(...lookedAt), count: found.count }
}

describe.each<[what: string, filter: Partial<ProviderSearch>, found: number]>([
  ['a spoken language', { languageTag: 'fr' }, 3_333],
  ['a language without speakers', { languageTag: 'de' }, 0],
  ['a modality', { modality: 'in-video' }, 10_000],
  ['in-person sessions', { modality: 'in-person' }, 2_500],
  ['in-person sessions in a language', { modality: 'in-person', languageTag: 'en-CA' }, 1_667],
])('operations: a search for %s', (_, filter, found) => {
  test('reads at most 256 providers in a step', async () => {
    const { most, count } = await searchAll(manyProviders(), filter)
    expect(count).toBe(found)
    expect(most).toBeLessThanOrEqual(256)
  })

  test('reads only the providers of the requested page if the same search was made before', async () => {
    const many = manyProviders()
    await searchAll(many, filter)
    const { most, count } = await searchAll(many, filter)
    expect(count).toBe(found)
    expect(most).toBeLessThanOrEqual(1)
  })

  test('returns the current providers if the roster changes during the search', async () => {
    const many = manyProviders()
    let isReplaced = false
    const turn = () => {
      if (!isReplaced) many.replaceRoster([1, 4, 7, 10])
      isReplaced = true
      return undefined
    }
    const asked = { ...search, languageTag: undefined, ...filter }
    const found = await searchProviders(many.context, asked, 0, turn)
    expect(found.count).toBe((await searchAll(many, filter)).count)
    expect(found.items.every(({ provider }) => [1, 4, 7, 10].includes(provider.id))).toBe(true)
  })
})

test('operations: searches for variants of a language tag share one cache entry per spoken language', async () => {
  const many = manyProviders()
  await searchAll(many, { languageTag: 'fr' })
  for (const languageTag of ['FR', 'fr-CA', 'fr-ca-x-one', 'fr-CA-x-two']) {
    expect(await searchAll(many, { languageTag })).toEqual({ most: 1, count: 3_333 })
  }
})

test('operations: a search without a filter reads only the providers of its page', async () => {
  expect(await searchAll(manyProviders(), {})).toEqual({ most: 1, count })
})
