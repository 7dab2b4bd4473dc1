import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { perMinute } from '../../src/domain/limits'
import { placeRequest } from '../../src/operations/transitions'
import { actsOf } from '../support/acts'
import { booking, provider, region } from '../support/builders'
import { type Answer, defaultNow, startService, type TestPartner } from '../support/service'
import { daily, endOf, entryOf, expectNoStore, expectRefusal, expectSuccess, paths } from './contract'

const hours = { timeZone: 'Etc/UTC', workingHours: [daily('09:00', '18:00')] }
const directory = {
  regions: [region({ id: 31 })],
  providers: [
    ...['First', 'Second'].map((lastName) => provider(lastName, { ...hours, lastName })),
    provider('Off', {
      ...hours,
      lastName: 'Off',
      licenses: [{ region: 'CA-ON', from: '2020-01-01', until: '2026-12-02' }],
    }),
  ],
}
const limits = { openRequests: 3, reads: perMinute(10_000), bookings: perMinute(10_000) }
let service: Awaited<ReturnType<typeof startService>>
let [first, second, off, names] = [0, 0, 0, 0]
let others: TestPartner[] = []
beforeAll(async () => {
  service = await startService({ directory, limits })
  const idOf = async (name: string) => (await entryOf(service, 31, name)).providerId
  ;[first, second, off] = [await idOf('First'), await idOf('Second'), await idOf('Off')]
  others = [await service.addPartner('Other'), await service.addPartner('Third')]
})
afterAll(() => service.stop())

/** Assigns the second provider to an intake. */
function assign(id: number, startsAt: number | null) {
  const listing = service.context.directory.findListing(second)
  if (!listing) throw new Error('the second provider is unknown')
  return placeRequest(service.context, 'assign', id, listing.provider, startsAt, service.act())
}

const acts = () => actsOf(service.context)
const urlOf = (id: unknown, end = '') => `${paths.booking}${id}/${end}`
const slot = (providerId: number, time: string, day = '03') => {
  return { providerId, utcStartTime: `2026-12-${day}T${time}:00Z` }
}
type Slot = ReturnType<typeof slot>
const bodyOf = ({ providerId, utcStartTime }: Slot) => {
  return { selfSchedulingProviderId: providerId, utcStartTime, utcEndTime: endOf(utcStartTime) }
}
const read = (id: unknown, token?: string) => service.get(urlOf(id), token)
const cancel = (id: unknown, headers: Record<string, string> = {}, token?: string) =>
  service.post(urlOf(id, 'cancel/'), '', token, headers)
const reschedule = (id: unknown, to: unknown, headers: Record<string, string> = {}, token?: string) =>
  service.post(urlOf(id, 'reschedule/'), to, token, headers)

/** Submits a booking, or an intake, of a new member. */
async function submit(at?: Slot, name = `m-${++names}`, token?: string) {
  const answer = await service.post(paths.booking, booking(name, at, { email: `${name}@example.com` }), token)
  expect(answer.status).toBe(201)
  return answer.body
}

/** A time of its own for each booking, so that tests do not take each other's slots. */
let [day, hour] = [4, 0]
function freeSlot(providerId = first) {
  const time = ['09:00', '09:45', '10:30', '11:15', '12:00', '12:45', '13:30', '14:15'][hour++ % 8] as string
  if (hour % 8 === 0) day++
  return slot(providerId, time, `${day}`.padStart(2, '0'))
}
const current = (booked: object, change: object = {}) => {
  return { ...booked, state: 'pending', cancelledAt: null, ...change }
}
const nowShown = defaultNow.replace('Z', '.000Z')
/** The audit lines of one action. */
const audited = async (record: string, action: string) => {
  const lines = await acts().listAudit(1_000, { record })
  return lines.filter((line) => line.action === action).map(({ actor, outcome }) => [actor, outcome])
}
/** Searches for a slot of the first provider. */
const isOffered = async ({ utcStartTime }: Slot) => {
  const { availability } = await entryOf(service, 31, 'First')
  return availability.some((one) => (one as Slot).utcStartTime === utcStartTime)
}
const partnerName = () => `partner ${service.partner.partner.id}`

describe('contract: reading a request back', () => {
  test('returns the nine members of the booking with their current values, the state and cancelledAt', async () => {
    const [booked, accepted, declined, intake, closed] = [
      ...[await submit(freeSlot()), await submit(freeSlot()), await submit(freeSlot())],
      ...[await submit(), await submit()],
    ]
    expect(Object.keys(booked)).toHaveLength(9)
    await acts().accept(accepted.id, service.act())
    await acts().decline(declined.id, service.act())
    await acts().close(closed.id, service.act())
    const [acceptedAt, declinedAt] = [nowShown, nowShown]
    expectSuccess(await read(booked.id), 200, current(booked))
    expectSuccess(await read(accepted.id), 200, current(accepted, { state: 'accepted', acceptedAt }))
    expectSuccess(await read(declined.id), 200, current(declined, { state: 'declined', declinedAt }))
    expectSuccess(await read(intake.id), 200, current(intake, { state: 'unassigned' }))
    expectSuccess(await read(closed.id), 200, current(closed, { state: 'closed', declinedAt }))
    const place = freeSlot(second)
    const { authorizationNumber } = await assign(intake.id, Date.parse(place.utcStartTime))
    expectSuccess(await read(intake.id), 200, current(intake, { ...place, authorizationNumber }))
  })

  test('sends a strong ETag of the body and no-store, HEAD sends the same without the body, and a look-up is audited', async () => {
    const booked = await submit(freeSlot())
    const answer = await read(booked.id)
    const tag = answer.headers.get('etag')
    expect(tag).toMatch(/^"[!#-~]+"$/)
    expectNoStore(answer)
    expect((await read(booked.id)).headers.get('etag')).toBe(tag as string)
    const headers = { Authorization: `Bearer ${service.partner.token}` }
    const head = await service.send(urlOf(booked.id), { method: 'HEAD', headers })
    expect([head.status, head.headers.get('etag'), head.body]).toEqual([200, tag, ''])
    await acts().editMember(booked.member.id, { phoneNumber: '+1 416 555 0199' }, service.act())
    const later = await read(booked.id)
    expect([later.body.phoneNumber, later.headers.get('etag') === tag]).toEqual(['+1 416 555 0199', false])
    await service.context.notebook.flush(service.context.store)
    const lookUps = await audited(`member ${booked.member.id}`, 'member.look-up')
    expect(lookUps).toEqual([[partnerName(), 'done']])
  })
})

describe('contract: cancelling a request', () => {
  test('frees the slot for the very next search, is audited once, and is idempotent with any If-Match', async () => {
    const place = freeSlot()
    const booked = await submit(place)
    await acts().accept(booked.id, service.act())
    expect(await isOffered(place)).toBe(false)
    const times = { acceptedAt: nowShown, cancelledAt: nowShown }
    const cancelled = current(booked, { state: 'cancelled', ...times })
    const answer = await cancel(booked.id, { 'Idempotency-Key': 'any' })
    expect(await isOffered(place)).toBe(true)
    expectSuccess(answer, 200, cancelled)
    expectNoStore(answer)
    service.setNow('2026-12-01T12:00:01Z')
    expectSuccess(await cancel(booked.id, { 'If-Match': '"other"' }), 200, cancelled)
    const again = await service.post(urlOf(booked.id, 'cancel/'), 'x'.repeat(50_000), undefined, {
      'Content-Type': 'text/plain',
    })
    service.setNow(defaultNow)
    expect([again.status, again.headers.get('etag')]).toEqual([200, answer.headers.get('etag')])
    expectSuccess(await read(booked.id), 200, cancelled)
    expect(await audited(`request ${booked.id}`, 'request.cancel')).toEqual([[partnerName(), 'done']])
    // A repeated call shows the member, so it is audited as a look-up.
    await service.context.notebook.flush(service.context.store)
    expect(await audited(`member ${booked.member.id}`, 'member.look-up')).toHaveLength(1)
    expect((await cancel((await submit()).id)).body).toMatchObject({ state: 'cancelled', providerId: null })
  })

  test('counts for neither the limit of open requests nor the overlap check, and changes no later or repeated booking', async () => {
    const name = 'eager'
    const places = [freeSlot(), freeSlot(), freeSlot()]
    const retry = { 'Idempotency-Key': 'eager-1' }
    const created = await service.post(paths.booking, booking(name, places[0]), undefined, retry)
    for (const place of places.slice(1)) await submit(place, name)
    const beyond = await service.post(paths.booking, booking(name, freeSlot()))
    expectRefusal(beyond, { status: 400, kind: 'too_many_open_requests' })
    await cancel(created.body.id)
    const replayed = await service.post(paths.booking, booking(name, places[0]), undefined, retry)
    expectSuccess(replayed, 201, created.body)
    expect(Object.keys(replayed.body)).toHaveLength(9)
    const overlapping = { ...(places[0] as Slot), providerId: second }
    expect(Object.keys(await submit(overlapping, name))).toHaveLength(9)
  })
})

describe('contract: rescheduling a request', () => {
  test('moves it to pending in its new slot, in one step and once, and keeps id and authorizationNumber', async () => {
    const [from, to] = [freeSlot(), freeSlot()]
    const booked = await submit(from)
    await acts().accept(booked.id, service.act())
    const { headers } = await read(booked.id)
    const moved = current({ ...booked, utcStartTime: to.utcStartTime })
    const tags = { 'If-Match': `W/"a", ${headers.get('etag')}` }
    expectSuccess(await reschedule(booked.id, bodyOf(to), tags), 200, moved)
    expect([await isOffered(from), await isOffered(to)]).toEqual([true, false])
    expectSuccess(await reschedule(booked.id, bodyOf(to), { 'If-Match': '"other"' }), 200, moved)
    await acts().accept(booked.id, service.act())
    const accepted = { ...moved, state: 'accepted', acceptedAt: nowShown }
    expectSuccess(await reschedule(booked.id, bodyOf(to)), 200, accepted)
    const moves = await audited(`request ${booked.id}`, 'request.reschedule')
    expect(moves).toEqual([[partnerName(), `done: provider ${first}`]])
    const elsewhere = bodyOf({ ...to, providerId: second })
    const again = await reschedule(booked.id, elsewhere, { 'If-Match': '*' })
    expectSuccess(again, 200, { ...moved, providerId: second })
  })

  const nine = () => bodyOf(slot(first, '09:00'))
  const taken = async () => {
    const place = freeSlot()
    await submit(place)
    return bodyOf(place)
  }
  test.each<[string, to: () => unknown, kind: string, field: string]>([
    ['a taken slot', taken, 'slot_unavailable', 'utcStartTime'],
    ['a slot off the grid', () => bodyOf(slot(first, '09:05')), 'slot_unavailable', 'utcStartTime'],
    ['a past slot', () => bodyOf(slot(first, '11:15', '01')), 'slot_unavailable', 'utcStartTime'],
    ['a slot beyond 30 days', () => bodyOf(slot(first, '12:45', '31')), 'slot_unavailable', 'utcStartTime'],
    ['a slot outside every license', () => bodyOf(slot(off, '09:00')), 'slot_unavailable', 'utcStartTime'],
    [
      'an unknown provider',
      () => bodyOf(slot(4711, '09:00')),
      'provider_unknown',
      'selfSchedulingProviderId',
    ],
    ['46 minutes', () => ({ ...nine(), utcEndTime: '2026-12-03T09:46:00Z' }), 'field_invalid', 'utcEndTime'],
    [
      'a time without Z',
      () => ({ ...nine(), utcStartTime: '2026-12-03T09:00:00' }),
      'field_invalid',
      'utcStartTime',
    ],
    ['a missing field', () => ({}), 'field_invalid', 'selfSchedulingProviderId'],
    ['no body', () => '', 'body_malformed', ''],
    ['a body that is not JSON', () => '{', 'body_malformed', ''],
    ['null', () => 'null', 'field_invalid', ''],
  ])('to %s is refused, and the request keeps its slot', async (_, to, kind, field) => {
    const booked = await submit(freeSlot())
    const answer = await reschedule(booked.id, await to())
    expectRefusal(answer, { status: 400, kind, ...(field && { path: field }) })
    expect(answer.body.message).not.toContain('bookingData')
    expectSuccess(await read(booked.id), 200, current(booked))
  })

  test('to a slot that overlaps another of the member’s is refused, and not to one that overlaps its own', async () => {
    const [one, other] = [freeSlot(), freeSlot()]
    const booked = await submit(one, 'overlapping')
    await submit(other, 'overlapping')
    const refused = await reschedule(booked.id, bodyOf({ ...other, providerId: second }))
    const same = await reschedule(booked.id, bodyOf(other))
    for (const each of [refused, same])
      expectRefusal(each, { status: 400, kind: 'slot_conflicts_with_yours', path: 'utcStartTime' })
    expect((await reschedule(booked.id, bodyOf({ ...one, providerId: second }))).status).toBe(200)
    // The grid of the second provider moves by 15 minutes.
    expect((await reschedule(booked.id, bodyOf(slot(second, '09:00', '30')))).status).toBe(200)
    const workingHours = [daily('09:15', '18:00')]
    const [unmoved, moved, ...rest] = directory.providers
    await service.load({ ...directory, providers: [unmoved, { ...moved, workingHours }, ...rest] })
    const own = await reschedule(booked.id, bodyOf(slot(second, '09:15', '30')))
    await service.load(directory)
    expect([own.status, own.body.utcStartTime]).toEqual([200, '2026-12-30T09:15:00Z'])
  })
})

const everyCall: [
  string,
  (id: unknown, token?: string, headers?: Record<string, string>) => Promise<Answer>,
][] = [
  ['reading', (id, token) => read(id, token)],
  ['cancelling', (id, token, headers) => cancel(id, headers, token)],
  ['rescheduling', (id, token, headers) => reschedule(id, bodyOf(slot(first, '17:15')), headers, token)],
]

describe.each(everyCall)('contract: %s a request is refused', (name, send) => {
  test.each(['abc', '0', '-1', '1.0', '01', '9'.repeat(20), '1e1', '%31x'])(
    'with 400 for the id %s',
    async (id) => {
      expectRefusal(await send(id), { status: 400, kind: 'field_invalid', path: 'id' })
    },
  )

  test('with the same 404 for unknown, erased and other partners’ requests, and changes nothing', async () => {
    const partners = [service.partner, ...others]
    const owned = await Promise.all(partners.map(({ token }) => submit(freeSlot(), undefined, token)))
    const erased = await Promise.all(partners.map(({ token }) => submit(freeSlot(), undefined, token)))
    for (const { member } of erased) await acts().eraseMember(member.id, service.act())
    const ids = [...owned.map(({ id }) => id), ...erased.map(({ id }) => id), 4711, Number.MAX_SAFE_INTEGER]
    const bytes = new Set<string>()
    const ask = async (caller: number, at: number, headers: Record<string, string>) => {
      if (caller === at) return
      const answer = await send(ids[at], partners[caller]?.token, headers)
      expectRefusal(answer, { status: 404, kind: 'request_not_found', path: /^id: no request has this id$/ })
      const shown = [...answer.headers].filter(([name]) => !/^(date|x-request-id|ratelimit)$/.test(name))
      bytes.add(JSON.stringify([answer.status, answer.body, shown]))
    }
    const headers = fc.constantFrom({}, { 'If-Match': '*' }, { 'If-Match': '"a"' })
    await fc.assert(fc.asyncProperty(fc.nat(2), fc.nat(ids.length - 1), headers, ask), { numRuns: 60 })
    expect(bytes.size).toBe(1)
    const now = await Promise.all(owned.map(({ id }, at) => read(id, partners[at]?.token)))
    expect(now.map(({ body }) => body.state)).toEqual(owned.map(() => 'pending'))
  })

  test('with 403 if the member is deactivated, before any other reason', async () => {
    const booked = await submit(freeSlot())
    await acts().setMemberActive(booked.member.id, false, service.act())
    const refused = () => send(booked.id, undefined, { 'If-Match': '"other"' })
    expectRefusal(await refused(), { status: 403, kind: 'member_deactivated' })
    await acts().cancel(booked.id, service.act())
    expectRefusal(await refused(), { status: 403, kind: 'member_deactivated' })
  })

  if (name === 'reading') return
  test.each([
    ['"other"', 412, 'request_changed'],
    ['weak', 412, 'request_changed'],
    ['other', 400, 'field_invalid'],
    ['*, "a"', 400, 'field_invalid'],
    ['"a" "b"', 400, 'field_invalid'],
    [',', 400, 'field_invalid'],
  ] as const)('for If-Match: %s with %i', async (tag, status, kind) => {
    const booked = await submit(freeSlot())
    const sent = tag === 'weak' ? `W/${(await read(booked.id)).headers.get('etag')}` : tag
    expectRefusal(await send(booked.id, undefined, { 'If-Match': sent }), { status, kind, path: 'If-Match' })
    await acts().decline(booked.id, service.act())
    expectRefusal(await send(booked.id, undefined, { 'If-Match': sent }), { status, kind, path: 'If-Match' })
  })

  test('with 409 if it is declined, closed or started, or cannot be rescheduled', async () => {
    const [declined, closed, started] = [await submit(freeSlot()), await submit(), await submit(freeSlot())]
    await acts().decline(declined.id, service.act())
    await acts().close(closed.id, service.act())
    const ended = (state: string) => {
      return { status: 409, kind: 'request_closed', path: new RegExp(`^id: the request is ${state}$`) }
    }
    expectRefusal(await send(declined.id), ended('declined'))
    expectRefusal(await send(closed.id), ended('closed'))
    service.setNow(started.utcStartTime)
    const late = await send(started.id)
    service.setNow(defaultNow)
    expectRefusal(late, { status: 409, kind: 'request_started', path: 'id' })
    if (name === 'cancelling') return
    const { id } = await submit()
    const unplaced = { status: 409, kind: 'request_without_slot', path: 'id' }
    expectRefusal(await send(id), unplaced)
    await assign(id, null)
    expectRefusal(await send(id), unplaced)
    await cancel(id)
    expectRefusal(await send(id), ended('cancelled'))
  })

  test('with 413 for a body over 256 KiB', async () => {
    const booked = await submit(freeSlot())
    const path = urlOf(booked.id, name === 'cancelling' ? 'cancel/' : 'reschedule/')
    const huge = await service.post(path, ' '.repeat(256 * 1024 + 1))
    expectRefusal(huge, { status: 413, kind: 'body_too_large' })
    expect((await read(booked.id)).body.state).toBe('pending')
  })
})

test.each([
  ['GET', urlOf(1, 'cancel/'), 'POST'],
  ['PUT', urlOf(1, 'cancel/'), 'POST'],
  ['DELETE', urlOf(1, 'cancel/'), 'POST'],
  ['GET', urlOf(1, 'reschedule/'), 'POST'],
  ['POST', urlOf(1), 'GET, HEAD'],
  ['GET', paths.booking, 'POST'],
  ['POST', paths.changes, 'GET, HEAD'],
])('contract: %s %s is 405 and allows %s', async (method, path, allowed) => {
  const headers = { Authorization: `Bearer ${service.partner.token}` }
  const answer = await service.send(path, { method, headers })
  expectRefusal(answer, { status: 405, kind: 'method_not_allowed' })
  expect(answer.headers.get('allow')).toBe(allowed)
})

test('contract: reading back costs 1 read, and cancelling and rescheduling 1 booking each, also with a large body', async () => {
  const { token } = await service.addPartner('Budget')
  const booked = await submit(freeSlot(), undefined, token)
  const left = async (answer: Promise<Answer>) =>
    /r=(\d+)/.exec((await answer).headers.get('ratelimit') ?? '')?.[1]
  const wide = `${JSON.stringify(bodyOf(freeSlot()))}${' '.repeat(60_000)}`
  expect([
    await left(read(booked.id, token)),
    await left(service.get(paths.changes, token)),
    await left(reschedule(booked.id, wide, {}, token)),
    await left(service.post(urlOf(booked.id, 'cancel/'), wide, token)),
  ]).toEqual(['9999', '9998', '9998', '9997'])
})

describe('contract: the list of changes', () => {
  const fieldsOf = (booked: Record<string, unknown>) => {
    const { phoneNumber: _, preferredModality: __, member: ___, ...fields } = booked
    return current(fields)
  }
  const pathIn = (answer: Answer) => answer.body.next.slice(answer.body.next.indexOf('/partners'))

  test('has each request once at its last change, erased ones with nulls, and next is always a full URL', async () => {
    const { token } = await service.addPartner('Follower')
    const get = (path: string) => service.get(path, token)
    const empty = await get(paths.changes)
    expectSuccess(empty, 200, {
      results: [],
      next: expect.stringMatching(/^http:\/\/\S+\/partners\/v1\/booking-request-changes\/\?after=[^&]+$/),
    })
    const add = (at?: Slot) => submit(at, undefined, token)
    const [one, two, three] = [await add(freeSlot()), await add(), await add(freeSlot())]
    await cancel(one.id, {}, token)
    await acts().eraseMember(two.member.id, service.act())
    const nulls = Object.fromEntries(Object.keys(fieldsOf(two)).map((name) => [name, null]))
    const erased = { ...nulls, id: two.id, state: 'erased' }
    const cancelled = { ...fieldsOf(one), state: 'cancelled', cancelledAt: nowShown }
    const page = await get(`${paths.changes}?page_size=2`)
    const next = expect.stringContaining('&page_size=2')
    expectSuccess(page, 200, { results: [fieldsOf(three), cancelled], next })
    const last = await get(pathIn(page))
    expectSuccess(last, 200, { results: [erased], next })
    expect((await get(pathIn(empty))).body.results).toEqual([fieldsOf(three), cancelled, erased])
    await acts().accept(three.id, service.act())
    const accepted = { ...fieldsOf(three), state: 'accepted', acceptedAt: nowShown }
    expect((await get(pathIn(last))).body.results).toEqual([accepted])
  })

  test('answers 304 to a poll that finds nothing, and supports HEAD', async () => {
    const { token } = await service.addPartner('Poller')
    const first = await service.get(paths.changes, token)
    const tag = first.headers.get('etag') ?? ''
    const headers = { Authorization: `Bearer ${token}`, 'If-None-Match': tag }
    const send = (method: string) => service.send(paths.changes, { method, headers })
    for (const same of [await send('GET'), await send('HEAD')])
      expect([same.status, same.headers.get('etag'), same.body]).toEqual([304, tag, ''])
    await submit(undefined, undefined, token)
    expect((await send('GET')).status).toBe(200)
  })

  test('is refused for a wrong page_size, and for a cursor that is malformed or of another partner', async () => {
    const get = (query: string) => service.get(`${paths.changes}?${query}`)
    const invalid = { status: 400, kind: 'field_invalid' }
    for (const size of ['0', '101', 'abc', '-1', '1.5', ''])
      expectRefusal(await get(`page_size=${size}`), { ...invalid, path: 'page_size' })
    expect((await get('page_size=100')).status).toBe(200)
    const { next } = (await service.get(paths.changes, others[0]?.token)).body
    const theirs = new URL(next).searchParams.get('after')
    for (const after of ['', '%00', 'x', '1', '0-0', 'x'.repeat(2_000), theirs])
      expectRefusal(await get(`after=${after}`), { status: 400, kind: 'cursor_invalid', path: 'after' })
    expectRefusal(await get('after=1&after=2'), { ...invalid, path: 'after' })
  })
})

test('contract: each request has the state that its last audit line names', async () => {
  const found = await service.context.maintenance.checkRecords(service.act().at, true)
  expect(found).toMatchObject({ state: 'ok' })
})
