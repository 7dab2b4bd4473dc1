import { afterEach, beforeEach, expect, test } from 'bun:test'
import { takeServeLock } from '../../db/sqlite/file/lock'
import type { ScreeningAnswer } from '../../src/domain/booking-request'
import type { Partner } from '../../src/domain/partner'
import type { Facts, MaybePromise } from '../../src/domain/ports/store'
import { requireProvider, requireRequest } from '../../src/operations/find-records'
import { noteAct } from '../../src/operations/maintenance'
import { storeErasure } from '../../src/operations/members'
import { setPartnerRates } from '../../src/operations/partners'
import { acceptRequest, endRequest, readScreening } from '../../src/operations/requests'
import { measureRecords, readStatus, serviceState } from '../../src/operations/status'
import { issueFirstToken, rotateToken } from '../../src/operations/tokens'
import { reopenRequest } from '../../src/operations/transitions'
import { builtInZones } from '../../src/zones/packed'
import { actsOf } from '../support/acts'
import { provider, region } from '../support/builders'
import { isOnPostgres, testOfFile } from '../support/engine'
import { defaultNow, startService } from '../support/service'
import { blockWrites } from '../support/storage'

const zones = builtInZones()
const now = Date.parse(defaultNow)
const act = { actor: 'test', at: now }
const slotAt = Date.parse('2026-12-02T14:00:00Z')

let service: Awaited<ReturnType<typeof startService>>
beforeEach(async () => {
  service = await startService({ directory: { regions: [region()], providers: [provider('on-1')] } })
})
afterEach(() => service.stop())

const status = (at = now) => readStatus(service.context, zones, async () => 'up', at, 4)

const ninth = 'Thoughts that you would be better off dead, or of hurting yourself in some way'
const raised: ScreeningAnswer[] = [{ question: ninth, answer: 'Several days' }]
const unreadable: ScreeningAnswer[] = [{ question: ninth, answer: 'I would rather not say' }]
const fine: ScreeningAnswer[] = [{ question: ninth, answer: 'Not at all' }]

async function submit(externalUserId: string, screeningAnswers: ScreeningAnswer[], isBooking = false) {
  const providerId = requireProvider(service.context, 'on-1').id
  const slot = isBooking ? { providerId, startsAt: slotAt } : null
  return (await service.submit(externalUserId, { slot, screeningAnswers })).id
}

test('operations: the status of a new service lists no server, no waiting request and no backup', async () => {
  expect(await status()).toEqual({
    copied: null,
    servers: [],
    waiting: { intakes: 0, oldestIntakeAt: null, pending: 0 },
    unreadRisk: { count: 0, oldestAt: null },
    backups: { backedUpAt: null, drilledAt: null, ...(isOnPostgres && { isByServer: true }) },
    nextCutover: null,
    refused: [],
    isRefusedWhole: true,
    tokenConcerns: [],
    usedFrom: [],
    emailConflicts: [],
    movedBookings: 0,
    isTraced: true,
  })
})

testOfFile(
  'operations: the status shows a server as up while its lock is held and it answers, and as down without the lock',
  async () => {
    const { context, storage } = service
    const note = { host: '127.0.0.1', port: 8080, version: '1.0.0', startedAt: now }
    const asked: unknown[] = []
    const server = async (answer: 'up' | 'unready' | 'silent') => {
      const ask = async (one: unknown) => {
        asked.push(one)
        return answer
      }
      const [found, ...others] = (await readStatus(context, zones, ask, now, null)).servers
      expect(others).toEqual([])
      return found && [found.state, found.note, found.seenAt]
    }
    await context.maintenance.noteServer(note)
    expect(await server('up')).toEqual(['down', note, null])
    expect(asked).toEqual([])
    {
      using _ = takeServeLock(storage.database)
      expect(await server('up')).toEqual(['up', note, null])
      expect(await server('unready')).toEqual(['unready', note, null])
      expect(await server('silent')).toEqual(['silent', note, null])
      expect(asked).toEqual([note, note, note])
      await context.maintenance.noteServer(null)
      expect(await server('up')).toEqual(['silent', null, null])
    }
    expect(await server('up')).toBeUndefined()
  },
)

test('operations: the status queries no server if the engine lists the servers and their states', async () => {
  const { context } = service
  const note = { host: '0.0.0.0', port: 8080, machine: 'one', version: '1.0.0', startedAt: now }
  const found = [
    { isServing: true, note, seenAt: now },
    { isServing: false, note: { ...note, machine: 'two' }, seenAt: now - 60_000 },
    { isServing: true, note: { ...note, isReady: false }, seenAt: now },
    { isServing: false, note: { ...note, isReady: false }, seenAt: now - 60_000 },
  ]
  const maintenance = { ...context.maintenance, listServers: async () => found }
  const ask = async () => expect.unreachable() as never
  const { servers } = await readStatus({ ...context, maintenance }, zones, ask, now, null)
  expect(servers).toEqual([
    { state: 'up', note, seenAt: now },
    { state: 'down', note: { ...note, machine: 'two' }, seenAt: now - 60_000 },
    { state: 'unready', note: { ...note, isReady: false }, seenAt: now },
    { state: 'down', note: { ...note, isReady: false }, seenAt: now - 60_000 },
  ])
  expect(serviceState(servers)).toBe('up')
  expect(serviceState(servers.slice(1))).toBe('unready')
  expect(serviceState(servers.slice(3))).toBe('down')
  expect(serviceState([])).toBe('down')
})

test('operations: the status counts a risk as unread until staff read the answers, even of an accepted request', async () => {
  const { context } = service
  const [first, second] = [await submit('a', raised), await submit('b', unreadable)]
  const third = await submit('c', raised)
  const booked = await submit('d', raised, true)
  await submit('e', fine)
  await submit('f', [])
  const count = async (at = now) => (await status(at)).unreadRisk.count
  expect(await status()).toMatchObject({
    waiting: { intakes: 5, oldestIntakeAt: now, pending: 1 },
    unreadRisk: { count: 4, oldestAt: now },
  })
  await noteAct(context, act, 'request.read-screening', `request ${first}`, 'record_unknown')
  await noteAct(context, act, 'request.show', `request ${first}`)
  expect(await count()).toBe(4)
  await readScreening(context, first, act)
  expect(await count()).toBe(3)
  await noteAct(context, act, 'request.read-risk', `request ${second}`)
  expect(await count()).toBe(3)
  await readScreening(context, second, act)
  expect(await count()).toBe(2)
  await acceptRequest(context, booked, act)
  expect(await status()).toMatchObject({ waiting: { pending: 0 }, unreadRisk: { count: 2 } })
  const day = 86_400_000
  for (const ahead of [0, day, 30 * day, 40 * day]) expect(await count(slotAt - ahead)).toBe(2)
  expect(await count(slotAt + 1)).toBe(1)
  await corruptAnswers(third)
  expect(await count()).toBe(2)
  await readScreening(context, third, act).catch(() => {})
  await endRequest(context, 'decline', booked, act)
  expect(await count()).toBe(1)
})

async function corruptAnswers(id: number) {
  await using other = await blockWrites(service.storage)
  const zero = isOnPostgres ? String.raw`'\x00'` : "x'00'"
  await other.run(`UPDATE booking_requests SET sealed_screening_answers = ${zero} WHERE id = ${id}`)
  await other.commit()
}

test('operations: the answers of a request are opened once, 100 at a time, and an erased person is forgotten', async () => {
  const { context } = service
  const opened: number[][] = []
  let turns = 0
  const others = setInterval(() => turns++)
  const openedAt: number[] = []
  const store = {
    ...context.store,
    read: <T>(work: (facts: Facts) => MaybePromise<T>) =>
      context.store.read((facts) => {
        const readableAnswers = (ids: readonly number[]) => {
          opened.push([...ids])
          openedAt.push(turns)
          return facts.requests.readableAnswers(ids)
        }
        return work({ ...facts, requests: Object.assign(Object.create(facts.requests), { readableAnswers }) })
      }),
  }
  const measure = async () => (await measureRecords({ ...context, store })).unreadRisk
  const ids: number[] = []
  for (let index = 0; index < 102; index++) ids.push(await submit(`m-${index}`, index < 3 ? raised : fine))
  const booked = await submit('booked', raised, true)
  await acceptRequest(context, booked, act)
  expect(await measure()).toEqual({ count: 4, oldestAt: now })
  clearInterval(others)
  expect(opened).toEqual([ids.slice(0, 100), [...ids.slice(100), booked]])
  // Other work ran between the two.
  expect(openedAt[1]).toBeGreaterThan(openedAt[0] as number)
  const member = async (id: number) => (await requireRequest(context, id)).member?.id as number
  for (const id of [ids[0] as number, booked]) {
    await storeErasure(context, await member(id), act)
  }
  await endRequest(context, 'close', ids[1] as number, act)
  const late = await submit('late', raised)
  expect(await measure()).toEqual({ count: 2, oldestAt: now })
  expect(opened.slice(2)).toEqual([[late]])
  await reopenRequest(context, ids[1] as number, act)
  expect(await measure()).toEqual({ count: 3, oldestAt: now })
  expect(opened.slice(3)).toEqual([[ids[1] as number]])
})

test('operations: the status shows the earliest future cutover', async () => {
  const { context } = service
  const other = await service.addPartner('Other')
  await rotateToken(context, other.partner, now + 3_000, act)
  await rotateToken(context, service.partner.partner, now + 5_000, act)
  expect((await status()).nextCutover).toEqual({ partner: 'Other', at: now + 3_000 })
  expect((await status(now + 4_000)).nextCutover).toEqual({ partner: 'Test Partner', at: now + 5_000 })
  expect((await status(now + 5_000)).nextCutover).toBeNull()
  // A cancelled cutover is not shown.
  const third = await actsOf(context).addPartner('Third', null, act)
  await issueFirstToken(context, third, act)
  await rotateToken(context, third, now + 9_000, act)
  await actsOf(context).revokeKeys(third.id, act)
  expect((await status(now + 5_000)).nextCutover).toBeNull()
})

test('operations: the status and the metrics name partners from half of their limit of e-mail conflicts on', async () => {
  const { context } = service
  const [mine, other] = [service.partner.partner, (await service.addPartner('Other')).partner]
  const note = (partner: Partner, at = now, isConflict = true) => {
    const line = { actor: `partner ${partner.id}`, at, record: null }
    return context.store.appendAudit([
      isConflict
        ? { ...line, action: 'member.email-conflict', outcome: 'email_taken' }
        : { ...line, action: 'partner.email-limit', outcome: 'email_conflicts_limited, 6 more' },
    ])
  }
  const found = async (limit: number | 'off' | null) => {
    await setPartnerRates(context, other, { emailConflictsPerHour: limit }, act)
    return (await status()).emailConflicts
  }
  const named = { partnerId: other.id, partner: 'Other', conflicts: 2, refused: 6 }
  for (const at of [now, now - 3_600_000]) await note(other, at)
  await note(other, now, false)
  await note(mine)
  expect(await found(null)).toEqual([])
  await note(other)
  expect(await found(null)).toEqual([{ ...named, limit: 4 }])
  expect(await found(5)).toEqual([])
  expect(await found('off')).toEqual([])
  expect(await found(1)).toEqual([{ ...named, limit: 1 }])
  const measured = await measureRecords({ ...context, limits: { ...context.limits, emailConflicts: 2 } })
  expect(measured.emailConflicts.map(({ partner, limit }) => [partner, limit])).toEqual([
    [mine.name, 2],
    ['Other', 1],
  ])
})

test("operations: the status counts today's refused authentications by partner and reason, and marks claimed partners", async () => {
  const { context, partner } = service
  const record = `partner ${partner.partner.id}`
  const midnight = Date.parse('2026-12-01T00:00:00Z')
  const refuse = (at: number, record: string | null, outcome: string) =>
    noteAct(context, { actor: '192.0.2.1', at }, 'authentication.refuse', record, outcome)
  await refuse(midnight - 1, record, 'partner_inactive')
  await refuse(midnight, null, 'token_invalid')
  await refuse(now, record, 'token_invalid, claimed')
  await refuse(now, record, 'token_invalid, claimed')
  await refuse(now, record, 'partner_inactive')
  await refuse(now, 'partner 99', 'token_invalid, claimed')
  const { refused } = await status()
  expect(refused).toHaveLength(4)
  for (const expected of [
    { partner: null, reason: 'token_invalid', isClaimed: false, count: 1, lines: 1, lastAt: midnight },
    { partner: 'Test Partner', reason: 'token_invalid', isClaimed: true, count: 2, lines: 2, lastAt: now },
    {
      partner: 'Test Partner',
      reason: 'partner_inactive',
      isClaimed: false,
      count: 1,
      lines: 1,
      lastAt: now,
    },
    { partner: 'partner 99', reason: 'token_invalid', isClaimed: true, count: 1, lines: 1, lastAt: now },
  ]) {
    expect(refused).toContainEqual(expected)
  }
})
