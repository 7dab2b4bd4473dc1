// Reading a request back, cancelling it and rescheduling it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as service from './service.mjs'

const { allChanges, api, book, cancel, card, control, first, intakeOf, isError, isOffered } = service
const { isRequest, keeps, later, newMember, newSlot, post, read, refuses, reschedule, second } = service
const { slotAt, staff, submit } = service

const withState = (booked, state, more) => ({ ...booked, state, cancelledAt: null, ...more })
const calls = { read, cancel, reschedule: (id, options) => reschedule(id, newSlot(), options) }
const after = (act, start) => async () => {
  const started = await start()
  await staff[act](started.id)
  return started
}
const unassigned = () => submit(intakeOf(newMember()))
const pending = () => book()
const [accepted, declined] = [after('accept', pending), after('decline', pending)]
const [cancelled, closed] = [after('cancel', pending), after('close', unassigned)]

test('partner: reads a booking back, and its ETag is made from the response', async () => {
  const [member, slot, phoneNumber] = [newMember(), newSlot(), '+1 416 555 0123']
  const data = intakeOf(member, { phoneNumber, preferredModality: 'Counseling' })
  const booked = await submit({ ...data, bookingData: slot })
  const { id, authorizationNumber } = booked
  assert.match(authorizationNumber, /^\S+$/)
  const expected = {
    ...{ id, providerId: 1, authorizationNumber, phoneNumber, preferredModality: 'Counseling' },
    ...{ acceptedAt: null, declinedAt: null, utcStartTime: slot.utcStartTime },
    member: { id: booked.member.id, firstName: 'Robin', email: `${member}@example.com` },
  }
  assert.deepEqual(booked, expected)
  const response = await read(id)
  const tag = isRequest(response, withState(expected, 'pending'))
  for (const same of [await read(id), await api('GET', `booking-request/${id}`)])
    assert.deepEqual([same.text, same.headers.get('ETag')], [response.text, tag])
  const head = await api('HEAD', `booking-request/${id}/`)
  assert.deepEqual([head.status, head.text, head.headers.has('Date')], [200, '', true])
  for (const name of ['ETag', 'Cache-Control', 'Content-Type', 'Content-Length'])
    assert.equal(head.headers.get(name), response.headers.get(name), name)
  await submit(intakeOf(member, { phoneNumber: '' }))
  assert.notEqual(isRequest(await read(id), withState({ ...expected, phoneNumber: '' }, 'pending')), tag)
})

for (const [state, start] of Object.entries({ unassigned, pending, accepted }))
  test(`partner: cancels a request that is ${state}, once`, async () => {
    const { id } = await start()
    const before = (await read(id)).body
    const slot = before.utcStartTime && slotAt(before.utcStartTime)
    if (slot) assert.equal(await isOffered(slot), false)
    const tag = isRequest(await cancel(id), { ...before, state: 'cancelled' }, 'cancelledAt')
    if (slot) assert.equal(await isOffered(slot), true)
    assert.equal((await read(id)).headers.get('ETag'), tag)
    await keeps(id, () => cancel(id))
    await keeps(id, () => cancel(id, { headers: { 'If-Match': '"another"', 'Idempotency-Key': 'k' } }))
    if (slot) assert.notEqual((await book(slot)).id, id)
  })

for (const [state, start] of Object.entries({ pending, accepted }))
  test(`partner: reschedules a request that is ${state}, once`, async () => {
    const booked = await start()
    const { id } = booked
    const old = slotAt(booked.utcStartTime)
    await keeps(id, () => reschedule(id, old))
    for (const slot of [newSlot(), slotAt(old.utcStartTime, 3), old]) {
      const response = await reschedule(id, slot, { headers: { 'Idempotency-Key': 'k' } })
      const { selfSchedulingProviderId: providerId, utcStartTime } = slot
      const tag = isRequest(response, withState({ ...booked, providerId, utcStartTime }, 'pending'))
      assert.deepEqual([await isOffered(old), await isOffered(slot)], [slot !== old, false])
      assert.equal((await read(id)).headers.get('ETag'), tag)
      await keeps(id, () => reschedule(id, slot, { headers: { 'If-Match': '"another"' } }))
    }
  })

test('partner: rejects an id that is not a positive integer', async () => {
  const { next } = await allChanges()
  const faults = {
    abc: 'an integer',
    0: 'at least 1',
    '-1': 'at least 1',
    '1.0': 'an integer',
    '01': 'an integer',
  }
  for (const [id, fault] of Object.entries({ ...faults, [`${10n ** 19n}`]: `at most ${2 ** 53 - 1}` }))
    for (const call of Object.values(calls)) isError(await call(id), 'field_invalid', `id: must be ${fault}`)
  assert.deepEqual((await api('GET', next)).body.results, [])
})

test("partner: an unknown request, another partner's and an erased person's look the same", async () => {
  const [member, token] = [newMember(), second.token]
  const [erased, foreign] = [await book(newSlot(), member), await submit(intakeOf('foreign'), { token })]
  await staff.eraseMember(member)
  const before = (await read(foreign.id, { token })).text
  const headersOf = ({ headers }) => [...headers].filter(([name]) => !/date|request-id|ratelimit$/.test(name))
  for (const call of Object.values(calls)) {
    const seen = await Promise.all([999_999_999, 2 ** 53 - 1, erased.id, foreign.id].map((id) => call(id)))
    for (const each of [...seen, await call(erased.id, { token })]) {
      isError(each, 'request_not_found')
      assert.deepEqual([each.text, headersOf(each)], [seen[0].text, headersOf(seen[0])])
    }
  }
  assert.equal((await read(foreign.id, { token })).text, before)
})

test("partner: refuses all calls for a deactivated member's request, even if it is cancelled", async () => {
  const member = newMember()
  const [booked, ended] = [await book(newSlot(), member), await book(newSlot(), member)]
  await cancel(ended.id)
  const [before, { next }, headers] = [await read(booked.id), await allChanges(), { 'If-Match': '"another"' }]
  await staff.deactivateMember(member)
  for (const { id } of [booked, ended])
    for (const call of Object.values(calls)) isError(await call(id, { headers }), 'member_deactivated')
  await staff.reactivateMember(member)
  assert.equal((await read(booked.id)).text, before.text)
  assert.deepEqual((await api('GET', next)).body.results, [])
})

for (const name of ['cancel', 'reschedule'])
  test(`partner: If-Match guards ${name}`, async () => {
    const { id } = await pending()
    const old = (await read(id)).headers.get('ETag')
    await staff.accept(id)
    const tag = (await read(id)).headers.get('ETag')
    const guarded = (value) => () => calls[name](id, { headers: { 'If-Match': value } })
    for (const value of [old, `W/${tag}`, '"another"', `"another", W/${tag}`])
      await refuses(id, guarded(value), 'request_changed')
    for (const value of ['another', tag.slice(1), `${tag} ${old}`, '*, *', 'w/"a"', ','])
      await refuses(id, guarded(value), 'field_invalid', 'If-Match: must be * or a list of entity tags')
    assert.equal((await guarded(`"another", ${tag}`)()).status, 200)
    assert.equal((await calls[name]((await pending()).id, { headers: { 'If-Match': '*' } })).status, 200)
  })

test('partner: refuses to cancel or reschedule a request whose state does not allow it', async () => {
  for (const [state, start] of Object.entries({ declined, closed, cancelled })) {
    const { id } = await start()
    const message = `id: the request is ${state}`
    if (start !== cancelled) await refuses(id, () => cancel(id), 'request_closed', message)
    await refuses(id, () => calls.reschedule(id), 'request_closed', message)
  }
  const { id } = await unassigned()
  await refuses(id, () => calls.reschedule(id), 'request_without_slot')
  await staff.assign(id, { providerId: 1 })
  await refuses(id, () => calls.reschedule(id), 'request_without_slot')
})

test('partner: refuses to reschedule to a slot that cannot be booked', async () => {
  const member = newMember()
  const { id } = await book(newSlot(), member)
  const [taken, own, free] = [newSlot(), newSlot(), newSlot()]
  const [{ id: other }] = await Promise.all([book(own, member), book(taken)])
  const [offGrid, past, beyond] = [1, -5 * 1440, 31 * 1440].map((by) => slotAt(later(free.utcStartTime, by)))
  const unlicensed = slotAt(free.utcStartTime, 2)
  for (const slot of [taken, offGrid, past, beyond, unlicensed])
    await refuses(id, () => reschedule(id, slot), 'slot_unavailable')
  await refuses(id, () => reschedule(id, { ...free, selfSchedulingProviderId: 99 }), 'provider_unknown')
  await refuses(id, () => reschedule(id, slotAt(own.utcStartTime, 3)), 'slot_conflicts_with_yours')
  await cancel(other)
  assert.equal((await reschedule(id, slotAt(own.utcStartTime, 3))).status, 200)
})

test('partner: the body of a reschedule is checked like bookingData, without its prefix', async () => {
  const [{ id }, slot] = [await pending(), newSlot()]
  const noZ = { ...slot, utcStartTime: slot.utcStartTime.slice(0, -1) }
  const text = { ...slot, selfSchedulingProviderId: '1' }
  for (const bookingData of [slotAt(slot.utcStartTime, 1, 46), noZ, text, {}, null, []]) {
    const asBooking = await api('POST', 'booking-request/', {
      body: { ...intakeOf(newMember()), bookingData },
    })
    assert.match(asBooking.body.message, /^bookingData/)
    const message = asBooking.body.message.replaceAll('bookingData.', '').replace('bookingData:', 'body:')
    await refuses(id, () => reschedule(id, JSON.stringify(bookingData)), 'field_invalid', message)
  }
  for (const body of ['', '{', 'text'])
    for (const call of [() => reschedule(id, body), () => api('POST', 'booking-request/', { body })])
      await refuses(id, call, 'body_malformed')
  const headers = { 'Content-Type': 'text/plain' }
  await refuses(id, () => reschedule(id, slot, { headers }), 'media_type_unsupported')
  await refuses(id, () => reschedule(id, { ...slot, more: 'x'.repeat(262_144) }), 'body_too_large')
})

test('partner: a body with cancel is ignored, unless it is larger than 256 KiB', async () => {
  for (const body of ['{', 'null', '{"reason":"text"}', 'x'.repeat(262_144)]) {
    const { id } = await pending()
    await refuses(id, () => cancel(id, { body: 'x'.repeat(262_145) }), 'body_too_large')
    const headers = { 'Content-Type': body === 'null' ? 'text/plain' : 'application/json' }
    assert.equal((await cancel(id, { body, headers })).body.state, 'cancelled')
  }
})

test('partner: other methods get 405 with Allow', async () => {
  const { id } = await pending()
  const [posts, gets] = [
    ['POST', ['GET', 'HEAD']],
    ['GET, HEAD', ['POST']],
  ]
  const one = `booking-request/${id}/`
  const posted = [`${one}cancel/`, `${one}reschedule/`, 'booking-request/'].map((path) => [path, ...posts])
  for (const [path, allow, methods] of [...posted, [one, ...gets], ['booking-request-changes/', ...gets]])
    for (const method of [...methods, 'PUT', 'PATCH', 'DELETE']) {
      const call = () => api(method, path)
      const { status, headers } = await call()
      assert.deepEqual([status, headers.get('Allow')], [405, allow], `${method} ${path}`)
      if (method !== 'HEAD') await refuses(id, call, 'method_not_allowed')
      assert.equal((await api(method, path, { token: null })).status, 401)
    }
})

test('partner: checks the token, the fields, the id, If-Match, the state and the slot in this order', async () => {
  const [{ id }, other] = [await declined(), { headers: { 'If-Match': '"another"' } }]
  isError(await cancel(0, { ...other, token: `${first.token}x` }), 'token_invalid')
  isError(await reschedule(999_999_999, 'null', other), 'field_invalid', 'body: must be an object')
  isError(await cancel(999_999_999, other), 'request_not_found')
  await refuses(id, () => cancel(id, other), 'request_changed')
  await refuses(id, () => calls.reschedule(id, other), 'request_changed')
  const past = slotAt(later(card.now, -1440))
  await refuses(id, () => reschedule(id, past), 'request_closed', 'id: the request is declined')
})

test('partner: neither cancels nor reschedules from utcStartTime on', { skip: !control }, async () => {
  const slot = newSlot()
  const [one, two] = [await book(slot), await book(slotAt(slot.utcStartTime, 3))]
  await staff.accept(one.id)
  await post('clock', { to: later(slot.utcStartTime, -1 / 60) })
  assert.equal((await cancel(two.id)).status, 200)
  for (const advance of ['PT1S', 'P2D']) {
    await post('clock', { advance })
    await refuses(one.id, () => cancel(one.id), 'request_started')
    await refuses(one.id, () => calls.reschedule(one.id), 'request_started')
    await keeps(one.id, () => reschedule(one.id, slot))
  }
  await post('reset')
})
