import { describe, expect, test } from 'bun:test'
import { Directory } from '../../src/directory/directory'
import type { Listing } from '../../src/directory/listing'
import type { DirectoryChanges } from '../../src/domain/ports/directory-feed'
import type { Provider } from '../../src/domain/provider'
import { availabilityAt } from '../../src/scheduling/availability'
import { builtInZones } from '../../src/zones/packed'
import { ontario, provider, version } from '../domain/values'

const monday = Date.UTC(2026, 11, 7, 14)
const hour = 3_600_000

async function directoryOf(different: Partial<Provider> = {}) {
  let changes: Partial<DirectoryChanges> = {
    keys: [],
    regions: [ontario],
    providers: [{ ...provider, timeOff: [], ...different }],
  }
  const feed = {
    changesSince: async () => ({
      version,
      keys: null,
      regions: null,
      providers: [],
      unreadable: [],
      taken: new Map(),
      ...changes,
    }),
  }
  const directory = await Directory.load({
    feed,
    findZone: builtInZones().find,
    clock: { now: () => monday },
    report: (fault) => {
      throw new Error(fault)
    },
  })
  return {
    directory,
    listing: directory.findListing(provider.id) as Listing,
    change(stored: Partial<DirectoryChanges>) {
      changes = stored
      return directory.catchUp()
    },
  }
}

/** The slots of a listing, computed without the directory's cache. */
const uncached = ({ calendar, licenses }: Listing, now: number) =>
  availabilityAt(
    calendar,
    licenses.map(({ interval }) => interval),
    now,
  ).slots

describe.each(
  Object.entries({
    'in a region': (directory: Directory, listing: Listing, now: number) =>
      directory.availabilityIn(listing, 1, now),
    anywhere: (directory: Directory, listing: Listing, now: number) =>
      directory.availabilityAnywhere(listing, now),
  }),
)('directory: availability %s', (_, ask) => {
  test('availability equals an uncached computation, even if the clock jumps back and forth', async () => {
    const { directory, listing } = await directoryOf()
    for (const jump of [5, -2, 40, -39, 0, 90, -91, 7, 6, 5, 700, -1]) {
      const now = monday + jump * hour
      expect(ask(directory, listing, now).slots).toEqual(uncached(listing, now))
    }
  })
})

test('directory: changed taken slots replace the old slots, even if the number of slots is the same', async () => {
  const { directory, change } = await directoryOf()
  for (const startsAt of [monday, monday + hour]) {
    const slot = { requestId: 1, startsAt, endsAt: startsAt + hour, localOffsetMinutes: -300 }
    await change({ taken: new Map([[provider.id, [slot]]]) })
    const { taken, calendar } = directory.findListing(provider.id) as Listing
    expect(taken).toEqual([slot])
    expect(calendar.taken).toEqual([{ start: startsAt / 60_000, end: startsAt / 60_000 + 60 }])
  }
})

describe('directory: the roster of a region', () => {
  /** Midnight in Toronto. */
  const [fromMidnight, untilMidnight] = [Date.UTC(2026, 11, 10, 5), Date.UTC(2026, 11, 21, 5)]
  const licenses = [
    { regionId: 1, from: '2026-12-10', until: '2026-12-20' },
    { regionId: 2, from: '2020-01-01', until: '2026-12-08' },
  ]

  test('a roster is the same object until the millisecond when a license of the region begins or ends', async () => {
    const { directory } = await directoryOf({ licenses })
    const idsAt = (now: number) => directory.rosterOf(1, now).ids
    const before = directory.rosterOf(1, monday)
    expect(before).toEqual({ ids: [], heldFrom: monday, holdsUntil: fromMidnight })
    expect(directory.rosterOf(1, fromMidnight - 1)).toBe(before)
    const held = directory.rosterOf(1, fromMidnight)
    expect(held).toEqual({ ids: [provider.id], heldFrom: fromMidnight, holdsUntil: untilMidnight })
    expect(directory.rosterOf(1, untilMidnight - 1)).toBe(held)
    expect(directory.rosterOf(1, untilMidnight)).toEqual({
      ids: [],
      heldFrom: untilMidnight,
      holdsUntil: Infinity,
    })
    expect([untilMidnight - 1, fromMidnight, fromMidnight - 1].map(idsAt)).toEqual([
      [provider.id],
      [provider.id],
      [],
    ])
  })

  test('a roster is replaced only if a listed field of a provider changes', async () => {
    const { directory, change } = await directoryOf({
      licenses: [{ regionId: 1, from: '2020-01-01', until: null }],
    })
    const [roster, elsewhere] = [directory.rosterOf(1, monday), directory.rosterOf(2, monday)]
    const slot = { requestId: 1, startsAt: monday, endsAt: monday + hour, localOffsetMinutes: -300 }
    const listing = directory.findListing(provider.id)
    await change({ taken: new Map([[provider.id, [slot]]]) })
    expect(directory.findListing(provider.id)).not.toBe(listing)
    expect(directory.rosterOf(1, monday)).toBe(roster)
    const licenses = [{ regionId: 1, from: '2020-01-01', until: null }]
    await change({
      providers: [{ ...provider, licenses, firstName: 'Other', timeOff: [], workingHours: [] }],
    })
    expect(directory.findListing(provider.id)?.provider.firstName).toBe('Other')
    expect(directory.rosterOf(1, monday)).toBe(roster)
    let stored: Provider = { ...provider, licenses }
    for (const different of [
      { languagesSpoken: ['de'] },
      { modalities: ['telephonic' as const] },
      { inPersonRegionIds: [1, 2] },
      { licenses: [{ regionId: 1, from: '2020-01-02', until: null }] },
    ]) {
      const before = directory.rosterOf(1, monday)
      stored = { ...stored, ...different }
      await change({ providers: [stored] })
      expect(directory.rosterOf(1, monday), Object.keys(different).join()).not.toBe(before)
      expect(directory.rosterOf(1, monday).ids).toEqual([provider.id])
      expect(directory.rosterOf(2, monday)).toBe(elsewhere)
    }
    await change({
      providers: [{ ...provider, licenses: [{ regionId: 2, from: '2020-01-01', until: null }] }],
    })
    expect([1, 2].map((region) => directory.rosterOf(region, monday).ids)).toEqual([[], [provider.id]])
    await change({ providers: [{ ...provider, active: false }] })
    expect([1, 2].map((region) => directory.rosterOf(region, monday).ids)).toEqual([[], []])
  })

  test('a roster is sorted by id, and omits providers whose records cannot be read', async () => {
    const { directory, change } = await directoryOf()
    const withId = (id: number) => ({ ...provider, id, ref: `p-${id}` })
    await change({ providers: [30, 10, 20].map(withId) })
    expect(directory.rosterOf(1, monday).ids).toEqual([provider.id, 10, 20, 30].sort((a, b) => a - b))
    await change({ unreadable: [{ id: 20, ref: 'p-20', active: false }] })
    expect(directory.rosterOf(1, monday).ids).toEqual([provider.id, 10, 30].sort((a, b) => a - b))
  })
})

test('directory: the regions of a country are the same object until a region changes', async () => {
  const { directory, change } = await directoryOf()
  const regions = directory.listRegions('CA')
  await change({ providers: [{ ...provider, firstName: 'Other' }] })
  expect(directory.listRegions('CA')).toBe(regions)
  await change({ regions: [{ ...ontario, active: false }] })
  expect(directory.listRegions('CA')).toEqual([])
})
