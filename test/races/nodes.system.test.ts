import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { requireProvider } from '../../src/operations/find-records'
import { setPartnerActive } from '../../src/operations/partners'
import { parseTimeOff, removeTimeOff, setProviderActive, storeTimeOff } from '../../src/operations/providers'
import { issueFirstToken, revokeToken } from '../../src/operations/tokens'
import { daily, expectRefusal, paths } from '../contract/contract'
import { randomFrom, seed } from '../hostile/random'
import { booking, provider, region } from '../support/builders'
import { printFigure, times } from '../support/long'
import { describeOnPostgres, testOnPostgres } from '../support/postgres-databases'
import { type Answer, startService } from '../support/service'
import { countRows, type NewStorage, newStorageOnPostgres } from '../support/storage'

// Four services on one database, as on four machines, must behave like one.
setDefaultTimeout(3_600_000)

const nodeCount = 4
const [dayMillis, minuteMillis] = [86_400_000, 60_000]
const openMost = 10

const working = { timeZone: 'Etc/UTC', workingHours: [daily('00:00', '23:45')] }
const directory = {
  regions: [region({ id: 31 })],
  providers: ['a', 'b', 'c'].map((ref) => provider(ref, { lastName: ref, ...working })),
}

type Node = Awaited<ReturnType<typeof startService>>

interface Submissions {
  readonly body: (index: number) => unknown
  readonly key?: string
}

describeOnPostgres('races: four nodes on one PostgreSQL database', () => {
  let place: NewStorage
  let nodes: Node[]
  /** A fifth node, which only runs commands. */
  let staff: Node
  let providerIds: number[]
  beforeAll(async () => {
    place = await newStorageOnPostgres()
    const limits = { openRequests: openMost }
    staff = await startService({ storage: place.storage, directory, limits })
    nodes = await Promise.all(
      Array.from({ length: nodeCount }, () => startService({ sharing: staff, limits })),
    )
    providerIds = staff.context.directory.listProviders().map(({ id }) => id)
  })
  afterAll(async () => {
    for (const node of [...nodes, staff]) await node.stop()
    await place[Symbol.asyncDispose]()
  })

  const nodeOf = (index: number) => nodes[index % nodeCount] as Node
  const idOf = (index: number) => providerIds[index] as number

  /**
   * Each test uses other days, so that no two tests book the same slot.
   * @param day the day of December 2026, at least 3
   */
  const slotOn = (day: number, minute = 540) => ({
    providerId: idOf(0),
    utcStartTime: instant(Date.parse('2026-12-01T00:00:00Z') + (day - 1) * dayMillis + minute * minuteMillis),
  })

  /** A day has 31 slots, so the rounds are distributed over the three providers. */
  const slotOfRound = (day: number, round: number) => ({
    ...slotOn(day, (round % 31) * 45),
    providerId: idOf(Math.floor(round / 31)),
  })

  /** Sends submissions concurrently, distributed over the nodes. */
  const submitAtOnce = (count: number, bodyOf: (index: number) => unknown, key?: string) =>
    Promise.all(
      Array.from({ length: count }, (_, index) =>
        nodeOf(index).post(
          paths.booking,
          bodyOf(index),
          undefined,
          key === undefined ? {} : { 'Idempotency-Key': key },
        ),
      ),
    )

  const stored = async () => ({
    requests: await countRows(place.storage, 'booking_requests'),
    members: await countRows(place.storage, 'members'),
  })

  const rounds = times(3, 90)

  test('of 200 concurrent bookings of one slot, some with an idempotency key, one gets 201 and is stored, and 199 get 400', async () => {
    for (let round = 0; round < rounds; round++) {
      const before = await stored()
      const slot = slotOfRound(3, round)
      const answers = await Promise.all(
        Array.from({ length: 200 }, (_, index) => {
          const headers = index % 3 ? { 'Idempotency-Key': `slot-${round}-${index}` } : {}
          return nodeOf(index).post(
            paths.booking,
            booking(`s${round}-${index}`, slot),
            undefined,
            headers as Record<string, string>,
          )
        }),
      )
      expect({ round, statuses: tally(answers) }).toEqual({ round, statuses: { 201: 1, 400: 199 } })
      for (const answer of answers.filter(({ status }) => status === 400))
        expectRefusal(answer, { status: 400, kind: 'slot_unavailable' })
      expect(await stored()).toEqual({ requests: before.requests + 1, members: before.members + 1 })
    }
  })

  test.each([
    [
      '60 concurrent intakes of one new member all get 201, and one member is stored',
      ...[60, { 201: 60 }, { requests: 60, members: 1 }],
      (round: number) => ({ body: () => booking(`new-${round}`) }),
    ],
    [
      'of 60 concurrent intakes of new members with one email address, one gets 201 and is stored, and 59 get 409',
      ...[60, { 201: 1, 409: 59 }, { requests: 1, members: 1 }],
      (round: number) => ({
        body: (index: number) =>
          booking(`e${round}-${index}`, undefined, { email: `one-${round}@example.com` }),
      }),
    ],
    [
      '40 concurrent bookings with one idempotency key all get the same 201, and one booking is stored',
      ...[40, { 201: 40 }, { requests: 1, members: 1 }],
      (round: number) => ({
        body: () => booking(`key-${round}`, slotOfRound(4, round)),
        key: `key-${round}`,
      }),
    ],
  ] as [string, number, object, { requests: number; members: number }, (round: number) => Submissions][])(
    '%s',
    async (_, count, statuses, added, submissions) => {
      for (let round = 0; round < rounds; round++) {
        const before = await stored()
        const { body, key } = submissions(round)
        const answers = await submitAtOnce(count, body, key)
        expect(tally(answers) as object).toEqual(statuses)
        const accepted = answers.filter(({ status }) => status === 201)
        if (added.members === 1) expect(new Set(accepted.map((one) => one.body.member.id)).size).toBe(1)
        if (key) {
          expect(new Set(accepted.map((one) => JSON.stringify(one.body))).size).toBe(1)
          expect(accepted.filter(({ headers }) => !headers.has('idempotency-replayed'))).toHaveLength(1)
        }
        for (const answer of answers.filter(({ status }) => status === 409))
          expectRefusal(answer, { status: 409, kind: 'email_taken' })
        expect(await stored()).toEqual({
          requests: before.requests + added.requests,
          members: before.members + added.members,
        })
      }
    },
  )

  const stale = times(60, 700)

  test(`a slot that was booked at one node is not offered by the next search at another node (${stale} slots)`, async () => {
    for (let round = 0; round < stale; round++) {
      const slot = slotOn(5 + Math.floor(round / 30), (round % 30) * 45)
      const booked = await nodeOf(round).post(paths.booking, booking(`stale-${round}`, slot))
      expect(booked.status).toBe(201)
      const found = await nodeOf(round + 1 + (round % 3)).get(`${paths.providers}?region_id=31&page_size=100`)
      const [first] = found.body.results as { availability: { utcStartTime: string }[] }[]
      expect(first?.availability.map(({ utcStartTime }) => utcStartTime)).not.toContain(slot.utcStartTime)
    }
  })

  test('a deactivation, time off or revocation applies to the next request at every node', async () => {
    const { context } = staff
    const victim = await staff.addPartner('Victim')
    let { token } = victim
    const provider = await requireProvider(context, 'b')
    const timeOff = parseTimeOff('2026-12-01', '2027-12-01')
    const slot = { ...slotOn(8), providerId: idOf(1) }
    const codesAt = async () =>
      Promise.all(
        nodes.map(async (node, index) => {
          const ask = () => node.post(paths.booking, booking(`taken-${token.length}-${index}`, slot), token)
          // On a busy machine a request can fail with storage_busy. The request is then sent again.
          let answer = await ask()
          while (answer.headers.get('x-error-code') === 'storage_busy') answer = await ask()
          return answer.status === 201 ? 'stored' : answer.headers.get('x-error-code')
        }),
      )
    const allCodes = (code: string) => Array(nodeCount).fill(code)
    for (let round = 0; round < times(5, 100); round++) {
      const act = staff.act()
      await setPartnerActive(context, victim.partner, false, act)
      expect(await codesAt()).toEqual(allCodes('partner_inactive'))
      await setPartnerActive(context, victim.partner, true, act)
      await setProviderActive(context, provider, false, act)
      expect(await codesAt()).toEqual(allCodes('provider_unknown'))
      await setProviderActive(context, provider, true, act)
      await storeTimeOff(context, provider.id, timeOff, act)
      expect(await codesAt()).toEqual(allCodes('slot_unavailable'))
      await removeTimeOff(context, provider, timeOff, act)
      await revokeToken(context, victim.partner, act)
      expect(await codesAt()).toEqual(allCodes('token_invalid'))
      token = await issueFirstToken(context, victim.partner, act)
      const statuses = nodes.map((node) => node.get(`${paths.regions}?country_code=CA`, token))
      expect(tally(await Promise.all(statuses))).toEqual({ 200: nodeCount })
    }
  })

  testOnPostgres(
    'bookings of a provider never overlap, even if directory loads change the working hours at the same time',
    async () => {
      const random = randomFrom(seed)
      let [slowestMillis, held, refused] = [0, 0, 0]
      const others: string[] = []
      const shift = (minutes: number) => {
        const workingHours = [daily(`00:${`${minutes}`.padStart(2, '0')}`, '23:45')]
        return staff.load({
          ...directory,
          providers: directory.providers.map((one) => ({ ...one, workingHours })),
        })
      }
      for (let round = 0; round < rounds; round++) {
        const shifts = [(5 * round) % 40, (5 * round + 10) % 40] as const
        await shift(shifts[0])
        const answers = Array.from({ length: 120 }, async (_, index) => {
          await Bun.sleep(random() * 40)
          const minute = Math.floor(random() * 20) * 45 + (shifts[index % 2] as number)
          const slot = { ...slotOn(12, minute), providerId: idOf(index % 3) }
          const askedAt = performance.now()
          const answer = await nodeOf(index).post(paths.booking, booking(`o${round}-${index}`, slot))
          slowestMillis = Math.max(slowestMillis, performance.now() - askedAt)
          return answer
        })
        await Bun.sleep(15)
        await shift(shifts[1])
        const statuses = tally(await Promise.all(answers))
        held += statuses[201] ?? 0
        refused += statuses[400] ?? 0
        others.push(...Object.keys(statuses).filter((status) => status !== '201' && status !== '400'))
      }
      await staff.load(directory)
      expect({ isAnyHeld: held > 0, isAnyRefused: refused > 0, others }).toEqual({
        isAnyHeld: true,
        isAnyRefused: true,
        others: [],
      })
      const holders = `(SELECT * FROM booking_requests WHERE state IN ('pending', 'accepted'))`
      const overlap = 'a.starts_at < b.ends_at AND b.starts_at < a.ends_at'
      const pairs = `${holders} a JOIN ${holders} b ON a.provider_id = b.provider_id AND a.id < b.id AND ${overlap}`
      expect(await countRows(place.storage, pairs)).toBe(0)
      printFigure(
        `bookings while working hours shift: ${held} stored, slowest response ${slowestMillis.toFixed(0)} ms`,
      )
    },
  )

  testOnPostgres(
    'nodes that book the same slots concurrently in opposite orders book each slot once and cause no deadlock',
    async () => {
      const waits: number[] = []
      // Each round needs a day of a provider without bookings.
      const rounds = times(3, 19)
      const askAll = async (round: number) => {
        const places = Array.from({ length: 24 }, (_, index) => index)
        const answers = await Promise.all(
          nodes.flatMap((node, number) =>
            (number % 2 ? places : places.toReversed()).map(async (at) => {
              const askedAt = performance.now()
              const slot = {
                ...slotOn(14 + (round % 10), at * 45),
                providerId: idOf(1 + Math.floor(round / 10)),
              }
              const body = booking(`c${round}-${number}-${at}`, slot)
              const answer = await node.post(paths.booking, body)
              waits.push(performance.now() - askedAt)
              return answer
            }),
          ),
        )
        return tally(answers)
      }
      for (let round = 0; round < rounds; round++) expect(await askAll(round)).toEqual({ 201: 24, 400: 72 })
      printFigure(
        `slots in opposite orders: ${rounds} rounds, slowest response ${Math.max(...waits).toFixed(0)} ms`,
      )
      // A connection adds its deadlocks to the statistics at the end of a transaction, at most once a second.
      await Bun.sleep(1_100)
      await askAll(rounds)
      const deadlocked = `(SELECT 1 FROM pg_stat_database WHERE datname = current_database() AND deadlocks > 0) AS deadlocked`
      expect(await countRows(place.storage, deadlocked)).toBe(0)
    },
  )

  testOnPostgres(
    'two members that swap addresses concurrently get 409 and keep their addresses',
    async () => {
      for (let round = 0; round < rounds; round++) {
        const [one, other] = [`x${round}@example.com`, `y${round}@example.com`]
        await submitAtOnce(2, (index) =>
          booking(`swap-${round}-${index}`, undefined, { email: index ? other : one }),
        )
        const answers = await submitAtOnce(8, (index) =>
          booking(`swap-${round}-${index % 2}`, undefined, { email: index % 2 ? one : other }),
        )
        expect(tally(answers)).toEqual({ 409: 8 })
        for (const [index, email] of [one, other].entries()) {
          const found = await nodeOf(index).get(`${paths.user}?external_user_id=swap-${round}-${index}`)
          expect([found.status, found.body.email]).toEqual([200, email])
        }
      }
    },
  )
})

function tally(answers: readonly Answer[]): Record<number, number> {
  const counts: Record<number, number> = {}
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

function instant(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19)}Z`
}
