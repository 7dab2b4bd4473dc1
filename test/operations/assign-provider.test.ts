import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import type { RequestedSlot } from '../../src/domain/booking-request'
import type { Provider } from '../../src/domain/provider'
import type { Context } from '../../src/operations/context'
import { requireProvider } from '../../src/operations/find-records'
import { findAssignmentWarning, placeRequest } from '../../src/operations/transitions'
import { actsOf, meanwhile } from '../support/acts'
import { countryWide, provider, region } from '../support/builders'
import { defaultNow, startService } from '../support/service'

const now = Date.parse(defaultNow)
const act = { actor: 'test', at: now }
// 09:00 and 09:45 in Toronto on a Wednesday.
const first = Date.parse('2026-12-02T14:00:00Z')
const second = Date.parse('2026-12-02T14:45:00Z')

const directory = {
  regions: [region(), countryWide('IE', 'Ireland')],
  providers: [provider('on-1')],
}

let service: Awaited<ReturnType<typeof startService>>
let context: Context
let on1: Provider

beforeEach(async () => {
  service = await startService({ directory, listens: false })
  context = service.context
  on1 = requireProvider(context, 'on-1')
})
afterEach(() => service.stop())

const submit = async (externalUserId: string, slot: RequestedSlot | null = null, country = 'CA') =>
  (await service.submit(externalUserId, { slot, member: { country, state: 'ON' } })).id

const isFree = ({ id }: Provider, at: number) => {
  const listing = context.directory.findListing(id)
  return listing !== null && context.directory.isOffered(listing, at, now)
}

const assign = (id: number, to: Provider, at: number | null = null) =>
  placeRequest(context, 'assign', id, to, at, act)

describe('operations: an unassigned intake', () => {
  test('an assigned intake has a provider, an authorization number and a slot that is no longer free', async () => {
    const assigned = await assign(await submit('a'), on1, first)
    expect(assigned).toMatchObject({ state: 'pending', providerId: on1.id, startsAt: first })
    expect(assigned.authorizationNumber).toMatch(/^[0-9A-Z]{4}-[0-9A-Z]{4}-[0-9A-Z]{4}$/)
    expect(isFree(on1, first)).toBe(false)
    await expect(submit('b', { providerId: on1.id, startsAt: first })).rejects.toMatchObject({
      kind: 'slot_unavailable',
    })
  })

  test('an intake can be assigned to a provider without choosing a slot', async () => {
    expect(await assign(await submit('a'), on1)).toMatchObject({ state: 'pending', startsAt: null })
    expect(isFree(on1, first)).toBe(true)
  })
})

describe('operations: an assigned intake', () => {
  test('an assigned intake can be assigned again with the same slot', async () => {
    const id = await submit('a')
    await assign(id, on1, first)
    expect(await assign(id, on1, first)).toMatchObject({ startsAt: first })
    expect(isFree(on1, first)).toBe(false)
  })
})

describe('operations: a refused assignment of an intake changes nothing', () => {
  async function expectRefused(id: number, to: Provider, at: number | null, kind: string): Promise<void> {
    const before = await actsOf(context).findRequest(id)
    const lines = (await actsOf(context).listAudit(1000)).length
    await expect(assign(id, to, at)).rejects.toMatchObject({ kind })
    expect(await actsOf(context).findRequest(id)).toEqual(before)
    expect(await actsOf(context).listAudit(1000)).toHaveLength(lines)
  }

  test('an assignment to a deactivated provider is refused', async () => {
    await actsOf(context).setProviderActive(on1.id, false, act)
    await expectRefused(await submit('a'), on1, null, 'move_unknown')
  })

  test.each([
    ['is off the grid', first + 60_000],
    ['is outside working hours', first - 6 * 3_600_000],
    ['is in the past', now - 86_400_000],
    ['is beyond the horizon', first + 35 * 86_400_000],
  ])('an assignment to a slot that %s is refused', async (_, at) =>
    expectRefused(await submit('a'), on1, at, 'slot_unavailable'),
  )

  test('an assignment of a closed intake is refused because the intake is closed, even if the slot is also taken', async () => {
    const [id, holder] = [await submit('a'), await submit('b')]
    await actsOf(context).close(id, act)
    await placeRequest(context, 'assign', holder, on1, first, act)
    await expectRefused(id, on1, first, 'move_unknown')
  })
})

describe('operations: assigning an intake while another process writes', () => {
  test('an assignment is refused if the provider is deactivated right before the write', async () => {
    const id = await submit('a')
    const racing = meanwhile(context, () => actsOf(context).setProviderActive(on1.id, false, act))
    await expect(placeRequest(racing, 'assign', id, on1, null, act)).rejects.toMatchObject({
      kind: 'move_unknown',
    })
  })

  test('an assignment succeeds only if the changed schedule still has the slot', async () => {
    const id = await submit('a')
    const later = meanwhile(context, () =>
      actsOf(context).addTimeOff(on1.id, { from: '2026-12-10', until: '2026-12-10' }, act),
    )
    expect(await placeRequest(later, 'assign', id, on1, first, act)).toMatchObject({ startsAt: first })
    const sameDay = meanwhile(context, () =>
      actsOf(context).addTimeOff(on1.id, { from: '2026-12-02', until: '2026-12-02' }, act),
    )
    await expect(placeRequest(sameDay, 'assign', id, on1, second, act)).rejects.toMatchObject({
      kind: 'slot_unavailable',
    })
  })
})

describe('operations: a warning before an assignment', () => {
  async function concern(country: string, at = now) {
    const member = (await actsOf(context).findRequest(await submit(country, null, country)))?.member
    if (!member) throw new Error('the request has no member')
    return findAssignmentWarning(context.directory, member, on1, at)
  }

  test("a warning is given if the provider has no license in the member's region, or if the region is unknown", async () => {
    expect(await concern('CA')).toBeNull()
    expect(await concern('IE')).toEqual({ about: 'unlicensed', region: 'IE' })
    expect(await concern('FR')).toEqual({ about: 'region unknown', country: 'FR' })
  })

  test("a warning is given if the license in the member's region is not valid at the session", async () => {
    const licenses = [{ region: 'CA-ON', from: '2026-12-02', until: '2026-12-03' }]
    await service.load({ ...directory, providers: [provider('on-1', { licenses })] })
    const days = [-1, 0, 1, 2].map((day) => first + day * 86_400_000)
    const unlicensed = { about: 'unlicensed', region: 'CA-ON' } as const
    expect(await Promise.all(days.map((at) => concern('CA', at)))).toEqual([
      unlicensed,
      null,
      null,
      unlicensed,
    ])
  })
})
