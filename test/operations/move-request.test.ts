import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import type { RequestedSlot } from '../../src/domain/booking-request'
import type { Provider } from '../../src/domain/provider'
import type { Context } from '../../src/operations/context'
import { requireProvider } from '../../src/operations/find-records'
import { endRequest } from '../../src/operations/requests'
import { placeRequest, reopenRequest } from '../../src/operations/transitions'
import { actsOf, meanwhile } from '../support/acts'
import { provider, region } from '../support/builders'
import { defaultNow, startService } from '../support/service'

const now = Date.parse(defaultNow)
const act = { actor: 'test', at: now }
// 09:00 and 09:45 in Toronto on a Wednesday.
const first = Date.parse('2026-12-02T14:00:00Z')
const second = Date.parse('2026-12-02T14:45:00Z')

let service: Awaited<ReturnType<typeof startService>>
let context: Context
let on1: Provider
let on2: Provider

beforeEach(async () => {
  const providers = [provider('on-1'), provider('on-2')]
  service = await startService({ directory: { regions: [region()], providers }, listens: false })
  context = service.context
  on1 = requireProvider(context, 'on-1')
  on2 = requireProvider(context, 'on-2')
})
afterEach(() => service.stop())

const submit = (externalUserId: string, slot: RequestedSlot | null) =>
  service.submit(externalUserId, { slot, member: { state: 'ON' } })

const book = (externalUserId: string, startsAt = first, { id: providerId } = on1) =>
  submit(externalUserId, { providerId, startsAt })

const move = (id: number, to: Provider, at: number) => placeRequest(context, 'move', id, to, at, act)

const isFree = ({ id }: Provider, at: number) => {
  const listing = context.directory.findListing(id)
  return listing !== null && context.directory.isOffered(listing, at, now)
}

describe('operations: moving a request', () => {
  test('an unassigned intake cannot be moved until it has a provider', async () => {
    const { id } = await submit('a', null)
    await expect(move(id, on1, first)).rejects.toMatchObject({
      kind: 'move_unknown',
      message: 'a request that is unassigned cannot be moved',
    })
    await placeRequest(context, 'assign', id, on1, null, act)
    expect(await move(id, on1, first)).toMatchObject({ state: 'pending', startsAt: first })
    expect(isFree(on1, first)).toBe(false)
  })
})

describe('operations: reopening a request', () => {
  const reopen = (id: number, at = now) => reopenRequest(context, id, { ...act, at })
  const decline = (id: number) => endRequest(context, 'decline', id, act)

  test('a declined booking takes its slot again, even within the notice of its provider', async () => {
    const { id } = await book('a')
    await decline(id)
    expect(isFree(on1, first)).toBe(true)
    expect(await reopen(id)).toMatchObject({ state: 'pending', startsAt: first, declinedAt: null })
    expect(isFree(on1, first)).toBe(false)
    await decline(id)
    await service.load({
      regions: [region()],
      providers: [provider('on-1', { minimumNoticeMinutes: 3 * 24 * 60 }), provider('on-2')],
    })
    expect(isFree(on1, first)).toBe(false)
    expect(await reopen(id, first - 1)).toMatchObject({ state: 'pending' })
    for (const [to, at] of [
      [on1, second],
      [on2, first],
    ] as const) {
      const moved = move(id, to, at).then(
        () => 'done',
        ({ kind }) => kind,
      )
      expect(await moved).toBe(to === on1 ? 'slot_unavailable' : 'done')
    }
  })

  test('a booking is not reopened if its slot has begun, is taken or is in an absence, or if it was not declined', async () => {
    const { id } = await book('a')
    const refusal = (at?: number) => reopen(id, at).catch(({ kind, message }) => [kind, message])
    expect(await refusal()).toEqual(['move_unknown', 'a request that is pending cannot be reopened'])
    await decline(id)
    expect(await refusal(first)).toEqual([
      'move_unknown',
      'the slot of the request is past: 2026-12-02T14:00:00Z',
    ])
    const { id: other } = await book('b')
    const taken = 'the slot is not available; run anteroom provider why on-1 2026-12-02T14:00:00Z'
    expect(await refusal()).toEqual(['slot_unavailable', taken])
    await decline(other)
    await actsOf(context).addTimeOff(on1.id, { from: '2026-12-02', until: '2026-12-02' }, act)
    await context.directory.catchUp()
    expect(await refusal()).toEqual(['slot_unavailable', taken])
    expect(await actsOf(context).findRequest(id)).toMatchObject({ state: 'declined', declinedAt: now })
  })

  test('a closed intake is unassigned again, and a declined intake is not reopened', async () => {
    const { id } = await submit('a', null)
    await endRequest(context, 'close', id, act)
    expect(await reopen(id)).toMatchObject({ state: 'unassigned', declinedAt: null })
    await placeRequest(context, 'assign', id, on1, first, act)
    await decline(id)
    await expect(reopen(id)).rejects.toMatchObject({ kind: 'move_unknown' })
    await expect(reopen(4711)).rejects.toMatchObject({ kind: 'record_unknown' })
  })
})

describe('operations: a refused move of a request changes nothing', () => {
  async function expectRefused(id: number, to: Provider, at: number, kind: string): Promise<string> {
    const before = await actsOf(context).findRequest(id)
    const lines = (await actsOf(context).listAudit(1000)).length
    const refusal: unknown = await move(id, to, at).catch((error) => error)
    expect(refusal).toMatchObject({ kind })
    expect(await actsOf(context).findRequest(id)).toEqual(before)
    expect(await actsOf(context).listAudit(1000)).toHaveLength(lines)
    return (refusal as Error).message
  }

  test.each([
    ['is off the grid', first + 60_000],
    ['is outside working hours', first - 6 * 3_600_000],
    ['is in the past', now - 86_400_000],
    ['is beyond the horizon', first + 35 * 86_400_000],
  ])('a move to a slot that %s is refused', async (_, at) => {
    const message = await expectRefused((await book('a')).id, on1, at, 'slot_unavailable')
    expect(message).toStartWith('the slot is not available; run anteroom provider why on-1 2')
  })

  test('a move is refused if the slot is taken, or overlaps another slot of the member', async () => {
    const { id } = await book('a')
    await book('b', second)
    await expectRefused(id, on1, second, 'slot_unavailable')
    await book('a', second, on2)
    await book('c', first, on2)
    const { id: later } = await book('c', second + 45 * 60_000, on2)
    await expectRefused(later, on1, first, 'slot_unavailable')
    await actsOf(context).decline(id, act)
    await context.directory.catchUp()
    await expectRefused(later, on1, first, 'slot_conflicts_with_yours')
  })

  test('a move is refused if the provider is deactivated, or the request does not exist', async () => {
    const { id } = await book('a')
    await actsOf(context).setProviderActive(on2.id, false, act)
    await expectRefused(id, on2, second, 'move_unknown')
    await expectRefused(4711, on1, second, 'record_unknown')
  })
})

describe('operations: moving a request while another process writes', () => {
  test('a move succeeds only if the changed schedule still has the slot', async () => {
    const { id } = await book('a')
    const away = (day: string) => () => actsOf(context).addTimeOff(on1.id, { from: day, until: day }, act)
    const later = meanwhile(context, away('2026-12-10'))
    expect(await placeRequest(later, 'move', id, on1, second, act)).toMatchObject({ startsAt: second })
    const sameDay = meanwhile(context, away('2026-12-02'))
    await expect(placeRequest(sameDay, 'move', id, on1, first, act)).rejects.toMatchObject({
      kind: 'slot_unavailable',
    })
  })
})

test('operations: only one of many simultaneous moves to one slot succeeds', async () => {
  const workdays = [1, 2, 5, 6, 7, 8]
  const starts = workdays.map((days) => second + days * 86_400_000)
  const booked = await Promise.all(starts.map((at, index) => book(`m${index}`, at)))
  const ended = await Promise.allSettled(booked.map(({ id }) => move(id, on1, second)))
  expect(ended.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  const kept = await Promise.all(booked.map(({ id }) => actsOf(context).findRequest(id)))
  const held = kept.map((request) => request?.startsAt as number)
  expect(new Set(held).size).toBe(6)
  expect(held.filter((at) => at === second)).toHaveLength(1)
  const refused = ended.flatMap((end) => (end.status === 'rejected' ? [end.reason.kind] : []))
  expect(refused).toEqual(Array(5).fill('slot_unavailable'))
})
