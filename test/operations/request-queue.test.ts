import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import type { RequestRecord, ScreeningAnswer } from '../../src/domain/booking-request'
import type { Facts, MaybePromise } from '../../src/domain/ports/store'
import type { Records } from '../../src/operations/context'
import { isAnyAtRisk, listQueue, type QueueWish } from '../../src/operations/queue'
import { act, endOf, fill, minutes, nine, now, type Place, stored } from '../db/furniture'
import { openPlace } from '../db/place'
import { words } from '../support/words'

let place: Place
let records: Records
let ids: Record<string, number>
let submitted: number

beforeEach(async () => {
  place = await openPlace()
  records = { store: place.store } as unknown as Records
  ids = {}
  submitted = 0
})
afterEach(() => place[Symbol.asyncDispose]())

/** Nine PHQ-9 answers. The first eight have the score `others`. The last answer is `ninth`. */
const phq9 = (others: number, ninth: string): ScreeningAnswer[] => [
  ...Array.from({ length: 8 }, (_, item) => ({ question: `Question ${item + 1}`, answer: `${others}` })),
  { question: 'Thoughts that you would be better off dead', answer: ninth },
]

/**
 * Submits a request for each name, one a minute. A name with `startsAt` submits a booking. All other names
 * submit intakes.
 */
async function submit(all: Record<string, readonly ScreeningAnswer[]>, startsAt?: number) {
  const { intake, book } = await furnished()
  for (const [name, screeningAnswers] of Object.entries(all)) {
    const details = { screeningAnswers, submittedAt: now + minutes(++submitted) }
    const slot = (startsAt ?? 0) + minutes(45 * submitted)
    const { id } = await stored(startsAt === undefined ? intake(name, details) : book(name, slot, details))
    ids[name] = id
  }
}

let furniture: ReturnType<typeof fill> | undefined
beforeEach(() => {
  furniture = undefined
})
function furnished() {
  furniture ??= fill(place)
  return furniture
}

async function queueBy(wish: Partial<QueueWish>) {
  const asked = { filter: {}, sort: 'risk', page: 1, pageSize: 50, ...wish } as const
  return listQueue(records, asked, act)
}

const namesIn = ({ requests }: Awaited<ReturnType<typeof queueBy>>) => {
  const names = new Map(Object.entries(ids).map(([name, id]) => [id, name]))
  return requests.map(({ request }) => names.get(request.id))
}

describe('operations: the request queue in order of risk', () => {
  test('the queue is sorted by raised ninth item, then unclear answers, then severity, then waiting time', async () => {
    await submit({ none: [], mild: phq9(1, '0'), severe: phq9(3, '0'), alsoSevere: phq9(3, '0') })
    await submit({ booked: phq9(0, '1'), bookedUnclear: phq9(0, 'un peu') }, nine)
    await submit({ raised: phq9(3, '2'), unread: phq9(3, 'often'), french: phq9(0, 'plusieurs jours') })
    const queue = await queueBy({})
    expect(namesIn(queue)).toEqual(words`
      raised booked french unread bookedUnclear severe alsoSevere mild none
    `)
    expect(queue).toMatchObject({ isMore: false, oldestWaitingAt: now + minutes(1) })
    expect(queue.requests.map(({ risk }) => [risk?.ninthItem, risk?.severity])).toEqual([
      ['non-zero', 'severe'],
      ['non-zero', 'minimal'],
      ['non-zero', 'minimal'],
      ['unclear', null],
      ['unclear', null],
      ['zero', 'severe'],
      ['zero', 'severe'],
      ['zero', 'mild'],
      [undefined, undefined],
    ])
    expect(namesIn(await queueBy({ filter: { intakesOnly: true } }))).not.toContain('booked')
  })

  test('the queue keeps an accepted request at risk until its answers are read, and omits other handled requests', async () => {
    await submit({ accepted: phq9(0, '1'), declined: phq9(0, '1'), waiting: phq9(3, '1') }, nine)
    await submit({ fine: phq9(0, '0') }, nine)
    for (const name of ['accepted', 'fine']) await place.store.accept(ids[name] as number, act)
    await place.store.decline(ids.declined as number, act)
    expect(namesIn(await queueBy({}))).toEqual(['waiting', 'accepted'])
    const { id: partnerId } = (await place.store.listPartners())[0] as { id: number }
    expect(namesIn(await queueBy({ filter: { partnerId } }))).toEqual(['waiting', 'accepted'])
    expect(namesIn(await queueBy({ filter: { partnerId: partnerId + 1 } }))).toEqual([])
    expect(namesIn(await queueBy({ filter: { state: 'waiting' } }))).toEqual(['waiting'])
    await place.store.readScreening(ids.accepted as number, act)
    expect(namesIn(await queueBy({}))).toEqual(['waiting'])
    for (const state of ['accepted', 'declined', 'closed'] as const) {
      expect(await endOf(queueBy({ filter: { state } }))).toBe('field_invalid')
    }
  })

  test('unread cancelled requests come after others of the same urgency, and can be listed alone', async () => {
    await submit({ first: phq9(0, '1'), second: phq9(0, '1'), calm: phq9(0, '0') })
    for (const name of ['first', 'calm']) await place.store.cancel(ids[name] as number, act)
    expect(namesIn(await queueBy({}))).toEqual(['second', 'first'])
    expect(namesIn(await queueBy({ filter: { state: 'cancelled' } }))).toEqual(['first'])
  })

  test('one row for each member shows the most urgent request and the number of requests, before paging', async () => {
    const { intake } = await furnished()
    const flood = async (externalUserId: string, answers: readonly ScreeningAnswer[]) => {
      const details = { screeningAnswers: answers, submittedAt: now + minutes(++submitted) }
      return (await stored(intake(externalUserId, details))).id
    }
    for (let index = 0; index < 3; index++) await flood('flood', phq9(index, '1'))
    await submit({ mild: phq9(1, '0'), severe: phq9(3, '0') })
    const erased = [await flood('gone', phq9(3, '1')), await flood('gone', [])]
    const { member } = (await place.store.findRequest(erased[0] as number)) as RequestRecord
    await place.store.eraseMember(member?.id as number, act)
    const rows = async (wish: Partial<QueueWish>) =>
      (await queueBy({ perMember: true, ...wish })).requests.map(({ request, count }) => [request.id, count])
    const [mild, severe] = [ids.mild as number, ids.severe as number]
    const byRisk = [[3, 3], [severe, 1], [mild, 1], ...erased.map((id) => [id, 1])]
    expect(await rows({})).toEqual(byRisk)
    expect(await rows({ page: 2, pageSize: 2 })).toEqual(byRisk.slice(2, 4))
    const byAge = [[1, 3], [mild, 1], [severe, 1], ...erased.map((id) => [id, 1])]
    for (const state of ['waiting', 'unassigned'] as const) {
      expect(await rows({ sort: 'age', filter: { state } })).toEqual(byAge)
    }
    expect(await rows({ perMember: false, sort: 'age', filter: { state: 'waiting' } })).toHaveLength(7)
    expect(await rows({ sort: 'age', pageSize: 2 })).toEqual([
      [1, 1],
      [2, 1],
    ])
  })

  test('rows of members are sorted by slot, those without a slot last', async () => {
    await submit({ none: [] })
    await submit({ late: [] }, nine + minutes(600))
    await submit({ soon: [] }, nine)
    const queue = await queueBy({ perMember: true, sort: 'slot', filter: { state: 'waiting' } })
    expect(namesIn(queue)).toEqual(['soon', 'late', 'none'])
  })

  test('the queue can be limited to one state, or to all waiting requests', async () => {
    await submit({ intake: phq9(0, '1') })
    await submit({ mild: phq9(1, '0'), raised: phq9(0, '1') }, nine)
    expect(namesIn(await queueBy({ filter: { state: 'pending' } }))).toEqual(['raised', 'mild'])
    expect(namesIn(await queueBy({ filter: { state: 'unassigned' } }))).toEqual(['intake'])
    expect(namesIn(await queueBy({ filter: { state: 'waiting' } }))).toEqual(['intake', 'raised', 'mild'])
  })

  test('the queue adds an audit line for each request on the page whose risk it shows', async () => {
    await submit({ first: phq9(0, '0'), second: phq9(3, '1'), none: [], third: phq9(1, '0') })
    const { id: before } = await place.store.auditHead()
    const linesSince = async () =>
      (await place.store.listAudit(100, { after: before })).map(({ action, record, outcome }) => [
        action,
        record,
        outcome,
      ])
    const page = await queueBy({ pageSize: 2 })
    expect(page.isMore).toBe(true)
    expect(namesIn(page)).toEqual(['second', 'third'])
    const shown = [
      ['request.list', null, 'done: 2'],
      ['request.read-risk', `request ${ids.second}`, 'done'],
      ['request.read-risk', `request ${ids.third}`, 'done'],
    ]
    expect(await linesSince()).toEqual(shown)
    expect(namesIn(await queueBy({ pageSize: 2, page: 2 }))).toEqual(['first', 'none'])
    expect((await linesSince()).slice(3)).toEqual([
      ['request.list', null, 'done: 2'],
      ['request.read-risk', `request ${ids.first}`, 'done'],
    ])
    expect(namesIn(await queueBy({ pageSize: 2, page: 3 }))).toEqual([])
  })

  test('the queue is not returned if the audit log cannot be written', async () => {
    await submit({ first: phq9(0, '1') })
    const store = {
      ...place.store,
      appendAudit: () => Promise.reject(new Error('the disk is full')),
    }
    records = { store } as unknown as Records
    expect(await endOf(queueBy({}))).toBe('Error: the disk is full')
  })
})

describe('operations: isAnyAtRisk', () => {
  const cases: [string, Record<string, readonly ScreeningAnswer[]>, boolean][] = [
    ['isAnyAtRisk is false without requests', {}, false],
    [
      'isAnyAtRisk is false for no answers and for a ninth item of zero',
      { none: [], severe: phq9(3, '0') },
      false,
    ],
    ['isAnyAtRisk is true for a ninth item above zero', { severe: phq9(3, '0'), raised: phq9(0, '1') }, true],
    ['isAnyAtRisk is true for a ninth item that is unclear', { unread: phq9(0, 'un peu') }, true],
  ]
  test.each(cases)('%s', async (_, all, expected) => {
    await submit(all)
    expect(await isAnyAtRisk(records)).toBe(expected)
  })

  test('isAnyAtRisk is false once the request at risk is handled', async () => {
    await submit({ raised: phq9(0, '1') }, nine)
    expect(await isAnyAtRisk(records)).toBe(true)
    await place.store.decline(ids.raised as number, act)
    expect(await isAnyAtRisk(records)).toBe(false)
  })
})

describe('operations: the request queue in order of age or slot', () => {
  test('a queue by age or slot is paged, opens no answers, and adds one audit line per page', async () => {
    await submit({ first: phq9(0, '1') })
    await submit({ late: phq9(0, '1') }, nine + minutes(600))
    await submit({ soon: phq9(0, '1') }, nine)
    const opened: number[] = []
    const read = <T>(work: (facts: Facts) => MaybePromise<T>) =>
      place.store.read((facts) => {
        const readableAnswers = (ids: readonly number[]) => {
          opened.push(...ids)
          return facts.requests.readableAnswers(ids)
        }
        return work({ ...facts, requests: Object.assign(Object.create(facts.requests), { readableAnswers }) })
      })
    records = { store: { ...place.store, read } } as unknown as Records
    const { id: before } = await place.store.auditHead()
    const pages = await Promise.all([1, 2, 3].map((page) => queueBy({ sort: 'age', page, pageSize: 2 })))
    expect(pages.map(namesIn)).toEqual([['first', 'late'], ['soon'], []])
    expect(pages.map(({ isMore }) => isMore)).toEqual([true, false, false])
    const whole = await queueBy({ sort: 'slot', pageSize: 3 })
    expect([namesIn(whole), whole.isMore]).toEqual([['soon', 'late', 'first'], false])
    expect(pages[0]?.requests.map(({ risk }) => risk)).toEqual([null, null])
    expect(opened).toEqual([])
    const lines = await place.store.listAudit(100, { after: before })
    expect(lines.map(({ action, outcome }) => [action, outcome]).toSorted()).toEqual([
      ['request.list', 'done: 0'],
      ['request.list', 'done: 1'],
      ['request.list', 'done: 2'],
      ['request.list', 'done: 3'],
    ])
  })
})
