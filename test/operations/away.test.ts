import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { requireProvider } from '../../src/operations/find-records'
import { listFreeSlots } from '../../src/operations/offer-slots'
import { parseAway, parseStart, removeTimeOff, takeAway } from '../../src/operations/providers'
import { endRequest } from '../../src/operations/requests'
import type { Offer } from '../../src/operations/suggest-providers'
import { formatInstant } from '../../src/scheduling/calendar'
import { builtInZones } from '../../src/zones/packed'
import { actsOf } from '../support/acts'
import { countryWide, provider, region } from '../support/builders'
import { startService } from '../support/service'

const zones = builtInZones()
let service: Awaited<ReturnType<typeof startService>>

beforeEach(async () => {
  const quebec = region({ stateProvinceCode: 'QC', stateProvinceNameLocal: 'Québec' })
  service = await startService({
    listens: false,
    // A Tuesday, 07:00 in Toronto.
    now: '2026-12-01T12:00:00Z',
    directory: {
      regions: [region(), quebec, countryWide('IE', 'Ireland')],
      providers: [
        provider('ill', { languagesSpoken: ['en', 'fr'] }),
        provider('en-1'),
        provider('en-2', { timeZone: 'America/Winnipeg' }),
        provider('fr-1', { languagesSpoken: ['fr-CA'] }),
        provider('phone', { modalities: ['telephonic'] }),
        provider('qc-1', { licenses: [{ region: 'CA-QC', from: '2020-01-01' }] }),
        provider('gone', { active: false }),
      ],
    },
  })
})
afterEach(() => service.stop())

const named = (ref: string) => requireProvider(service.context, ref)

async function book(externalUserId: string, utcStartTime: string, member = {}, ref = 'ill') {
  const slot = { providerId: named(ref).id, startsAt: Date.parse(utcStartTime) }
  const profile = { state: 'ON', preferredModality: 'video', ...member }
  return (await service.submit(externalUserId, { slot, member: profile })).id
}

const tomorrow = { from: '2026-12-02', until: '2026-12-02' }
const take = (absence = tomorrow) => takeAway(service.context, zones, named('ill'), absence, service.act())
const described = (offers: readonly Offer[] | undefined) =>
  offers?.map(({ provider: { ref }, startsAt, local }) => [ref, formatInstant(startsAt), local])
const startsOf = (ref: string) =>
  listFreeSlots(service.context, named(ref), null, service.act().at).map(formatInstant)

async function linesDuring(work: () => Promise<unknown>) {
  const store = actsOf(service.context)
  const { id } = await store.auditHead()
  await work()
  return (await store.listAudit(100, { after: id })).map(({ action, record }) => [action, record])
}

describe('operations: a provider who is away tomorrow', () => {
  test('an absent provider offers no slots, and each affected appointment gets alternative slots', async () => {
    const id = await book('robin', '2026-12-02T14:00:00Z')
    const { isKnown, affected } = await take()
    expect(isKnown).toBe(false)
    expect(named('ill').staffTimeOff).toEqual([tomorrow])
    expect(startsOf('ill').filter((start) => start.startsWith('2026-12-02'))).toEqual([])
    expect(affected.map(({ appointment: { request, local } }) => [request.id, local])).toEqual([
      [id, 'Wed 2026-12-02 09:00'],
    ])
    const { offers } = affected[0] ?? {}
    expect(described(offers?.afterwards)).toEqual([
      ['ill', '2026-12-03T14:00:00Z', 'Thu 2026-12-03 09:00'],
      ['ill', '2026-12-03T14:45:00Z', 'Thu 2026-12-03 09:45'],
      ['ill', '2026-12-03T15:30:00Z', 'Thu 2026-12-03 10:30'],
    ])
    const [other, west, ...more] = described(offers?.elsewhere) ?? []
    expect(other).toEqual(['en-1', '2026-12-02T14:00:00Z', 'Wed 2026-12-02 09:00'])
    expect(west?.[0]).toBe('en-2')
    expect(more).toEqual([])
    expect(offers?.elsewhere[0]?.memberTime?.zones[0]).toBe('America/Toronto')
    expect(offers).toMatchObject({ region: { code: 'ON' }, isLicensed: true })
  })

  test('a repeated absence is recorded only once, and returns the same list', async () => {
    const id = await book('robin', '2026-12-02T14:00:00Z')
    const record = `provider ${named('ill').id}`
    expect(await linesDuring(take)).toEqual([
      ['provider.time-off-add', record],
      ['request.read-appointment', `request ${id}`],
    ])
    const first = await take()
    expect(first.isKnown).toBe(true)
    // A repeated read within 15 minutes leaves no line.
    expect(await linesDuring(take)).toEqual([])
    expect(await take()).toEqual(first)
    expect(named('ill').staffTimeOff).toEqual([tomorrow])
    expect(await removeTimeOff(service.context, named('ill'), tomorrow, service.act())).toEqual({
      isOfDirectory: false,
    })
    expect(startsOf('ill')).toContain('2026-12-02T14:45:00Z')
  })

  test('a preview of an absence returns the same list as the absence, and changes only the audit log', async () => {
    const id = await book('robin', '2026-12-02T14:00:00Z')
    const before = startsOf('ill')
    let preview: unknown
    const lines = await linesDuring(async () => {
      preview = await takeAway(service.context, zones, named('ill'), tomorrow, service.act(), true)
    })
    expect(lines).toEqual([['request.read-appointment', `request ${id}`]])
    expect([named('ill').staffTimeOff, startsOf('ill')]).toEqual([[], before])
    const { affected } = await take()
    expect(preview).toEqual({
      isKnown: false,
      affected: affected.map((one) => ({
        ...one,
        appointment: { ...one.appointment, provider: expect.objectContaining({ staffTimeOff: [] }) },
        offers: {
          ...one.offers,
          afterwards: one.offers?.afterwards.map((offer) => ({
            ...offer,
            provider: expect.objectContaining({ staffTimeOff: [] }),
          })),
        },
      })),
    })
  })

  test('an absence affects only overlapping appointments that are neither declined nor over', async () => {
    const early = await book('early', '2026-12-02T14:00:00Z')
    const later = await book('later', '2026-12-02T15:30:00Z')
    const declined = await book('declined', '2026-12-02T14:45:00Z')
    await book('elsewhere', '2026-12-02T14:00:00Z', {}, 'en-1')
    await book('after', '2026-12-03T14:00:00Z')
    await endRequest(service.context, 'decline', declined, service.act())
    const idsIn = async (absence: typeof tomorrow) =>
      (await take(absence)).affected.map(({ appointment }) => appointment.request.id)
    expect(await idsIn(tomorrow)).toEqual([early, later])
    expect(await idsIn({ from: '2026-12-02T09:44', until: '2026-12-02T10:30' })).toEqual([early])
    expect(await idsIn({ from: '2026-12-02T15:00:00Z', until: '2026-12-02T16:00:00Z' })).toEqual([later])
    service.setNow('2026-12-02T15:00:00Z')
    expect(await idsIn(tomorrow)).toEqual([later])
    service.setNow('2026-12-02T16:14:59Z')
    expect(await idsIn(tomorrow)).toEqual([later])
    service.setNow('2026-12-02T16:15:00Z')
    expect(await idsIn(tomorrow)).toEqual([])
  })
})

describe('operations: the alternative slots for an absence', () => {
  test('an alternative slot is offered to only one of the affected members', async () => {
    for (const [name, at] of [
      ['a', '2026-12-02T14:00:00Z'],
      ['b', '2026-12-02T14:45:00Z'],
      ['c', '2026-12-02T15:30:00Z'],
    ] as const) {
      await book(name, at)
    }
    const { affected } = await take()
    const all = affected.flatMap(({ offers }) => [
      ...(described(offers?.afterwards) ?? []),
      ...(described(offers?.elsewhere) ?? []),
    ])
    const slots = all.map(([ref, start]) => `${ref} ${start}`)
    expect(slots.length).toBe(3 * (3 + 2))
    expect(new Set(slots).size).toBe(slots.length)
  })

  test('alternative slots match the language and the modality of the member', async () => {
    await book('claude', '2026-12-02T14:00:00Z', { preferredSpokenLanguage: 'fr' })
    await book('kim', '2026-12-02T14:45:00Z', { preferredModality: 'by phone' })
    await book('lee', '2026-12-02T15:30:00Z', { preferredModality: 'whatever' })
    const { affected } = await take()
    expect(affected.map(({ offers }) => offers?.elsewhere.map(({ provider: { ref } }) => ref))).toEqual([
      ['fr-1'],
      ['phone'],
      ['en-1', 'en-2', 'phone'],
    ])
  })

  test("alternative slots are with providers licensed in the member's region", async () => {
    await book('quebec', '2026-12-02T14:00:00Z', { state: 'Quebec' })
    const [{ offers } = { offers: null }] = (await take()).affected
    expect(offers).toMatchObject({ region: { code: 'QC' }, isLicensed: false })
    expect(offers?.elsewhere.map(({ provider: { ref } }) => ref)).toEqual(['qc-1'])
    expect(offers?.afterwards).toHaveLength(3)
  })

  test("alternative slots are with providers in the absent provider's regions if the member's region is unknown", async () => {
    await book('nowhere', '2026-12-02T14:00:00Z', { state: '' })
    const [{ offers } = { offers: null }] = (await take()).affected
    expect(offers).toMatchObject({ region: null, isLicensed: true })
    expect(offers?.elsewhere.map(({ provider: { ref } }) => ref)).toEqual(['en-1', 'en-2'])
  })

  test('a member in a country without licensed providers gets no alternative slots with other providers', async () => {
    await book('nowhere', '2026-12-02T14:00:00Z', { state: '' })
    await book('abroad', '2026-12-02T14:45:00Z', { country: 'FR', state: '' })
    const { affected } = await take()
    expect(
      affected.map(({ offers }) => [offers?.region, offers?.elsewhere.map(({ provider: { ref } }) => ref)]),
    ).toEqual([
      [null, ['en-1', 'en-2']],
      [null, []],
    ])
  })

  test('alternative slots with the absent provider begin when the absence ends', async () => {
    await book('robin', '2026-12-02T14:00:00Z')
    const [{ offers } = { offers: null }] = (
      await take({ from: '2026-12-02T09:00', until: '2026-12-02T09:45' })
    ).affected
    expect(described(offers?.afterwards)).toEqual([
      ['ill', '2026-12-02T14:45:00Z', 'Wed 2026-12-02 09:45'],
      ['ill', '2026-12-02T15:30:00Z', 'Wed 2026-12-02 10:30'],
      ['ill', '2026-12-02T16:15:00Z', 'Wed 2026-12-02 11:15'],
    ])
  })

  test("alternative slots outside 08:00 to 21:00 of the member's local time come last", async () => {
    await book('robin', '2026-12-02T14:00:00Z', { state: 'BC' })
    const until = '2026-12-02T09:45'
    const [{ offers } = { offers: null }] = (await take({ from: '2026-12-02T09:00', until })).affected
    expect(described(offers?.afterwards)?.[0]).toEqual([
      'ill',
      '2026-12-02T15:30:00Z',
      'Wed 2026-12-02 10:30',
    ])
    expect(described(offers?.elsewhere)).toEqual([
      ['en-1', '2026-12-02T15:30:00Z', 'Wed 2026-12-02 10:30'],
      ['en-2', '2026-12-02T15:30:00Z', 'Wed 2026-12-02 10:30'],
    ])
  })

  test('alternative slots with a provider who is free only at night come last', async () => {
    const early = { weekdays: ['wednesday' as const], start: '09:00', end: '10:00' }
    const directory = {
      regions: [region()],
      providers: [provider('ill'), provider('a', { workingHours: [early] }), provider('b')],
    }
    await service.load(directory)
    await book('robin', '2026-12-02T14:00:00Z', { state: 'BC' })
    const [{ offers } = { offers: null }] = (await take()).affected
    expect(offers?.elsewhere.map(({ provider: { ref }, isDaytime }) => [ref, isDaytime])).toEqual([
      ['b', true],
      ['a', false],
    ])
  })

  test("alternative slots in the member's daytime are found if the days after the appointment have only others", async () => {
    const early = { weekdays: ['wednesday' as const], start: '09:00', end: '10:00' }
    const late = { weekdays: ['friday' as const], start: '11:00', end: '12:00', from: '2026-12-18' }
    const others = ['a', 'b', 'c', 'd'].map((ref) => provider(ref, { workingHours: [early, late] }))
    await service.load({ regions: [region()], providers: [provider('ill'), ...others] })
    await book('robin', '2026-12-02T14:00:00Z', { state: 'BC' })
    const [{ offers } = { offers: null }] = (await take()).affected
    expect(described(offers?.elsewhere)).toEqual(
      ['a', 'b', 'c'].map((ref) => [ref, '2026-12-18T16:00:00Z', 'Fri 2026-12-18 11:00']),
    )
  })

  test('alternative slots are free', async () => {
    await book('robin', '2026-12-02T14:00:00Z')
    const [{ offers } = { offers: null }] = (await take()).affected
    for (const {
      provider: { ref },
      startsAt,
    } of [...(offers?.afterwards ?? []), ...(offers?.elsewhere ?? [])]) {
      expect(startsOf(ref)).toContain(formatInstant(startsAt))
    }
  })

  test('alternative slots may be weeks later if no provider is free in the days after the appointment', async () => {
    await book('robin', '2026-12-02T14:00:00Z')
    const weeks = { from: '2026-12-02', until: '2026-12-20' }
    for (const ref of ['en-1', 'en-2']) {
      await takeAway(service.context, zones, named(ref), weeks, service.act())
    }
    const [{ offers } = { offers: null }] = (await take()).affected
    expect(described(offers?.elsewhere)?.map(([ref, start]) => [ref, start?.slice(0, 10)])).toEqual([
      ['en-1', '2026-12-21'],
      ['en-2', '2026-12-21'],
    ])
  })

  test('alternative slots are also found after the last appointment', async () => {
    const timeOff = [{ from: '2026-12-05', until: '2026-12-20' }]
    const others = ['a', 'b', 'c', 'd'].map((ref) => provider(ref, { timeOff }))
    await service.load({ regions: [region()], providers: [provider('ill'), ...others] })
    await book('soon', '2026-12-02T14:00:00Z')
    await book('late', '2026-12-14T14:00:00Z')
    const { affected } = await take({ from: '2026-12-02', until: '2026-12-14' })
    const elsewhere = affected.map(({ offers }) =>
      described(offers?.elsewhere)?.map(([ref, start]) => [ref, start]),
    )
    expect(elsewhere).toEqual([
      ['a', 'b', 'c'].map((ref) => [ref, '2026-12-02T14:00:00Z']),
      ['a', 'b', 'c'].map((ref) => [ref, '2026-12-21T14:00:00Z']),
    ])
  })

  test('alternative slots are not searched for an erased member, and no audit line is added', async () => {
    const id = await book('robin', '2026-12-02T14:00:00Z')
    const member = await actsOf(service.context).findMember(service.partner.partner.id, 'robin')
    await actsOf(service.context).eraseMember(member?.id as number, service.act())
    const { affected } = await take()
    expect(affected).toMatchObject([{ appointment: { request: { id, member: null } }, offers: null }])
    expect(await linesDuring(take)).toEqual([])
  })
})

describe('operations: the start of a slot', () => {
  const parse = (time: string) => formatInstant(parseStart(service.context, named('ill'), time))

  test("is a UTC instant, or the provider's local time", () => {
    expect(parse('2026-12-01T14:00:00Z')).toBe('2026-12-01T14:00:00Z')
    expect(parse('2026-12-01T09:00')).toBe('2026-12-01T14:00:00Z')
    expect(parse('2026-12-01T24:00')).toBe('2026-12-02T05:00:00Z')
  })

  test('is refused if the clock skips the local time, with the next time', () => {
    const refusal = { kind: 'field_invalid', action: 'Sun 2026-03-08 03:00 or later' }
    expect(() => parse('2026-03-08T02:30')).toThrow(expect.objectContaining(refusal))
    expect(parse('2026-03-08T03:00')).toBe('2026-03-08T07:00:00Z')
  })

  test('is refused if the clock shows the local time twice, with both instants', () => {
    const refusal = { kind: 'field_invalid', action: '2026-11-01T05:30:00Z or 2026-11-01T06:30:00Z' }
    expect(() => parse('2026-11-01T01:30')).toThrow(expect.objectContaining(refusal))
  })
})

describe('operations: the dates of an absence', () => {
  const parse = (from: string, until: string, now = '2026-12-01T12:00:00Z') =>
    parseAway(service.context, named('ill'), { from, until }, Date.parse(now))

  test("today and tomorrow are dates in the provider's time zone", () => {
    expect(parse('today', 'tomorrow')).toEqual({ from: '2026-12-01', until: '2026-12-02' })
    expect(parse('today', 'today', '2026-12-02T04:59:00Z')).toEqual({
      from: '2026-12-01',
      until: '2026-12-01',
    })
    expect(parse('today', '2026-12-24', '2026-12-02T05:00:00Z')).toEqual({
      from: '2026-12-02',
      until: '2026-12-24',
    })
  })

  test.each([
    ['tomorrow', 'today'],
    ['tomorrow', '2026-12-02T10:00'],
    ['yesterday', 'today'],
    ['2026-12-02', '2026-12-01'],
    ['2025-12-02', '2025-12-03'],
    ['2026-12-01T05:00', '2026-12-01T07:00'],
  ])('an absence from %s to %s is rejected', (from, until) => {
    expect(() => parse(from, until)).toThrow(expect.objectContaining({ kind: 'field_invalid' }))
  })
})

test('operations: loading a directory restores the absences of the file and keeps the absences that staff entered', async () => {
  const known = { from: '2026-12-24', until: '2026-12-26' }
  const directory = { regions: [region()], providers: [provider('ill', { timeOff: [known] })] }
  await service.load(directory)
  await take()
  expect(await removeTimeOff(service.context, named('ill'), known, service.act())).toEqual({
    isOfDirectory: true,
  })
  await service.load(directory)
  const { timeOff, staffTimeOff } = named('ill')
  expect({ timeOff, staffTimeOff }).toEqual({ timeOff: [known], staffTimeOff: [tomorrow] })
  expect(await removeTimeOff(service.context, named('ill'), tomorrow, service.act())).toEqual({
    isOfDirectory: false,
  })
})
