import { describe, expect, test } from 'bun:test'
import { Directory } from '../../src/directory/directory'
import type {
  DirectoryChanges,
  DirectoryFeed,
  TakenSlot,
  Version,
} from '../../src/domain/ports/directory-feed'
import type { Provider } from '../../src/domain/provider'
import { builtInZones } from '../../src/zones/packed'
import { provider } from '../domain/values'

const now = Date.UTC(2026, 11, 7, 14)
const hour = 3_600_000
const day = 24 * hour
const many = 2_000

function follow() {
  const reports: string[] = []
  const clock = { at: now, now: () => clock.at }
  const feed = {
    at: 0,
    next: null as Partial<DirectoryChanges> | null,
    readings: 0,
    changesSince: async () => {
      feed.readings++
      const { next } = feed
      feed.next = null
      const nothing = { keys: null, regions: null, providers: [], unreadable: [], taken: new Map() }
      return next && { version: { at: feed.at } as unknown as Version, ...nothing, ...next }
    },
    commit(changes: Partial<DirectoryChanges>) {
      feed.at++
      feed.next = changes
    },
  }
  const stamped = { ...feed, stamp: () => feed.at, changesSince: feed.changesSince }
  const load = (source: DirectoryFeed = stamped) =>
    Directory.load({
      feed: source,
      findZone: builtInZones().find,
      clock,
      report: (fault) => void reports.push(fault),
    })
  return { feed, stamped, clock, reports, load }
}

const named = (firstName: string, different: Partial<Provider> = {}): Provider[] =>
  Array.from({ length: many }, (_, index) => ({
    ...provider,
    id: index + 1,
    ref: `p-${index + 1}`,
    firstName,
    ...different,
  }))

const slot = (requestId: number, startsAt: number): TakenSlot => ({
  requestId,
  startsAt,
  endsAt: startsAt + 0.75 * hour,
  localOffsetMinutes: -300,
})

/** Calls `look` in each turn of the event loop until a promise settles. Returns the results. */
async function seenUntil<Seen>(ended: Promise<unknown>, look: () => Seen): Promise<Seen[]> {
  const seen: Seen[] = []
  let isDone = false
  const end = ended.finally(() => {
    isDone = true
  })
  while (!isDone) {
    await new Promise((resolve) => setImmediate(resolve))
    seen.push(look())
  }
  await end
  return seen
}

describe('directory: applying a change', () => {
  test('a change of 2,000 providers does not block the event loop, and becomes visible for all providers at once', async () => {
    const { feed, load } = follow()
    feed.commit({ providers: named('Old'), taken: new Map([[1, [slot(1, now)]]]) })
    const directory = await load()
    const taken = new Map(named('New').map(({ id }) => [id, [slot(id, now + hour)]]))
    feed.commit({ providers: named('New'), taken })
    const seen = await seenUntil(directory.catchUp() ?? Promise.resolve(), () => {
      const listings = directory.listListings()
      const names = new Set(listings.map((listing) => listing.provider.firstName))
      return `${[...names]} ${listings.filter((listing) => listing.taken.length > 0).length}`
    })
    const turns = seen.filter((one) => one === 'Old 1').length
    expect(turns).toBeGreaterThanOrEqual(4)
    expect(new Set(seen)).toEqual(new Set(['Old 1', `New ${many}`]))
  })

  test('a caller that catches up while a change is applied waits for the change', async () => {
    const { feed, load } = follow()
    feed.commit({ providers: named('Old') })
    const directory = await load()
    feed.commit({ providers: named('New') })
    const first = directory.catchUp()
    await new Promise((resolve) => setImmediate(resolve))
    expect(directory.findListing(many)?.provider.firstName).toBe('Old')
    await directory.catchUp()
    expect(directory.findListing(many)?.provider.firstName).toBe('New')
    await first
  })

  test('each booked slot is listed once and in order of time, even if the feed returns a request again', async () => {
    const { feed, load } = follow()
    feed.commit({
      providers: named('Old').slice(0, 2),
      taken: new Map([[1, [slot(1, now), slot(3, now + 2 * hour)]]]),
    })
    const directory = await load()
    const shown = () => [1, 2].map((id) => directory.findListing(id)?.taken.map(({ requestId }) => requestId))
    const calendars = () => [1, 2].map((id) => directory.findListing(id)?.calendar.taken.length)
    feed.commit({
      booked: new Map([
        [1, [slot(2, now + hour)]],
        [2, [slot(5, now + hour), slot(4, now)]],
      ]),
    })
    await directory.catchUp()
    expect([shown(), calendars()]).toEqual([
      [
        [1, 2, 3],
        [4, 5],
      ],
      [3, 2],
    ])
    feed.commit({ booked: new Map([[1, [slot(2, now + 3 * hour), slot(6, now - hour)]]]) })
    await directory.catchUp()
    expect([shown(), calendars()]).toEqual([
      [
        [6, 1, 3, 2],
        [4, 5],
      ],
      [4, 2],
    ])
  })

  test('a provider that a change does not contain stays unchanged', async () => {
    const { feed, load } = follow()
    feed.commit({ providers: named('Old'), taken: new Map([[many, [slot(1, now)]]]) })
    const directory = await load()
    const before = directory.findListing(many)
    feed.commit({ providers: named('New').slice(0, -1) })
    await directory.catchUp()
    expect(directory.findListing(many)).toBe(before)
    expect(directory.listListings().filter(({ provider }) => provider.firstName === 'New')).toHaveLength(
      many - 1,
    )
  })

  test('a provider whose record cannot be read is unlisted, and reported once', async () => {
    const { feed, reports, load } = follow()
    const [nowhere, undated, ...others] = named('Sound') as [Provider, Provider, ...Provider[]]
    const lost = { id: many + 1, ref: 'lost', active: true }
    const faulty = {
      providers: [
        { ...nowhere, timeZone: 'Nowhere/Land' },
        { ...undated, licenses: [{ regionId: 1, from: '2026-02-31', until: null }] },
        ...others,
      ],
      unreadable: [lost],
    }
    feed.commit(faulty)
    const directory = await load()
    feed.commit(faulty)
    await directory.catchUp()
    const zoneFault = 'the zone data has no time zone Nowhere/Land'
    const recordFault = 'the record cannot be read'
    expect(directory.listUnlisted()).toEqual([
      { id: 1, ref: 'p-1', active: true, fault: zoneFault },
      { id: 2, ref: 'p-2', active: true, fault: recordFault },
      { ...lost, fault: recordFault },
    ])
    expect(reports).toEqual([
      `provider p-1 is left out of searches: ${zoneFault}`,
      `provider p-2 is left out of searches: ${recordFault}`,
      `provider lost is left out of searches: ${recordFault}`,
    ])
    expect(directory.listListings()).toHaveLength(many - 2)
  })
})

describe('directory: providers with identical list objects', () => {
  test('providers share a compiled schedule and licenses, unless a list or the zone differs', async () => {
    const { feed, load } = follow()
    const west = { timeZone: 'America/Vancouver' }
    const absent = { timeOff: [{ from: '2027-02-01', until: '2027-02-02' }] }
    const providers = [{}, {}, west, absent, {}].map((different, index) => ({
      ...provider,
      id: index + 1,
      ...different,
    }))
    feed.commit({ providers })
    const directory = await load()
    const [a, b, c, d, e] = directory.listListings()
    expect(b?.calendar.schedule).toBe(a?.calendar.schedule as never)
    expect(b?.licenses).toBe(a?.licenses as never)
    expect(c?.calendar.schedule.zone).not.toBe(a?.calendar.schedule.zone as never)
    expect(c?.licenses).not.toEqual(a?.licenses as never)
    expect(d?.calendar.schedule.timeOff).not.toEqual(a?.calendar.schedule.timeOff as never)
    expect(e?.calendar.schedule).toEqual(a?.calendar.schedule as never)
    expect(e?.licenses).toEqual(a?.licenses as never)
  })
})

describe('directory: taken slots of the past', () => {
  test('each reading of changes removes a few slots that ended a week ago', async () => {
    const { feed, clock, load } = follow()
    const coming = slot(2, now + 10 * day)
    const providers = named('Booked').slice(0, 100)
    const taken = new Map(providers.map(({ id }) => [id, [slot(1, now), ...(id % 2 ? [coming] : [])]]))
    feed.commit({ providers, taken })
    const directory = await load()
    const held = () => providers.map(({ id }) => directory.findListing(id)?.taken.length)
    const pastHeld = () =>
      providers.filter(({ id }) => directory.findListing(id)?.taken.some(({ startsAt }) => startsAt === now))
    const read = async () => {
      feed.commit({ keys: [] })
      await directory.catchUp()
    }
    clock.at = now + 7 * day + 0.75 * hour - 1
    for (let reading = 0; reading < 20; reading++) await read()
    expect(pastHeld()).toHaveLength(100)
    clock.at += 1
    const left = [100]
    while ((left.at(-1) ?? 0) > 0 && left.length < 20) {
      await read()
      left.push(pastHeld().length)
    }
    expect(Math.max(...left.slice(1).map((count, index) => (left[index] ?? 0) - count))).toBeLessThan(20)
    expect(left.at(-1)).toBe(0)
    expect(held()).toEqual(providers.map(({ id }) => id % 2))
    const [first] = directory.listListings()
    expect([first?.taken, first?.calendar.taken]).toEqual([
      [coming],
      [{ start: coming.startsAt / 60_000, end: coming.endsAt / 60_000 }],
    ])
  })
})

describe('directory: catching up', () => {
  test('catchUp reads nothing and returns no promise if the stamp has not changed', async () => {
    const { feed, load } = follow()
    feed.commit({ providers: named('Old') })
    const directory = await load()
    expect([directory.catchUp(), directory.catchUp()]).toEqual([undefined, undefined])
    expect(feed.readings).toBe(1)
    feed.commit({ providers: named('New').slice(0, 1) })
    await directory.catchUp()
    expect(directory.findListing(1)?.provider.firstName).toBe('New')
    expect(feed.readings).toBe(2)
  })

  test('catchUp reads each time if the feed has no stamp', async () => {
    for (const stamp of [undefined, () => null]) {
      const { feed, load } = follow()
      const directory = await load({ changesSince: feed.changesSince, ...(stamp && { stamp }) })
      await directory.catchUp()
      await directory.catchUp()
      expect(feed.readings).toBe(3)
    }
  })

  test('catchUp reads again if a commit happened during the previous reading', async () => {
    const { feed, stamped, load } = follow()
    feed.commit({ providers: named('Old') })
    const directory = await load()
    feed.commit({ providers: named('New') })
    const first = directory.catchUp()
    await Promise.resolve()
    feed.commit({ providers: named('Newest') })
    await first
    expect(directory.findListing(1)?.provider.firstName).toBe('New')
    await directory.catchUp()
    expect(directory.findListing(1)?.provider.firstName).toBe('Newest')
    expect(stamped.stamp()).toBe(3)
    expect(directory.catchUp()).toBeUndefined()
  })

  test('catchUp tries again after a failure', async () => {
    const { feed, stamped, load } = follow()
    feed.commit({ providers: named('Old') })
    let isBroken = false
    const changesSince = async () => {
      if (isBroken) throw new Error('broken')
      return feed.changesSince()
    }
    const directory = await load({ ...stamped, changesSince })
    feed.commit({ providers: named('New') })
    isBroken = true
    await expect(directory.catchUp()).rejects.toThrow('broken')
    isBroken = false
    await directory.catchUp()
    expect(directory.findListing(1)?.provider.firstName).toBe('New')
  })
})
