import { afterEach, beforeEach, expect, test } from 'bun:test'
import type { DirectoryFile } from '../../src/directory-files/document'
import type { RequestedSlot } from '../../src/domain/booking-request'
import { absenceOfRequest, listUnavailableBookings } from '../../src/operations/check-bookings'
import { requireProvider } from '../../src/operations/find-records'
import { removeTimeOff, setProviderActive, storeTimeOff } from '../../src/operations/providers'
import { endRequest } from '../../src/operations/requests'
import { placeRequest } from '../../src/operations/transitions'
import { provider, region } from '../support/builders'
import { defaultNow, startService } from '../support/service'

const now = Date.parse(defaultNow)
const act = { actor: 'test', at: now }
// 09:00 and 09:45 in Toronto on a Wednesday.
const first = Date.parse('2026-12-02T14:00:00Z')
const second = Date.parse('2026-12-02T14:45:00Z')

const directory = (different: Partial<DirectoryFile['providers'][number]> = {}, active = true) => ({
  regions: [region({ active })],
  providers: [provider('on-1', different), provider('on-2')],
})

let service: Awaited<ReturnType<typeof startService>>
beforeEach(async () => {
  service = await startService({ directory: directory(), listens: false })
})
afterEach(() => service.stop())

const book = (externalUserId: string, ref: string, startsAt: number): Promise<number> =>
  submit(externalUserId, { providerId: requireProvider(service.context, ref).id, startsAt })

const submit = async (externalUserId: string, slot: RequestedSlot | null): Promise<number> =>
  (await service.submit(externalUserId, { slot })).id

const unavailable = (at = now) =>
  listUnavailableBookings(service.context, at).map(({ requestId, provider, startsAt, reason }) => [
    requestId,
    provider,
    startsAt,
    reason,
  ])

test('operations: listUnavailableBookings does not list bookings that their providers can hold', async () => {
  await book('a', 'on-1', first)
  await book('b', 'on-2', first)
  expect(unavailable()).toEqual([])
})

test('operations: listUnavailableBookings lists the future bookings of a suspended or deactivated provider', async () => {
  const [a, b] = [await book('a', 'on-1', first), await book('b', 'on-1', second)]
  await book('c', 'on-2', first)
  const on1 = requireProvider(service.context, 'on-1')
  await setProviderActive(service.context, on1, false, act)
  expect(unavailable()).toEqual([
    [a, 'on-1', first, 'provider_suspended'],
    [b, 'on-1', second, 'provider_suspended'],
  ])
  // A booking that has begun is not listed.
  expect(unavailable(first)).toEqual([[b, 'on-1', second, 'provider_suspended']])
  await endRequest(service.context, 'decline', b, act)
  expect(unavailable(first)).toEqual([])
  await setProviderActive(service.context, on1, true, act)
  expect(unavailable()).toEqual([])
  await service.load(directory({ active: false }))
  expect(unavailable()).toEqual([[a, 'on-1', first, 'provider_deactivated']])
})

test('operations: listUnavailableBookings lists bookings that overlap time off of the provider', async () => {
  const [a, b] = [await book('a', 'on-1', first), await book('b', 'on-1', second)]
  const on1 = requireProvider(service.context, 'on-1')
  const absence = { from: '2026-12-02T09:40', until: '2026-12-02T09:50' }
  await storeTimeOff(service.context, on1.id, absence, act)
  expect(unavailable()).toEqual([
    [a, 'on-1', first, 'time_off'],
    [b, 'on-1', second, 'time_off'],
  ])
  await removeTimeOff(service.context, requireProvider(service.context, 'on-1'), absence, act)
  expect(unavailable()).toEqual([])
  await service.load(directory({ timeOff: [{ from: '2026-12-02T09:45', until: '2026-12-02T12:00' }] }))
  expect(unavailable()).toEqual([[b, 'on-1', second, 'time_off']])
})

test('operations: listUnavailableBookings lists bookings if the license is not valid at the session, or if the region of the license is deactivated', async () => {
  const a = await book('a', 'on-1', first)
  const b = await book('b', 'on-2', second)
  await service.load(directory({ licenses: [{ region: 'CA-ON', from: '2020-01-01', until: '2026-12-01' }] }))
  expect(unavailable()).toEqual([[a, 'on-1', first, 'license']])
  await service.load(directory({ licenses: [] }))
  expect(unavailable()).toEqual([[a, 'on-1', first, 'license']])
  const timeOff = [{ from: '2026-12-02', until: '2026-12-02' }]
  await service.load(directory({ licenses: [], timeOff }))
  expect(unavailable()).toEqual([[a, 'on-1', first, 'license']])
  await service.load(directory({}, false))
  expect(unavailable()).toEqual([
    [a, 'on-1', first, 'license'],
    [b, 'on-2', second, 'license'],
  ])
})

test('operations: absenceOfRequest reports a request without a slot only if the provider is suspended or deactivated', async () => {
  const { context } = service
  const on1 = requireProvider(context, 'on-1')
  const request = await placeRequest(context, 'assign', await submit('a', null), on1, null, act)
  const absence = () => absenceOfRequest(context, request, now)
  expect(absence()).toBeNull()
  await service.load(directory({ licenses: [] }))
  expect(absence()).toBeNull()
  await setProviderActive(context, on1, false, act)
  expect(absence()).toBe('provider_suspended')
  await setProviderActive(context, on1, true, act)
  await service.load(directory({ active: false }))
  expect(absence()).toBe('provider_deactivated')
})
