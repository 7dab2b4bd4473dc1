import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { booking, provider, region } from '../support/builders'
import { printFigure, times } from '../support/long'
import { type Answer, startService, type TestPartner } from '../support/service'
import { countRows } from '../support/storage'
import { nextTurn } from '../support/turns'
import { daily, entryOf, expectRefusal, lookUp, paths, slotsAt } from './contract'

setDefaultTimeout(3_600_000)

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
let rival: TestPartner
beforeAll(async () => {
  service = await start()
  rival = await service.addPartner('Rival Partner')
  providerId = (await entryOf(service, 31, 'Only')).providerId
})
afterAll(() => service.stop())

const [dayMillis, slotMillis] = [86_400_000, 45 * 60_000]
const firstSlot = Date.parse('2026-12-10T09:00:00Z')

/** The number of stored booking requests and members. */
const stored = async () => ({
  requests: await countRows(service.storage, 'booking_requests'),
  members: await countRows(service.storage, 'members'),
})

let retried = 0

/** Repeats a request until it is not answered with 503 (overloaded). */
async function retryOverloaded(ask: () => Promise<Answer>): Promise<Answer> {
  for (;;) {
    const answer = await ask()
    if (answer.status !== 503) return answer
    retried++
    await nextTurn()
  }
}

function atOnce(count: number, request: (i: number) => Promise<Answer>): Promise<Answer[]> {
  return Promise.all(Array.from({ length: count }, (_, i) => request(i)))
}

function tally(answers: readonly Answer[]): Record<number, number> {
  const counts: Record<number, number> = {}
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

const refusalsIn = (answers: readonly Answer[]) => answers.filter(({ status }) => status !== 201)

describe('contract: concurrent bookings', () => {
  const crowd = times(200, 500)
  const slotRounds = times(8, 200)

  test(`of one slot by ${crowd} members of two partners: one gets 201 and is stored, and the others get 400 (${slotRounds} rounds)`, async () => {
    const totals: Record<number, number> = {}
    for (let round = 0; round < slotRounds; round++) {
      const utcStartTime = new Date(
        firstSlot + Math.floor(round / 12) * dayMillis + (round % 12) * slotMillis,
      )
        .toISOString()
        .replace('.000', '')
      const slot = { providerId, utcStartTime }
      const before = await stored()
      const answers = await atOnce(crowd, (i) =>
        retryOverloaded(() =>
          service.post(paths.booking, booking(`racer-${round}-${i}`, slot), i % 2 ? rival.token : undefined),
        ),
      )
      expect({ round, statuses: tally(answers) }).toEqual({ round, statuses: { 201: 1, 400: crowd - 1 } })
      for (const answer of refusalsIn(answers)) {
        expectRefusal(answer, { status: 400, kind: 'slot_unavailable', absent: ['racer'] })
      }
      expect(await stored()).toEqual({ requests: before.requests + 1, members: before.members + 1 })
      const winner = answers.findIndex(({ status }) => status === 201)
      const token = winner % 2 ? rival.token : undefined
      const found = await lookUp(service, `racer-${round}-${winner}`, token)
      expect(found.body.id).toBe(answers[winner]?.body.member.id)
      for (const partner of [service.partner, rival]) {
        const { body } = await service.get(`${paths.providers}?region_id=31`, partner.token)
        const [only] = body.results as { availability: unknown[] }[]
        expect(only?.availability).not.toContainEqual(slotsAt(utcStartTime)[0])
      }
      for (const { status } of answers) totals[status] = (totals[status] ?? 0) + 1
    }
    printFigure(
      `one slot: ${slotRounds} rounds of ${crowd} bookings, responses by status ${JSON.stringify(totals)}, ${retried} retries after a 503`,
    )
  })

  const memberRounds = times(8, 200)

  test(`by 50 members of two partners with one email address: one gets 201 and is stored, and 49 get 409 (${memberRounds} rounds)`, async () => {
    for (let round = 0; round < memberRounds; round++) {
      const before = await stored()
      const tokenOf = (i: number) => (i % 3 ? rival.token : undefined)
      const answers = await atOnce(50, (i) => {
        const email = i % 2 ? `contested-${round}@example.com` : `Contested-${round}@Example.com`
        return service.post(
          paths.booking,
          booking(`claimant-${round}-${i}`, undefined, { email }),
          tokenOf(i),
        )
      })
      expect({ round, statuses: tally(answers) }).toEqual({ round, statuses: { 201: 1, 409: 49 } })
      for (const answer of refusalsIn(answers)) {
        expectRefusal(answer, { status: 409, kind: 'email_taken', absent: ['claimant', 'ontested'] })
      }
      expect(await stored()).toEqual({ requests: before.requests + 1, members: before.members + 1 })
      const winner = answers.findIndex(({ status }) => status === 201)
      const found = await lookUp(service, `claimant-${round}-${winner}`, tokenOf(winner))
      expect(found.body.id).toBe(answers[winner]?.body.member.id)
    }
  })

  test('do not disturb concurrent searches, and the next search no longer offers a booked slot', async () => {
    const day = '2026-12-06'
    const answers = await atOnce(24, async (i) => {
      if (i % 2) return service.get(`${paths.providers}?region_id=31`)
      const minutes = 9 * 60 + (i / 2) * 45
      const time = `${String(Math.floor(minutes / 60)).padStart(2, '0')}:${String(minutes % 60).padStart(2, '0')}`
      const slot = { providerId, utcStartTime: `${day}T${time}:00Z` }
      const booked = await service.post(paths.booking, booking(`concurrent-${i}`, slot))
      const { availability } = await entryOf(service, 31, 'Only')
      expect(JSON.stringify(availability)).not.toContain(`"utcStartTime":"${slot.utcStartTime}"`)
      return booked
    })
    expect(tally(answers)).toEqual({ 200: 12, 201: 12 })
  })
})
