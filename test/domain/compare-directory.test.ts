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

const { id: _, licenses: __, inPersonRegionIds: ___, ...details } = provider

function entry(different: Partial<ProviderEntry> = {}): ProviderEntry {
  return {
    ...details,
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

describe('domain: comparing a directory with equal files', () => {
  test('finds no changes', () => {
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

  test('ignores the order of entries and accepts regions with their ids', () => {
    const described = { regions: [quebec, unnumbered(ontario)], providers: [entry()] }
    expect(compareDirectory(described, facts).writes).toEqual([])
    const both = { ...provider, inPersonRegionIds: [1, 2] }
    const inBoth = { ...entries, providers: [entry({ inPersonRegions: ['CA-QC', 'CA-ON'] })] }
    expect(compareDirectory(inBoth, { ...facts, providers: [both] }).writes).toEqual([])
  })
})

describe('domain: comparing a directory', () => {
  test('writes the regions of a new directory before the providers', () => {
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

  test('writes a changed record and keeps its id', () => {
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
  test.each(changes)('writes a provider whose %s changed to %j', (_, different) => {
    const described = { ...entries, providers: [entry(different)] }
    expect(compareDirectory(described, facts)).toMatchObject({
      load: { changed: ['first'] },
      writes: [{ set: 'provider', id: 5 }],
    })
  })

  test('deactivates an omitted record once', () => {
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

  test('reports a deactivated record as deactivated and a reactivated record as changed', () => {
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

describe('domain: a provider that cannot be read', () => {
  const broken = { ...facts, providers: [], unreadable: [{ id: 5, ref: 'first', active: true }] }

  test('is overwritten by its entry in the files and keeps its id', () => {
    const { id, ...row } = provider
    const { writes, load }: { writes: unknown; load: unknown } = compareDirectory(entries, broken)
    expect(writes).toEqual([{ set: 'provider', id, to: row }])
    expect(load).toEqual({ ...nothing, changed: ['first'], unchanged: 2 })
  })

  test('is left unchanged if the files omit the provider', () => {
    const { writes, load }: { writes: unknown; load: unknown } = compareDirectory(
      { ...entries, providers: [] },
      broken,
    )
    expect(writes).toEqual([])
    expect(load).toEqual({ ...nothing, unchanged: 3 })
  })
})

describe('domain: ids of regions', () => {
  const added = (regions: readonly RegionEntry[], found = empty) =>
    compareDirectory({ regions, providers: [] }, found).writes.flatMap((write) =>
      'add' in write && write.add === 'region' ? [[write.row.code, write.row.id]] : [],
    )

  test('are used as given, and are not assigned to other regions', () => {
    expect(added([unnumbered(ontario), { ...quebec, id: 1 }, unnumbered(ireland)])).toEqual([
      ['ON', 2],
      ['QC', 1],
      ['IE', 3],
    ])
    expect(added([{ ...ireland, id: 900 }])).toEqual([['IE', 900]])
  })

  test('are the lowest free numbers by default', () => {
    const found = { ...empty, regions: [ontario, { ...quebec, id: 3 }] }
    expect(added([unnumbered(ireland)], found)).toEqual([['IE', 2]])
  })

  const refused: [name: string, RegionEntry[], message: string][] = [
    [
      'a second id for a known region',
      [{ ...ontario, id: 9 }],
      'regions[0].id: the region already has a different id',
    ],
    [
      'the id of another region for a new one',
      [unnumbered(ontario), { ...ireland, id: 2 }],
      'regions[1].id: another region already has this id',
    ],
    [
      'the id of another region for a known one',
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

describe('domain: loading a compared directory', () => {
  const comparison = compareDirectory({ ...entries, providers: [] }, facts)

  test('writes the changes with one line in the audit log', () => {
    expect(done(decideLoad(comparison, []))).toEqual({
      writes: comparison.writes,
      taken: [],
      audit: { action: 'directory.load', noun: null, id: null },
      answer: expect.any(Function),
    })
  })

  const rows: [name: string, since: Change[] | null, end: string][] = [
    ['is refused if any provider has changed', [{ noun: 'provider', recordId: 99 }], 'directory_changed'],
    ['is refused if a region has changed', [{ noun: 'region', recordId: 99 }], 'directory_changed'],
    ['is refused if the changes are no longer known', null, 'directory_changed'],
    [
      'is refused if the last of several changes is of a provider',
      [
        { noun: 'taken', recordId: 5 },
        { noun: 'provider', recordId: 5 },
      ],
      'directory_changed',
    ],
    [
      'is written if only slots and partners have changed',
      [
        { noun: 'taken', recordId: 5 },
        { noun: 'partner', recordId: 5 },
      ],
      'done',
    ],
  ]
  test.each(rows)('%s', (_, since, end) => expect(endOf(decideLoad(comparison, since))).toBe(end))

  test('is refused with the advice to run the command again', () => {
    expect(decideLoad(comparison, null)).toEqual(
      new Refusal('directory_changed', 'the directory has changed in the meantime, so nothing was loaded', {
        action: 'run the command again',
      }),
    )
  })
})

describe('domain: the limit of changes of a load', () => {
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
      'the files change 4 regions and providers, more than the limit of 3, so nothing was changed',
    ],
    [{ most: 0, isPercent: false }, { ...nothing, unchanged: 10 }, null],
    // 40 records exist: 1 is deactivated and 39 are unchanged. The limit is 10% of 40.
    [{ most: 10, isPercent: true }, load(4, 39), null],
    [
      { most: 10, isPercent: true },
      load(5, 39),
      'the files change 5 regions and providers, more than the limit of 4 (10% of 40), so nothing was changed',
    ],
    [
      { most: 10, isPercent: true },
      load(4, 38),
      'the files change 4 regions and providers, more than the limit of 3 (10% of 39), so nothing was changed',
    ],
    [{ most: 10, isPercent: true }, { ...nothing, added: ['new'], unchanged: 0 }, null],
    [
      { most: 0, isPercent: false },
      { ...nothing, added: ['new'], unchanged: 0 },
      'the files change 1 regions and providers, more than the limit of 0, so nothing was changed',
    ],
  ]
  test.each(rows)('for the limit %j and the load %j the refusal is %j', (limit, of, message) => {
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

function afterwards(before: DirectoryFacts, writes: readonly Write[]): DirectoryFacts {
  const regions = new Map(before.regions.map((region) => [region.id, region]))
  const providers = new Map(before.providers.map((known) => [known.id, known]))
  const repaired = new Set<number>()
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
        repaired.add(write.id)
      }
    }
  }
  const byId = (a: { id: number }, b: { id: number }) => a.id - b.id
  return {
    version,
    regions: [...regions.values()].sort(byId),
    providers: [...providers.values()].sort(byId),
    unreadable: before.unreadable.filter(({ id }) => !repaired.has(id)),
  }
}

describe('domain: loading any files into any directory', () => {
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
  const there = fc.tuple(described, fc.boolean()).map(([earlier, isBroken]) => {
    const found = afterwards(empty, compareDirectory(earlier, empty).writes)
    const [first, ...others] = found.providers
    if (!isBroken || !first) return found
    return { ...found, providers: others, unreadable: [{ id: first.id, ref: first.ref, active: true }] }
  })
  const withoutIds = ({ regions, providers }: DirectoryEntries, { regions: found }: DirectoryFacts) => ({
    providers,
    regions: regions.map((region) => ({
      ...region,
      id: found.some(({ id, code }) => code === region.code || id === region.id) ? null : region.id,
    })),
  })

  test('makes a second comparison find no changes', () => {
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

  test('reports each change once and removes no record', () => {
    fc.assert(
      fc.property(described, there, (anything, found) => {
        const { load, writes } = compareDirectory(withoutIds(anything, found), found)
        const after = afterwards(found, writes)
        const reported = [...load.added, ...load.changed, ...load.deactivated]
        expect(new Set(reported).size).toBe(reported.length)
        expect(reported.length).toBe(writes.length)
        const count = ({ regions, providers, unreadable }: DirectoryFacts) =>
          regions.length + providers.length + unreadable.length
        expect(reported.length + load.unchanged).toBe(count(after))
        expect(count(after)).toBe(count(found) + load.added.length)
      }),
      { numRuns: 300 },
    )
  })

  test('leaves only the records active that are active in the files', () => {
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
