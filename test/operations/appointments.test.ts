import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { type Member, unreadableMember } from '../../src/domain/member'
import type { Facts, Store } from '../../src/domain/ports/store'
import { readAppointments } from '../../src/operations/appointments'
import { requireProvider, requireRequest } from '../../src/operations/find-records'
import { acceptRequest, endRequest } from '../../src/operations/requests'
import { builtInZones } from '../../src/zones/packed'
import { actsOf } from '../support/acts'
import { provider, region } from '../support/builders'
import { startService } from '../support/service'

const zones = builtInZones()
let service: Awaited<ReturnType<typeof startService>>

beforeEach(async () => {
  service = await startService({
    listens: false,
    // Tuesday, 09:30 in Toronto. In Auckland it is already Wednesday.
    now: '2026-12-01T14:30:00Z',
    directory: {
      regions: [region(), region({ stateProvinceCode: 'BC', stateProvinceNameLocal: 'British Columbia' })],
      providers: [
        provider('on-1', { firstName: 'Marlow', lastName: 'Fernhill' }),
        provider('bc-1', { timeZone: 'America/Vancouver' }),
        provider('night', { workingHours: [{ weekdays: ['monday'], start: '00:00', end: '00:45' }] }),
        provider('nz-1', { timeZone: 'Pacific/Auckland' }),
      ],
    },
  })
})
afterEach(() => service.stop())

const idOf = (ref: string) => requireProvider(service.context, ref).id

async function book(externalUserId: string, ref: string, utcStartTime: string, member = {}) {
  const slot = { providerId: idOf(ref), startsAt: Date.parse(utcStartTime) }
  return (await service.submit(externalUserId, { slot, member })).id
}

async function read(on: string, different: { ref?: string; zone?: string } = {}) {
  const { ref, zone } = different
  const provider = ref === undefined ? null : requireProvider(service.context, ref)
  const asked = { on, provider, zone: zone === undefined ? null : zones.find(zone) }
  return readAppointments(service.context, zones, asked, service.act())
}

const idsOn = async (...words: Parameters<typeof read>) => {
  const { dates, appointments } = await read(...words)
  return [dates, appointments.map(({ request }) => request.id)]
}

const linesSince = async (line: number) =>
  (await actsOf(service.context).listAudit(100, { after: line })).map(({ action, record, outcome }) => [
    action,
    record,
    outcome,
  ])

describe('operations: the appointments of a day', () => {
  test('an appointment includes the local times of provider and member, and the contact details of the member', async () => {
    const id = await book('robin', 'on-1', '2026-12-02T14:00:00Z', {
      preferredName: 'Robbie',
      phoneNumber: '+1 604 555 0100',
      leaveVoicemail: 'No',
      state: 'BC',
    })
    const { dates, appointments } = await read('tomorrow', { ref: 'on-1' })
    expect(dates).toEqual(['2026-12-02'])
    expect(appointments).toEqual([
      {
        request: expect.objectContaining({ id, state: 'pending' }),
        startsAt: Date.parse('2026-12-02T14:00:00Z'),
        provider: expect.objectContaining({ ref: 'on-1' }),
        local: 'Wed 2026-12-02 09:00',
        memberTime: {
          earliest: 'Wed 2026-12-02 07:00',
          latest: 'Wed 2026-12-02 08:00',
          zones: ['America/Vancouver', 'America/Edmonton'],
        },
        partner: 'Test Partner',
      },
    ])
    expect(appointments[0]?.request.member?.profile).toMatchObject({
      preferredName: 'Robbie',
      phoneNumber: '+1 604 555 0100',
      leaveVoicemail: 'No',
    })
  })

  test('pending and accepted appointments are returned in order of time, and each appointment adds an audit line', async () => {
    const late = await book('late', 'on-1', '2026-12-02T15:30:00Z')
    const declined = await book('declined', 'on-1', '2026-12-02T14:00:00Z')
    const early = await book('early', 'on-1', '2026-12-02T14:45:00Z')
    await endRequest(service.context, 'decline', declined, service.act())
    await acceptRequest(service.context, late, service.act())
    const { id: before } = await actsOf(service.context).auditHead()
    expect(await idsOn('2026-12-02')).toEqual([['2026-12-02'], [early, late]])
    expect(await linesSince(before)).toEqual([
      ['request.read-appointment', `request ${early}`, 'done'],
      ['request.read-appointment', `request ${late}`, 'done'],
    ])
    const { id: after } = await actsOf(service.context).auditHead()
    expect(await idsOn('2026-12-03')).toEqual([['2026-12-03'], []])
    expect(await linesSince(after)).toEqual([])
  })

  test('appointments are not returned if the audit log cannot be written', async () => {
    await book('robin', 'on-1', '2026-12-02T14:00:00Z')
    const store = { ...service.context.store, appendAudit: () => Promise.reject(new Error('disk')) }
    const asked = { on: '2026-12-02', provider: null, zone: null }
    const reading = readAppointments({ ...service.context, store }, zones, asked, service.act())
    await expect(reading).rejects.toThrow('disk')
  })

  test("a day is a date in each provider's time zone, or in the given time zone for all providers", async () => {
    // Both slots begin at 09:00 in the time zones of their providers.
    const auckland = await book('a', 'nz-1', '2026-12-02T20:00:00Z')
    const vancouver = await book('v', 'bc-1', '2026-12-02T16:00:00Z')
    expect(await idsOn('2026-12-02')).toEqual([['2026-12-02'], [vancouver]])
    expect(await idsOn('2026-12-03')).toEqual([['2026-12-03'], [auckland]])
    expect(await idsOn('2026-12-02', { zone: 'America/Toronto' })).toEqual([
      ['2026-12-02'],
      [vancouver, auckland],
    ])
    expect(await idsOn('2026-12-02', { zone: 'America/Toronto', ref: 'bc-1' })).toEqual([
      ['2026-12-02'],
      [vancouver],
    ])
    expect(await idsOn('2026-12-03', { zone: 'Pacific/Auckland' })).toEqual([
      ['2026-12-03'],
      [vancouver, auckland],
    ])
  })

  test("today and tomorrow are dates in each provider's time zone, and the result lists these dates", async () => {
    const auckland = await book('a', 'nz-1', '2026-12-02T20:00:00Z')
    const toronto = await book('t', 'on-1', '2026-12-02T14:00:00Z')
    expect(await idsOn('today')).toEqual([['2026-12-01', '2026-12-02'], []])
    expect(await idsOn('tomorrow')).toEqual([
      ['2026-12-02', '2026-12-03'],
      [toronto, auckland],
    ])
    expect(await idsOn('today', { zone: 'Pacific/Auckland' })).toEqual([['2026-12-02'], []])
  })

  test('appointments of a past day are returned too', async () => {
    const id = await book('robin', 'on-1', '2026-12-02T14:00:00Z')
    service.setNow('2027-12-02T14:00:00Z')
    expect(await idsOn('2026-12-02')).toEqual([['2026-12-02'], [id]])
  })

  test('the day of a clock change begins and ends at local midnight', async () => {
    service.setNow('2027-03-12T14:30:00Z')
    // Monday, 00:00 in Toronto. The clock changed on Sunday.
    const monday = await book('m', 'night', '2027-03-15T04:00:00Z')
    const at = async (on: string) => (await idsOn(on, { zone: 'America/Toronto' }))[1]
    expect([await at('2027-03-14'), await at('2027-03-15')]).toEqual([[], [monday]])
  })

  test('the appointment of an erased member is returned without the member, and adds no audit line', async () => {
    const id = await book('robin', 'on-1', '2026-12-02T14:00:00Z')
    const member = await actsOf(service.context).findMember(service.partner.partner.id, 'robin')
    await actsOf(service.context).eraseMember(member?.id as number, service.act())
    const { id: before } = await actsOf(service.context).auditHead()
    const { appointments } = await read('2026-12-02')
    expect(appointments).toEqual([
      expect.objectContaining({
        request: expect.objectContaining({ id, member: null }),
        memberTime: null,
        partner: null,
      }),
    ])
    expect(await linesSince(before)).toEqual([])
  })

  test('the appointment of a deactivated member is returned, and adds an audit line', async () => {
    const id = await book('robin', 'on-1', '2026-12-02T14:00:00Z')
    const member = await actsOf(service.context).findMember(service.partner.partner.id, 'robin')
    await actsOf(service.context).setMemberActive(member?.id as number, false, service.act())
    const { id: before } = await actsOf(service.context).auditHead()
    const { appointments } = await read('2026-12-02')
    expect(appointments.map(({ request }) => request.member)).toEqual([
      { ...member, active: false } as Member,
    ])
    expect(await linesSince(before)).toEqual([['request.read-appointment', `request ${id}`, 'done']])
  })

  test('appointments are returned even if the record of the provider or the member cannot be read', async () => {
    const id = await book('robin', 'on-1', '2026-12-02T14:00:00Z')
    const { store } = service.context
    const request = await requireRequest(service.context, id)
    const member = { ...(request.member as Member), ...unreadableMember }
    const named = { id: idOf('on-1'), ref: 'on-1', active: true }
    const withUnreadableRecords = (facts: Facts): Facts => ({
      ...facts,
      directory: {
        findId: (ref) => facts.directory.findId(ref),
        listProviderNames: () => facts.directory.listProviderNames(),
        listTimeZones: () => facts.directory.listTimeZones(),
        findProviders: () => ({ providers: [], unreadable: [named] }),
      },
      requests: new Proxy(facts.requests, {
        get: (requests, name: keyof Facts['requests']) =>
          name === 'findAll' ? () => [{ ...request, member }] : requests[name],
      }),
    })
    const context = {
      ...service.context,
      store: {
        ...store,
        read: ((work) => store.read((facts) => work(withUnreadableRecords(facts)))) as Store['read'],
      },
    }
    const asked = { on: '2026-12-02', provider: null, zone: null }
    const { appointments } = await readAppointments(context, zones, asked, service.act())
    expect(appointments).toEqual([
      expect.objectContaining({
        request: expect.objectContaining({ id }),
        provider: { id: named.id, ref: 'on-1' },
        local: null,
        memberTime: null,
      }),
    ])
  })

  test('neither appointments nor dates are returned if the directory has no provider', async () => {
    const empty = await startService({ listens: false, directory: { regions: [], providers: [] } })
    const asked = { on: 'today', provider: null, zone: null }
    const found = readAppointments(empty.context, zones, asked, empty.act())
    expect(await found.finally(() => empty.stop())).toEqual({ dates: [], appointments: [] })
  })

  test('an invalid day is rejected', async () => {
    await expect(read('yesterweek')).rejects.toMatchObject({ kind: 'field_invalid' })
  })
})
