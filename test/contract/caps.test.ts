import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { perHour } from '../../src/domain/limits'
import { setPartnerRates } from '../../src/operations/partners'
import { endRequest } from '../../src/operations/requests'
import { actsOf } from '../support/acts'
import { booking, provider, region } from '../support/builders'
import { type Answer, defaultNow, startService } from '../support/service'
import { daily, entryOf, expectRefusal, lookUp, paths } from './contract'

const directory = {
  regions: [region({ id: 31 })],
  providers: ['First', 'Second'].map((lastName) =>
    provider(lastName, { lastName, timeZone: 'Etc/UTC', workingHours: [daily('09:00', '18:00')] }),
  ),
}
const limits = { openRequests: 3, emailConflicts: 4 }
const start = () => startService({ directory, limits })
let service: Awaited<ReturnType<typeof start>>

const post = (body: unknown, token?: string) => service.post(paths.booking, body, token)
const linesOf = async (memberId: number) =>
  (await actsOf(service.context).listAudit(1_000, { record: `member ${memberId}` })).map(
    ({ actor, action, outcome }) => [actor, action, outcome],
  )

describe('contract: limits for one member', () => {
  let [first, second] = [0, 0]
  beforeAll(async () => {
    service = await start()
    first = (await entryOf(service, 31, 'First')).providerId
    second = (await entryOf(service, 31, 'Second')).providerId
  })
  afterAll(() => service.stop())

  const at = (providerId: number, time: string, date = '2026-12-03') => ({
    providerId,
    utcStartTime: `${date}T${time}:00Z`,
  })

  test('two slots of one member may be adjacent, and overlapping slots are refused', async () => {
    expect((await post(booking('double', at(first, '10:30')))).status).toBe(201)
    const refused = await post(booking('double', at(second, '10:30')))
    expectRefusal(refused, {
      status: 400,
      kind: 'slot_conflicts_with_yours',
      path: 'bookingData.utcStartTime',
    })
    expect(refused.body.message).toBe(
      'bookingData.utcStartTime: the member already has a slot that overlaps with this one',
    )
    for (const time of ['09:45', '11:15']) {
      expect((await post(booking('double', at(second, time)))).status).toBe(201)
    }
    expect((await post(booking('other', at(second, '10:30')))).status).toBe(201)
  })

  test('a member can have a limited number of future slots, which does not limit intakes', async () => {
    for (const time of ['14:15', '15:00', '15:45']) {
      expect((await post(booking('eager', at(first, time)))).status).toBe(201)
    }
    const refused = await post(booking('eager', at(second, '16:30')))
    expectRefusal(refused, { status: 400, kind: 'too_many_open_requests', path: 'user.external_user_id' })
    expect(refused.body.message).toBe(
      'user.external_user_id: the member has 3 open requests with a future slot, and may not have more',
    )
    for (let count = 0; count < 5; count++) expect((await post(booking('eager'))).status).toBe(201)
    service.setNow('2026-12-03T14:15:00Z')
    expect((await post(booking('eager', at(second, '16:30')))).status).toBe(201)
    service.setNow(defaultNow)
  })
})

describe('contract: limits of intakes', () => {
  beforeEach(async () => {
    service = await startService({ directory, limits: { openIntakes: 2, intakes: perHour(15) } })
  })
  afterEach(() => service.stop())

  const policyOf = ({ headers }: Answer) => [headers.get('ratelimit-policy'), headers.get('ratelimit')]

  test('a member can have a limited number of intakes without a provider, and bookings besides', async () => {
    const { providerId } = await entryOf(service, 31, 'First')
    const ids: number[] = []
    for (let count = 0; count < 2; count++) ids.push((await post(booking('eager'))).body.id)
    const refused = await post(booking('eager'))
    expectRefusal(refused, { status: 400, kind: 'too_many_open_requests', path: 'user.external_user_id' })
    expect(refused.body.message).toBe(
      'user.external_user_id: the member has 2 intakes without a provider, and may not have more',
    )
    const slot = { providerId, utcStartTime: '2026-12-03T09:00:00Z' }
    expect((await post(booking('eager', slot))).status).toBe(201)
    expect((await post(booking('other'))).status).toBe(201)
    await endRequest(service.context, 'close', ids[0] as number, service.act())
    service.setNow('2026-12-01T13:00:00Z')
    expect((await post(booking('eager'))).status).toBe(201)
  })

  test('a partner beyond its intake rate gets 429 with that rate, and can still book', async () => {
    const { providerId } = await entryOf(service, 31, 'First')
    for (const name of ['m-1', 'm-2', 'm-3']) expect((await post(booking(name))).status).toBe(201)
    const limited = await post(booking('m-4'))
    expectRefusal(limited, { status: 429, kind: 'rate_limited' })
    expect([limited.headers.get('retry-after'), ...policyOf(limited)]).toEqual([
      '240',
      '"intakes";q=3;w=720',
      '"intakes";r=0;t=240',
    ])
    expect((await lookUp(service, 'm-4')).status).toBe(404)
    const slot = { providerId, utcStartTime: '2026-12-03T09:00:00Z' }
    const booked = await post(booking('m-4', slot))
    expect([booked.status, ...policyOf(booked)]).toEqual([201, null, null])
    expect((await post(booking('other'), (await service.addPartner('Other')).token)).status).toBe(201)
    service.setNow('2026-12-01T12:04:00Z')
    expect((await post(booking('m-5'))).status).toBe(201)
    const { partner } = service.partner
    await actsOf(service.context).setPartnerRates(partner.id, { intakesPerHour: 'off' }, service.act())
    for (const name of ['m-6', 'm-7', 'm-8', 'm-9']) expect((await post(booking(name))).status).toBe(201)
  })

  test('an intake that stores nothing costs nothing of the intake rate', async () => {
    for (let count = 0; count < 2; count++) await post(booking('eager'))
    for (let count = 0; count < 4; count++) expect((await post(booking('eager'))).status).toBe(400)
    expect((await post(booking('other'))).status).toBe(201)
    const last = await post(booking('eager'))
    expectRefusal(last, { status: 400, kind: 'too_many_open_requests', path: 'user.external_user_id' })
  })
})

describe('contract: the limit of email conflicts', () => {
  beforeEach(async () => {
    service = await start()
  })
  afterEach(() => service.stop())

  /** A response without the date and the request id. */
  const whole = ({ status, headers, body }: Answer) => ({
    status,
    body,
    headers: [...headers].filter(([name]) => name !== 'date' && name !== 'x-request-id'),
  })

  /**
   * Uses up the limit of email conflicts with the address of another partner's member. Returns the id of this member.
   */
  async function exhaust(): Promise<number> {
    const victim = await service.addPartner('Victim')
    const { body } = await post(booking('theirs', undefined, { email: 'known@example.com' }), victim.token)
    for (let count = 0; count < limits.emailConflicts; count++) {
      const answer = await post(booking('asker', undefined, { email: 'Known@Example.com' }))
      expectRefusal(answer, { status: 409, kind: 'email_taken', absent: ['nown@'] })
    }
    return body.member.id
  }

  test('turns further conflicts into 429 until Retry-After seconds have passed', async () => {
    const memberId = await exhaust()
    service.setNow('2026-12-01T12:20:00Z')
    const limited = await post(booking('asker', undefined, { email: 'known@example.com' }))
    expectRefusal(limited, { status: 429, kind: 'email_conflicts_limited', path: 'memberData.email' })
    expect(limited.body.message).toBe(
      'memberData.email: too many e-mail addresses of other members were sent; try again later',
    )
    expect(limited.headers.get('retry-after')).toBe('2400')
    expect(await linesOf(memberId)).toHaveLength(1 + limits.emailConflicts)
    service.setNow('2026-12-01T13:00:00Z')
    const again = await post(booking('asker', undefined, { email: 'known@example.com' }))
    expectRefusal(again, { status: 409, kind: 'email_taken' })
  })

  test('can be set for one partner, and is in force from its next call on', async () => {
    await exhaust()
    const ask = async () => (await post(booking('asker', undefined, { email: 'known@example.com' }))).status
    const setLimit = (emailConflictsPerHour: number | 'off' | null) =>
      setPartnerRates(service.context, service.partner.partner, { emailConflictsPerHour }, service.act())
    expect(await ask()).toBe(429)
    await setLimit(6)
    expect([await ask(), await ask(), await ask()]).toEqual([409, 409, 429])
    await setLimit('off')
    expect([await ask(), await ask()]).toEqual([409, 409])
    await setLimit(null)
    expect(await ask()).toBe(429)
  })

  test('beyond the limit reveals nothing about the addresses of members', async () => {
    const victim = await service.addPartner('Another')
    for (const name of ['a', 'b', 'c']) {
      await post(booking(name, undefined, { email: `taken-${name}@example.com` }), victim.token)
    }
    await post(booking('member'))
    await exhaust()
    const submission = fc.record({
      who: fc.constantFrom('member', 'asker', 'stranger'),
      which: fc.constantFrom('a', 'b', 'c'),
      isUpper: fc.boolean(),
      isIntake: fc.boolean(),
      minute: fc.integer({ min: 0, max: 59 }),
    })
    const { providerId } = await entryOf(service, 31, 'First')
    const slot = { providerId, utcStartTime: '2026-12-03T09:00:00Z' }
    await fc.assert(
      fc.asyncProperty(submission, async ({ who, which, isUpper, isIntake, minute }) => {
        service.setNow(`2026-12-01T12:${String(minute).padStart(2, '0')}:00Z`)
        const ask = async (state: string) => {
          const email = `${state}-${which}@example.com`
          const sent = { email: isUpper ? email.toUpperCase() : email }
          return whole(await post(booking(who, isIntake ? undefined : slot, sent)))
        }
        const [taken, free] = [await ask('taken'), await ask('free')]
        expect(taken).toEqual(free)
        expect(taken.status).toBe(429)
      }),
      { numRuns: 60 },
    )
    service.setNow(defaultNow)
    expect((await lookUp(service, 'asker')).status).toBe(404)
    expect((await lookUp(service, 'member')).body.email).toBe('member@example.com')
  })
})
