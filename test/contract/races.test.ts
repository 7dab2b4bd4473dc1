import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { booking, provider, region } from '../support/builders'
import { type Answer, startService } from '../support/service'
import { daily, entryOf, expectRefusal, lookUp, paths } from './contract'

const start = () =>
  startService({
    directory: {
      regions: [region({ id: 31 })],
      providers: [
        provider('a', { lastName: 'Only', timeZone: 'Etc/UTC', workingHours: [daily('09:00', '18:00')] }),
        provider('b', { lastName: 'Rival', timeZone: 'Etc/UTC', workingHours: [daily('09:00', '18:00')] }),
      ],
    },
  })
let service: Awaited<ReturnType<typeof start>>
let providerId: number
beforeAll(async () => {
  service = await start()
  providerId = (await entryOf(service, 31, 'Only')).providerId
})
afterAll(() => service.stop())

/** So many requests at once. */
function atOnce(count: number, request: (i: number) => Promise<Answer>): Promise<Answer[]> {
  return Promise.all(Array.from({ length: count }, (_, i) => request(i)))
}

/** How many answers there were of each status. */
function tally(answers: readonly Answer[]): Record<number, number> {
  const counts: Record<number, number> = {}
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

const refusalsIn = (answers: readonly Answer[]) => answers.filter(({ status }) => status !== 201)

describe('at once', () => {
  test('200 bookings of one slot by 200 members: one 201, 199 times 400, one member', async () => {
    const slot = { providerId, utcStartTime: '2026-12-03T09:00:00Z' }
    const answers = await atOnce(200, (i) => service.post(paths.booking, booking(`racer-${i}`, slot)))
    expect(tally(answers)).toEqual({ 201: 1, 400: 199 })
    for (const answer of refusalsIn(answers)) {
      expectRefusal(answer, { status: 400, kind: 'slot_unavailable', absent: ['racer'] })
    }
    const members = await atOnce(200, (i) => lookUp(service, `racer-${i}`))
    expect(tally(members)).toEqual({ 200: 1, 404: 199 })
    const winner = answers.findIndex(({ status }) => status === 201)
    expect(members[winner]?.body.id).toBe(answers[winner]?.body.member.id)
    const { availability } = await entryOf(service, 31, 'Only')
    expect(availability).not.toContainEqual({
      utcStartTime: '2026-12-03T09:00:00Z',
      utcEndTime: '2026-12-03T09:45:00Z',
    })
  })

  test('100 first intakes of one new member: 100 times 201, one member, 100 intakes', async () => {
    const answers = await atOnce(100, () => service.post(paths.booking, booking('newborn')))
    expect(tally(answers)).toEqual({ 201: 100 })
    expect(new Set(answers.map(({ body }) => body.member.id)).size).toBe(1)
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(100)
    expect((await lookUp(service, 'newborn')).body.id).toBe(answers[0]?.body.member.id)
  })

  test('50 bookings of one slot by one new member: one 201, the rest 400, one member', async () => {
    const slot = { providerId, utcStartTime: '2026-12-04T09:00:00Z' }
    const answers = await atOnce(50, () => service.post(paths.booking, booking('hasty', slot)))
    expect(tally(answers)).toEqual({ 201: 1, 400: 49 })
    for (const answer of refusalsIn(answers)) {
      expectRefusal(answer, { status: 400, kind: 'slot_already_yours', absent: ['hasty'] })
    }
    expect((await lookUp(service, 'hasty')).status).toBe(200)
  })

  test('bookings of one member at two providers at the same time: one 201, the rest 400', async () => {
    const rival = (await entryOf(service, 31, 'Rival')).providerId
    const utcStartTime = '2026-12-07T09:00:00Z'
    for (const member of ['ubiquitous', 'ubiquitous-too', 'ubiquitous-again']) {
      const answers = await atOnce(2, (i) =>
        service.post(paths.booking, booking(member, { providerId: i ? rival : providerId, utcStartTime })),
      )
      expect(tally(answers)).toEqual({ 201: 1, 400: 1 })
      for (const answer of refusalsIn(answers)) {
        expectRefusal(answer, { status: 400, kind: 'slot_conflicts_with_yours', absent: ['ubiquitous'] })
      }
      const held = answers.find(({ status }) => status === 201)?.body.id
      await service.context.store.decline(held, service.act())
    }
  })

  test('50 members with one email: one 201, the rest 409, one member', async () => {
    const answers = await atOnce(50, (i) => {
      const email = i % 2 ? 'contested@example.com' : 'Contested@Example.com'
      return service.post(paths.booking, booking(`claimant-${i}`, undefined, { email }))
    })
    expect(tally(answers)).toEqual({ 201: 1, 409: 49 })
    for (const answer of refusalsIn(answers)) {
      expectRefusal(answer, { status: 409, kind: 'email_taken', absent: ['claimant', 'ontested'] })
    }
    expect(tally(await atOnce(50, (i) => lookUp(service, `claimant-${i}`)))).toEqual({ 200: 1, 404: 49 })
  })

  test('one external id at two partners: a member each', async () => {
    const other = await service.addPartner('Racing Partner')
    const answers = await atOnce(40, (i) => {
      const isOther = i % 2 === 1
      const email = `${isOther ? 'their' : 'my'}-twin@example.com`
      return service.post(
        paths.booking,
        booking('twin', undefined, { email }),
        isOther ? other.token : undefined,
      )
    })
    expect(tally(answers)).toEqual({ 201: 40 })
    const idsOf = (rest: number) =>
      new Set(answers.filter((_, i) => i % 2 === rest).map(({ body }) => body.member.id))
    expect([idsOf(0).size, idsOf(1).size]).toEqual([1, 1])
    expect(idsOf(0).isDisjointFrom(idsOf(1))).toBe(true)
  })

  test('every slot of a day by its own member and a rival: each slot once', async () => {
    const starts = Array.from(
      { length: 12 },
      (_, i) =>
        `${new Date(Date.parse('2026-12-05T09:00:00Z') + i * 45 * 60_000).toISOString().slice(0, 19)}Z`,
    )
    const answers = await atOnce(starts.length * 2, (i) => {
      const utcStartTime = starts[i % starts.length] ?? ''
      return service.post(paths.booking, booking(`day-${i}`, { providerId, utcStartTime }))
    })
    expect(tally(answers)).toEqual({ 201: 12, 400: 12 })
    const won = answers.filter(({ status }) => status === 201).map(({ body }) => body.utcStartTime)
    expect(won.toSorted()).toEqual(starts)
    const numbers = answers.filter(({ status }) => status === 201).map(({ body }) => body.authorizationNumber)
    expect(new Set(numbers).size).toBe(12)
  })

  test('searches beside bookings answer 200, and a slot that was granted is gone from the next search', async () => {
    const day = '2026-12-06'
    const answers = await atOnce(24, async (i) => {
      if (i % 2) return service.get(`${paths.providers}?region_id=31`)
      const minutes = 9 * 60 + (i / 2) * 45
      const time = `${String(Math.floor(minutes / 60)).padStart(2, '0')}:${String(minutes % 60).padStart(2, '0')}`
      const slot = { providerId, utcStartTime: `${day}T${time}:00Z` }
      const booked = await service.post(paths.booking, booking(`beside-${i}`, slot))
      const { availability } = await entryOf(service, 31, 'Only')
      expect(JSON.stringify(availability)).not.toContain(`"utcStartTime":"${slot.utcStartTime}"`)
      return booked
    })
    expect(tally(answers)).toEqual({ 200: 12, 201: 12 })
  })
})
