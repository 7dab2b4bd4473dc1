import { describe, expect, test } from 'bun:test'
import { Directory, type Listing } from '../../src/directory/directory'
import type { Region } from '../../src/domain/region'
import { availabilityAt } from '../../src/scheduling/availability'
import { builtInZones } from '../../src/zones/packed'
import { provider, version } from '../domain/values'

const monday = Date.UTC(2026, 11, 7, 14)
const hour = 3_600_000

const ontario: Region = {
  id: 1,
  countryCode: 'CA',
  code: 'ON',
  localName: 'Ontario',
  label: 'Province',
  active: true,
}

async function directoryOf(): Promise<{ directory: Directory; listing: Listing }> {
  const feed = {
    changesSince: async () => ({
      version,
      keys: [],
      regions: [ontario],
      providers: [{ ...provider, timeOff: [] }],
      unreadable: [],
      taken: new Map([[provider.id, []]]),
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
  return { directory, listing: directory.findListing(provider.id) as Listing }
}

/** The same without anything that is remembered. */
const worked = ({ calendar, licenses }: Listing, now: number) =>
  availabilityAt(
    calendar,
    licenses.map(({ interval }) => interval),
    now,
  ).slots

describe('an answer that is kept in memory', () => {
  const ways = {
    'in a region': (directory: Directory, listing: Listing, now: number) =>
      directory.availabilityIn(listing, 1, now),
    anywhere: (directory: Directory, listing: Listing, now: number) =>
      directory.availabilityAnywhere(listing, now),
  }

  describe.each(Object.entries(ways))('%s', (_, ask) => {
    test('is the same for as long as it holds, and not worked out again', async () => {
      const { directory, listing } = await directoryOf()
      const first = ask(directory, listing, monday)
      expect(ask(directory, listing, monday)).toBe(first)
      expect(ask(directory, listing, first.holdsUntil - 1)).toBe(first)
      expect(ask(directory, listing, first.holdsUntil)).not.toBe(first)
      expect(worked(listing, first.holdsUntil)).not.toEqual(first.slots)
    })

    test('is not used before it held: a clock that is set back is given the slots of its own moment', async () => {
      const { directory, listing } = await directoryOf()
      const later = ask(directory, listing, monday + 3 * hour)
      const earlier = ask(directory, listing, monday)
      expect(earlier.slots).toEqual(worked(listing, monday))
      expect(earlier.slots.length).toBeGreaterThan(later.slots.length)
      expect(ask(directory, listing, monday + 3 * hour).slots).toEqual(later.slots)
      // By a millisecond too, where that is another answer.
      expect(ask(directory, listing, later.heldFrom - 1)).not.toBe(later)
    })

    test('is that of the moment, whatever way the clock jumps', async () => {
      const { directory, listing } = await directoryOf()
      for (const jump of [5, -2, 40, -39, 0, 90, -91, 7, 6, 5, 700, -1]) {
        const now = monday + jump * hour
        expect(ask(directory, listing, now).slots).toEqual(worked(listing, now))
      }
    })
  })
})
