import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import type { MemberUpdate } from '../../src/domain/member'
import type { Modality, Provider } from '../../src/domain/provider'
import {
  type Candidate,
  modalitiesIn,
  rankCandidates,
  suggestProviders,
} from '../../src/operations/suggest-providers'
import { builtInZones } from '../../src/zones/packed'
import { countryWide, provider, region } from '../support/builders'
import { defaultNow, startService } from '../support/service'

const now = Date.parse(defaultNow)
const nextSlot = now / 60_000 + 60
const toronto = { name: 'America/Toronto', transitions: [], offsets: [-300] }

function candidate(ref: string, different: Partial<Candidate> = {}, languages = ['en']): Candidate {
  const id = Number(ref.slice(1))
  return {
    provider: { id, ref, languagesSpoken: languages } as unknown as Provider,
    zone: toronto,
    regions: ['CA-ON'],
    isRegionKnown: true,
    modalities: ['in-video'],
    freeSlots: [nextSlot],
    ...different,
  }
}

const rank = (candidates: Candidate[], language = 'en', modalities: Modality[] = []) =>
  rankCandidates(candidates, { language, modalities }, []).map(({ provider: { ref } }) => ref)

describe('operations: the order of suggested providers', () => {
  test('is by language first, then by modality, then by the soonest slot', () => {
    const both = candidate('p1', { freeSlots: [nextSlot + 900] }, ['fr-CA'])
    const language = candidate('p2', { modalities: ['telephonic'] }, ['fr'])
    const modality = candidate('p3', {}, ['en'])
    const neither = candidate('p4', { modalities: ['telephonic'] }, ['en'])
    expect(rank([neither, modality, language, both], 'fr', ['in-video'])).toEqual(['p1', 'p2', 'p3', 'p4'])
  })

  test('of equal matches is by the soonest slot, then by id', () => {
    const candidates = [
      candidate('p5', { freeSlots: [] }),
      candidate('p4', { freeSlots: [] }),
      candidate('p3'),
      candidate('p2', { freeSlots: [nextSlot - 45] }),
      candidate('p1'),
    ]
    expect(rank(candidates)).toEqual(['p2', 'p1', 'p3', 'p4', 'p5'])
  })

  test('ignores the modality if the member asked for none', () => {
    const [suggestion] = rankCandidates([candidate('p1')], { language: 'en', modalities: [] }, [])
    expect(suggestion?.reasons).toContainEqual({ about: 'modality', fits: null, offered: ['in-video'] })
  })
})

describe('operations: the slots of a suggestion', () => {
  const vancouver = { name: 'America/Vancouver', transitions: [], offsets: [-480] }
  const halifax = { name: 'America/Halifax', transitions: [], offsets: [-240] }
  const wish = { language: 'en', modalities: [] }
  // In Vancouver 05:00, 07:15, 08:00, 20:15 and 20:16.
  const freeSlots = [0, 135, 180, 915, 916].map((minutes) => nextSlot + minutes)
  const times = (zones: (typeof vancouver)[]) =>
    rankCandidates([candidate('p1', { freeSlots })], wish, zones)[0]?.slots.map(({ startsAt, isDaytime }) => [
      startsAt / 60_000 - nextSlot,
      isDaytime,
    ])

  test("are the three soonest from 08:00 to 21:00 of the member's local time, then others", () => {
    expect(times([vancouver])).toEqual([
      [180, true],
      [915, true],
      [0, false],
    ])
  })

  test('must be in the daytime of all time zones in which the member may be', () => {
    expect(times([halifax, vancouver])?.[0]).toEqual([180, true])
    expect(times([halifax, vancouver])?.[1]).toEqual([0, false])
  })

  test("are the three soonest if the member's time zone is unknown", () => {
    expect(times([])).toEqual([0, 135, 180].map((minutes) => [minutes, true]))
  })

  test('have the local times of the provider and of the member', () => {
    const early = candidate('p1', { freeSlots: [nextSlot] })
    const [suggestion] = rankCandidates([early], wish, [vancouver])
    expect(suggestion?.slots).toEqual([
      {
        provider: early.provider,
        startsAt: Date.parse('2026-12-01T13:00:00Z'),
        local: 'Tue 2026-12-01 08:00',
        memberTime: {
          earliest: 'Tue 2026-12-01 05:00',
          latest: 'Tue 2026-12-01 05:00',
          zones: ['America/Vancouver'],
        },
        isDaytime: false,
      },
    ])
    expect(suggestion?.reasons).toContainEqual({ about: 'slots', fits: true, free: 1 })
  })

  test('decide the order: a provider with slots in the daytime, one with slots at night, one without', () => {
    const candidates = [
      candidate('p1', { freeSlots: [] }),
      candidate('p2', { freeSlots: [nextSlot] }),
      candidate('p3', { freeSlots: [nextSlot + 180] }),
    ]
    const ranked = rankCandidates(candidates, wish, [vancouver])
    expect(ranked.map(({ provider: { ref } }) => ref)).toEqual(['p3', 'p2', 'p1'])
  })
})

test.each<[string, Modality[]]>([
  ['Video counselling', ['in-video']],
  ['in-video', ['in-video']],
  ['IN PERSON', ['in-person']],
  ['face-to-face', ['in-person']],
  ['telephonic', ['telephonic']],
  ['by Telephone or online', ['telephonic', 'in-video']],
  ['Individual therapy', []],
  ['Couples, persons of faith', []],
  ['Smartphones, and a symphony', []],
  ['', []],
])('operations: the preferred modality %p is recognized as %p', (text, expected) =>
  expect(modalitiesIn(text)).toEqual(expected),
)

describe('operations: the suggestions for an intake', () => {
  let service: Awaited<ReturnType<typeof startService>>
  const quebec = region({ stateProvinceCode: 'QC', stateProvinceNameLocal: 'Québec' })
  const providers = [
    provider('on-1'),
    provider('on-2', { modalities: ['in-person', 'in-video'], inPersonRegions: ['CA-ON'] }),
    provider('qc-1', {
      licenses: [{ region: 'CA-QC', from: '2020-01-01' }],
      languagesSpoken: ['fr-CA'],
      modalities: ['in-person'],
      inPersonRegions: ['CA-QC'],
    }),
    provider('both', {
      licenses: ['CA-ON', 'CA-QC'].map((of) => ({ region: of, from: '2020-01-01' })),
      modalities: ['in-person'],
      inPersonRegions: ['CA-QC'],
    }),
    provider('ended', { licenses: [{ region: 'CA-ON', from: '2020-01-01', until: '2026-11-30' }] }),
    provider('away', { active: false }),
    provider('ie-1', { licenses: [{ region: 'IE', from: '2020-01-01' }] }),
  ]

  beforeEach(async () => {
    const regions = [region(), quebec, countryWide('IE', 'Ireland')]
    service = await startService({ directory: { regions, providers }, listens: false })
  })
  afterEach(() => service.stop())

  async function suggestFor({ context, submit }: typeof service, profile: Partial<MemberUpdate>) {
    const { id } = await submit('m', { member: profile })
    return suggestProviders(context, builtInZones(), id)
  }

  const refs = ({ suggestions }: Awaited<ReturnType<typeof suggestFor>>) =>
    suggestions.map(({ provider: { ref } }) => ref)

  test.each(['ON', 'on', 'CA-ON', ' Ontario ', 'ONTARIO'])(
    'for a member in the state %p, the active providers who are licensed there now are suggested',
    async (state) => {
      const found = await suggestFor(service, { state })
      expect(refs(found)).toEqual(['on-1', 'on-2', 'both'])
      expect(found.suggestions[0]?.reasons).toContainEqual({
        about: 'license',
        fits: true,
        regions: ['CA-ON'],
      })
    },
  )

  test('the name of a region is recognized without its accents', async () => {
    expect(refs(await suggestFor(service, { state: 'quebec' }))).toEqual(['both', 'qc-1'])
  })

  test('in-person sessions count only in the region of the member', async () => {
    const found = await suggestFor(service, { state: 'ON', preferredModality: 'In person' })
    expect(refs(found)).toEqual(['on-2', 'on-1', 'both'])
    expect(found.suggestions[2]?.reasons).toContainEqual({ about: 'modality', fits: false, offered: [] })
  })

  test("a provider who speaks the member's language comes first", async () => {
    const found = await suggestFor(service, { state: 'QC', preferredSpokenLanguage: 'fr' })
    expect(refs(found)).toEqual(['qc-1', 'both'])
  })

  test('the state is ignored in a country with a single country-wide region', async () => {
    expect(refs(await suggestFor(service, { country: 'IE', state: 'Leinster' }))).toEqual(['ie-1'])
  })

  test('all providers licensed in the country are suggested if the region is unknown', async () => {
    const found = await suggestFor(service, { state: 'Atlantis' })
    expect(refs(found)).toEqual(['on-1', 'on-2', 'both', 'qc-1'])
    const [first] = found.suggestions
    expect(first?.reasons).toContainEqual({ about: 'license', fits: null, regions: ['CA-ON'] })
  })

  test("the region is unknown if the member's state matches no region", async () => {
    const regions = [region(), { ...quebec, active: false }, countryWide('IE', 'Ireland')]
    await service.load({ regions, providers })
    const { whereabouts, suggestions } = await suggestFor(service, { state: 'QC' })
    expect(whereabouts).toEqual({ region: null, candidates: [expect.objectContaining({ code: 'ON' })] })
    const licensed = { about: 'license' as const, fits: null, regions: ['CA-ON'] }
    expect(suggestions.map(({ provider: { ref }, reasons }) => [ref, reasons[0]])).toEqual([
      ['on-1', licensed],
      ['on-2', licensed],
      ['both', licensed],
    ])
  })

  test("in-person sessions in any region of the country count if the member's region is unknown", async () => {
    const licenses = ['CA-ON', 'CA-QC', 'IE'].map((of) => ({ region: of, from: '2020-01-01' }))
    const abroad = provider('abroad', { licenses, modalities: ['in-person'], inPersonRegions: ['IE'] })
    const regions = [region(), quebec, countryWide('IE', 'Ireland')]
    await service.load({ regions, providers: [...providers, abroad] })
    const found = await suggestFor(service, { state: 'Atlantis', preferredModality: 'In person' })
    expect(
      found.suggestions.map(({ provider: { ref }, reasons }) => [
        ref,
        reasons.find(({ about }) => about === 'modality')?.fits,
      ]),
    ).toEqual([
      ['on-2', true],
      ['both', true],
      ['on-1', false],
      ['abroad', false],
      ['qc-1', true],
    ])
  })

  test('no provider is suggested in a country without licensed providers', async () => {
    expect(refs(await suggestFor(service, { country: 'FR' }))).toEqual([])
  })

  test('only free slots are suggested', async () => {
    const { context } = service
    const { suggestions } = await suggestFor(service, { state: 'ON' })
    for (const { provider: found, slots } of suggestions) {
      const listing = context.directory.findListing(found.id)
      expect(slots).toHaveLength(3)
      for (const { startsAt } of slots) {
        expect(listing && context.directory.isOffered(listing, startsAt, now)).toBe(true)
      }
    }
  })
})
