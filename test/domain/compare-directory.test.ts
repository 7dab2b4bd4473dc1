import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import {
  type ChangeLimit,
  compareDirectory,
  type DirectoryEntries,
  type DirectoryFacts,
  type DirectoryLoad,
  decideLoad,
  type ProviderEntry,
  type RegionEntry,
  requireFewChanges,
} from '../../src/domain/decisions/compare-directory'
import { Refusal } from '../../src/domain/errors'
import type { Change, Write } from '../../src/domain/ports/writes'
import type { Provider } from '../../src/domain/provider'
import type { Region } from '../../src/domain/region'
import { done, endOf, ontario, provider, version } from './values'

const quebec: Region = { ...ontario, id: 2, code: 'QC', localName: 'Québec' }
const ireland: Region = { ...ontario, id: 3, countryCode: 'IE', code: 'IE', localName: 'Ireland' }

const { id: _, licenses: __, inPersonRegionIds: ___, ...told } = provider

function entry(different: Partial<ProviderEntry> = {}): ProviderEntry {
  return {
    ...told,
    licenses: [{ region: 'CA-ON', from: '2020-01-01', until: null }],
    inPersonRegions: ['CA-ON'],
    ...different,
  }
}

const unnumbered = (region: Region): RegionEntry => ({ ...region, id: null })

const facts: DirectoryFacts = { version, regions: [ontario, quebec], providers: [provider], unreadable: [] }
const entries: DirectoryEntries = { regions: [ontario, quebec].map(unnumbered), providers: [entry()] }
const empty: DirectoryFacts = { version, regions: [], providers: [], unreadable: [] }

const nothing = { added: [], changed: [], deactivated: [] }

describe('a directory like its description', () => {
  test('has nothing to be written', () => {
    expect(compareDirectory(entries, facts)).toEqual({
      version,
      load: { ...nothing, unchanged: 3 },
      changes: [],
      regionRefs: new Map([
        [1, 'CA-ON'],
        [2, 'CA-QC'],
      ]),
      writes: [],
    })
    expect(compareDirectory({ regions: [], providers: [] }, empty).load).toEqual({ ...nothing, unchanged: 0 })
  })

  test('is so in whatever order it is described, regions with their ids too', () => {
    const described = { regions: [quebec, unnumbered(ontario)], providers: [entry()] }
    expect(compareDirectory(described, facts).writes).toEqual([])
    const both = { ...provider, inPersonRegionIds: [1, 2] }
    const inBoth = { ...entries, providers: [entry({ inPersonRegions: ['CA-QC', 'CA-ON'] })] }
    expect(compareDirectory(inBoth, { ...facts, providers: [both] }).writes).toEqual([])
  })
})

describe('what is to be written', () => {
  test('of a new directory: all of it, regions before the providers who refer to them', () => {
    const { writes, load } = compareDirectory(
      { ...entries, regions: [quebec, ontario].map(unnumbered) },
      empty,
    )
    const { id, ...row } = { ...provider, licenses: [{ regionId: 2, from: '2020-01-01', until: null }] }
    const all: unknown = writes
    expect(all).toEqual([
      { add: 'region', row: { ...quebec, id: 1 } },
      { add: 'region', row: { ...ontario, id: 2 } },
      { add: 'provider', row: { ...row, inPersonRegionIds: [2] } },
    ])
    expect(load).toEqual({ ...nothing, added: ['CA-QC', 'CA-ON', 'first'], unchanged: 0 })
    expect(id).toBe(5)
  })

  test('of a change: the record, under its id', () => {
    const described = {
      regions: [{ ...unnumbered(ontario), localName: 'The Ontario' }, unnumbered(quebec)],
      providers: [entry({ bio: 'New' })],
    }
    const { id, ...row } = provider
    const { writes, load }: { writes: unknown; load: unknown } = compareDirectory(described, facts)
    expect(writes).toEqual([
      { set: 'region', id: 1, to: { ...ontario, localName: 'The Ontario' } },
      { set: 'provider', id, to: { ...row, bio: 'New' } },
    ])
    expect(load).toEqual({ ...nothing, changed: ['CA-ON', 'first'], unchanged: 1 })
  })

  const changes: [keyof ProviderEntry, Partial<ProviderEntry>][] = [
    ['licenses', { licenses: [] }],
    ['licenses', { licenses: [{ region: 'CA-QC', from: '2020-01-01', until: null }] }],
    ['licenses', { licenses: [{ region: 'CA-ON', from: '2020-01-02', until: null }] }],
    ['licenses', { licenses: [{ region: 'CA-ON', from: '2020-01-01', until: '2027-01-01' }] }],
    ['inPersonRegions', { inPersonRegions: [] }],
    ['inPersonRegions', { inPersonRegions: ['CA-QC'] }],
    ['timeOff', { timeOff: [] }],
    ['workingHours', { workingHours: [{ weekdays: ['monday'], start: '09:00', end: '17:15' }] }],
    ['minimumNoticeMinutes', { minimumNoticeMinutes: 31 }],
  ]
  test.each(changes)('is told of a provider whose %s are others: %j', (_, different) => {
    const described = { ...entries, providers: [entry(different)] }
    expect(compareDirectory(described, facts)).toMatchObject({
      load: { changed: ['first'] },
      writes: [{ set: 'provider', id: 5 }],
    })
  })

  test('of what the description leaves out: that it is deactivated, once', () => {
    const { writes, load }: { writes: unknown; load: unknown } = compareDirectory(
      { regions: [unnumbered(ontario)], providers: [] },
      facts,
    )
    expect(writes).toEqual([
      { set: 'region', id: 2, to: { ...quebec, active: false } },
      { set: 'provider', id: 5, to: { active: false } },
    ])
    expect(load).toEqual({ ...nothing, deactivated: ['CA-QC', 'first'], unchanged: 1 })

    const gone = {
      ...facts,
      regions: [ontario, { ...quebec, active: false }],
      providers: [{ ...provider, active: false }],
    }
    expect(compareDirectory({ regions: [unnumbered(ontario)], providers: [] }, gone)).toMatchObject({
      load: { ...nothing, unchanged: 3 },
      writes: [],
    })
  })

  test('says deactivated of what was active and will not be, and changed of the way back', () => {
    const off = {
      regions: [{ ...unnumbered(ontario), active: false }, unnumbered(quebec)],
      providers: [entry({ active: false })],
    }
    expect(compareDirectory(off, facts).load).toEqual({
      ...nothing,
      deactivated: ['CA-ON', 'first'],
      unchanged: 1,
    })
    const gone = {
      ...facts,
      regions: [{ ...ontario, active: false }, quebec],
      providers: [{ ...provider, active: false }],
    }
    expect(compareDirectory(entries, gone).load).toEqual({
      ...nothing,
      changed: ['CA-ON', 'first'],
      unchanged: 1,
    })
    const still = { ...off, providers: [entry({ active: false, bio: 'New' })] }
    expect(compareDirectory(still, gone).load).toEqual({ ...nothing, changed: ['first'], unchanged: 2 })
  })
})

describe('a provider who cannot be read', () => {
  const broken = { ...facts, providers: [], unreadable: [{ id: 5, ref: 'first', active: true }] }

  test('is mended under their id by a description', () => {
    const { id, ...row } = provider
    const { writes, load }: { writes: unknown; load: unknown } = compareDirectory(entries, broken)
    expect(writes).toEqual([{ set: 'provider', id, to: row }])
    expect(load).toEqual({ ...nothing, changed: ['first'], unchanged: 2 })
  })

  test('stays as they are where they are left out: nobody could have described them', () => {
    const { writes, load }: { writes: unknown; load: unknown } = compareDirectory(
      { ...entries, providers: [] },
      broken,
    )
    expect(writes).toEqual([])
    expect(load).toEqual({ ...nothing, unchanged: 3 })
  })
})

describe('ids of regions', () => {
  const added = (regions: readonly RegionEntry[], found = empty) =>
    compareDirectory({ regions, providers: [] }, found).writes.flatMap((write) =>
      'add' in write && write.add === 'region' ? [[write.row.code, write.row.id]] : [],
    )

  test('are taken where they are given, and others are given none of them', () => {
    expect(added([unnumbered(ontario), { ...quebec, id: 1 }, unnumbered(ireland)])).toEqual([
      ['ON', 2],
      ['QC', 1],
      ['IE', 3],
    ])
    expect(added([{ ...ireland, id: 900 }])).toEqual([['IE', 900]])
  })

  test('are the lowest that nobody has', () => {
    const found = { ...empty, regions: [ontario, { ...quebec, id: 3 }] }
    expect(added([unnumbered(ireland)], found)).toEqual([['IE', 2]])
  })

  const refused: [what: string, RegionEntry[], message: string][] = [
    [
      'another for a known region',
      [{ ...ontario, id: 9 }],
      'regions[0].id: the region already has a different id',
    ],
    [
      'that of another region',
      [unnumbered(ontario), { ...ireland, id: 2 }],
      'regions[1].id: another region already has this id',
    ],
    [
      'that of another for a known region',
      [{ ...ontario, id: 2 }],
      'regions[0].id: the region already has a different id',
    ],
  ]
  test.each(refused)('%s is refused', (_, regions, message) => {
    let refusal: unknown
    try {
      compareDirectory({ regions, providers: [] }, facts)
    } catch (error) {
      refusal = error
    }
    expect(refusal).toBeInstanceOf(Refusal)
    expect(refusal).toMatchObject({ kind: 'directory_invalid', message })
  })
})

describe('loading what was compared', () => {
  const comparison = compareDirectory({ ...entries, providers: [] }, facts)

  test('writes it, with one line in the audit log', () => {
    expect(done(decideLoad(comparison, []))).toEqual({
      writes: comparison.writes,
      taken: [],
      audit: { action: 'directory.load', noun: null, id: null },
      answer: expect.any(Function),
    })
  })

  const rows: [what: string, since: Change[] | null, end: string][] = [
    ['a provider has changed, whoever it is', [{ noun: 'provider', recordId: 99 }], 'directory_changed'],
    ['a region has', [{ noun: 'region', recordId: 99 }], 'directory_changed'],
    ['nobody can tell', null, 'directory_changed'],
    [
      'the one that has is not the first',
      [
        { noun: 'taken', recordId: 5 },
        { noun: 'provider', recordId: 5 },
      ],
      'directory_changed',
    ],
    [
      'only slots and partners have',
      [
        { noun: 'taken', recordId: 5 },
        { noun: 'partner', recordId: 5 },
      ],
      'done',
    ],
  ]
  test.each(rows)('where %s', (_, since, end) => expect(endOf(decideLoad(comparison, since))).toBe(end))

  test('tells whoever is refused what to do', () => {
    expect(decideLoad(comparison, null)).toEqual(
      new Refusal(
        'directory_changed',
        'the directory has changed in the meantime, so nothing was loaded; run the command again',
      ),
    )
  })
})

describe('a load that changes more than it may', () => {
  const load = (count: number, unchanged: number) => ({
    added: Array<string>(count - 1).fill('new'),
    changed: [],
    deactivated: ['old'],
    unchanged,
  })
  const rows: [limit: ChangeLimit, load: DirectoryLoad, refused: string | null][] = [
    [{ most: 3, isPercent: false }, load(3, 10), null],
    [
      { most: 3, isPercent: false },
      load(4, 10),
      'the files change 4 regions and providers; the limit is 3; nothing was changed',
    ],
    [{ most: 0, isPercent: false }, { ...nothing, unchanged: 10 }, null],
    // Of those there are: 1 that is deactivated, and 39 that stay as they are.
    [{ most: 10, isPercent: true }, load(4, 39), null],
    [
      { most: 10, isPercent: true },
      load(5, 39),
      'the files change 5 regions and providers; the limit is 4 (10% of 40); nothing was changed',
    ],
    [
      { most: 10, isPercent: true },
      load(4, 38),
      'the files change 4 regions and providers; the limit is 3 (10% of 39); nothing was changed',
    ],
    [{ most: 10, isPercent: true }, { ...nothing, added: ['new'], unchanged: 0 }, null],
    [
      { most: 0, isPercent: false },
      { ...nothing, added: ['new'], unchanged: 0 },
      'the files change 1 regions and providers; the limit is 0; nothing was changed',
    ],
  ]
  test.each(rows)('by %j, of %j', (limit, of, message) => {
    const expected = message === null ? null : new Refusal('too_many_changes', message)
    expect(refusalOf(() => requireFewChanges(of, limit))).toEqual(expected)
  })
})

function refusalOf(work: () => void): unknown {
  try {
    work()
    return null
  } catch (error) {
    return error
  }
}

/** The directory that writes leave behind. */
function afterwards(before: DirectoryFacts, writes: readonly Write[]): DirectoryFacts {
  const regions = new Map(before.regions.map((region) => [region.id, region]))
  const providers = new Map(before.providers.map((known) => [known.id, known]))
  const mended = new Set<number>()
  for (const write of writes) {
    if ('remove' in write) throw new Error('a load removes nothing')
    if ('add' in write) {
      const id = providers.size + before.unreadable.length + 100
      if (write.add === 'region') {
        if (regions.has(write.row.id)) throw new Error('two regions have one id')
        regions.set(write.row.id, write.row)
      } else if (write.add === 'provider') providers.set(id, { ...write.row, id })
    } else if (write.set === 'region') {
      regions.set(write.id, { ...(regions.get(write.id) as Region), ...write.to })
    } else if (write.set === 'provider') {
      const known = providers.get(write.id)
      if (known || write.to.ref) {
        providers.set(write.id, { ...(known as Provider), ...write.to, id: write.id })
        mended.add(write.id)
      }
    }
  }
  const byId = (a: { id: number }, b: { id: number }) => a.id - b.id
  return {
    version,
    regions: [...regions.values()].sort(byId),
    providers: [...providers.values()].sort(byId),
    unreadable: before.unreadable.filter(({ id }) => !mended.has(id)),
  }
}

describe('whatever is described and whatever is there', () => {
  const regions = fc.uniqueArray(
    fc
      .tuple(
        fc.constantFrom(ontario, quebec, ireland),
        fc.option(fc.integer({ min: 11, max: 13 })),
        fc.boolean(),
      )
      .map(([region, id, active]): RegionEntry => ({ ...region, id, active })),
    { minLength: 1, selector: ({ code }) => code },
  )
  const described = regions
    .filter((all) => new Set(all.map(({ id }) => id ?? Symbol())).size === all.length)
    .chain((all) => {
      const refs = all.map((region) => (region.code === 'IE' ? 'IE' : `CA-${region.code}`))
      const one = fc.record({
        ref: fc.constantFrom('first', 'second', 'third'),
        active: fc.boolean(),
        bio: fc.option(fc.constantFrom('one', 'two')),
        licenses: fc.array(
          fc.constantFrom(...refs).map((region) => ({ region, from: '2020-01-01', until: null })),
          { maxLength: 2 },
        ),
        inPersonRegions: fc.shuffledSubarray(refs),
      })
      const providers = fc.uniqueArray(one.map(entry), { selector: ({ ref }) => ref })
      return fc.record({ regions: fc.constant(all), providers })
    })
  // What was there is what an earlier description left, some of it unreadable since.
  const there = fc.tuple(described, fc.boolean()).map(([earlier, isBroken]) => {
    const found = afterwards(empty, compareDirectory(earlier, empty).writes)
    const [first, ...others] = found.providers
    if (!isBroken || !first) return found
    return { ...found, providers: others, unreadable: [{ id: first.id, ref: first.ref, active: true }] }
  })
  const withoutIds = ({ regions, providers }: DirectoryEntries, { regions: found }: DirectoryFacts) => ({
    providers,
    // An id that is another's already is refused, which is tested above.
    regions: regions.map((region) => ({
      ...region,
      id: found.some(({ id, code }) => code === region.code || id === region.id) ? null : region.id,
    })),
  })

  test('once it is loaded, comparing again finds nothing', () => {
    fc.assert(
      fc.property(described, there, (anything, found) => {
        const wanted = withoutIds(anything, found)
        const comparison = compareDirectory(wanted, found)
        const after = afterwards(found, comparison.writes)
        const again = compareDirectory(wanted, { ...after, unreadable: [] })
        expect(again.writes).toEqual([])
        expect(again.load).toEqual({ ...nothing, unchanged: after.regions.length + after.providers.length })
      }),
      { numRuns: 500 },
    )
  })

  test('everything is told once, and nothing that was there is gone', () => {
    fc.assert(
      fc.property(described, there, (anything, found) => {
        const { load, writes } = compareDirectory(withoutIds(anything, found), found)
        const after = afterwards(found, writes)
        const told = [...load.added, ...load.changed, ...load.deactivated]
        expect(new Set(told).size).toBe(told.length)
        expect(told.length).toBe(writes.length)
        const count = ({ regions, providers, unreadable }: DirectoryFacts) =>
          regions.length + providers.length + unreadable.length
        expect(told.length + load.unchanged).toBe(count(after))
        expect(count(after)).toBe(count(found) + load.added.length)
      }),
      { numRuns: 300 },
    )
  })

  test('what is not described is not active afterwards', () => {
    fc.assert(
      fc.property(described, there, (anything, found) => {
        const wanted = withoutIds(anything, found)
        const after = afterwards(found, compareDirectory(wanted, found).writes)
        const activeRefs = wanted.providers.filter(({ active }) => active).map(({ ref }) => ref)
        const activeCodes = wanted.regions.filter(({ active }) => active).map(({ code }) => code)
        expect(after.providers.flatMap(({ ref, active }) => (active ? [ref] : [])).sort()).toEqual(
          activeRefs.sort(),
        )
        expect(after.regions.flatMap(({ code, active }) => (active ? [code] : [])).sort()).toEqual(
          activeCodes.sort(),
        )
      }),
      { numRuns: 300 },
    )
  })
})
