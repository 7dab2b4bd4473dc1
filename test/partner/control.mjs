// The control routes and the options of a sandbox.
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import * as service from './service.mjs'

const { allChanges, api, book, cancel, card, control, document, first, intakeOf, isError, later, newMember } =
  service
const { newSlot, post, read, reschedule, second, slotAt, startSandbox, submit, table } = service

const onSandbox = (title, run) => test(`partner: ${title}`, { skip: !control }, run)
const cardNow = async () => (await control('GET', '')).body
const list = 'booking-request-changes/'
const codeOf = async (path, token) => (await api('GET', path, { token })).headers.get('X-Error-Code')
const willow = `partners/${encodeURIComponent(second.name)}`

onSandbox('the clock moves forward, stops and runs, and the card shows it', async () => {
  const start = await post('reset')
  assert.deepEqual(start, card)
  assert.deepEqual([start.now, start.frozen, start.outcomes], ['2026-12-01T09:00:00Z', true, []])
  const [moved, now] = [{ now: '2026-12-04T10:00:00Z', frozen: true }, '2026-12-05T00:00:00Z']
  assert.deepEqual(await post('clock', { advance: 'P3DT1H' }), moved)
  const { examples } = await cardNow()
  assert.deepEqual(await cardNow(), { ...start, ...moved, examples })
  assert.deepEqual(await post('clock', { to: now }), { now, frozen: true })
  const { headers } = await api('GET', list)
  assert.equal(headers.get('X-Sandbox-Now'), now)
  assert.ok(Math.abs(Date.parse(headers.get('Date')) - Date.now()) < 10_000)
  assert.equal((await post('clock', { frozen: false })).frozen, false)
  for (const deadline = Date.now() + 10_000; (await cardNow()).now === now; ) assert.ok(Date.now() < deadline)
  const stopped = await post('clock', { frozen: true })
  assert.deepEqual({ ...(await cardNow()), ...stopped }, await cardNow())
  assert.deepEqual(await post('reset'), start)
})

onSandbox('the clock responds when a rotation that is due is done', async () => {
  const at = later(card.now, 1440)
  const { token, ...rotation } = await post(`${willow}/rotate`, { at })
  assert.deepEqual(rotation, { name: second.name, startsAt: at })
  const codes = async () => [await codeOf(list, second.token), await codeOf(list, token)]
  assert.deepEqual(await codes(), [null, 'token_invalid'])
  await post('clock', { to: at })
  assert.deepEqual(await codes(), ['token_invalid', null])
  const { token: third } = await post(`${willow}/rotate`)
  assert.deepEqual([await codeOf(list, third), ...(await codes())], [null, 'token_invalid', 'token_invalid'])
  assert.deepEqual(await post('reset'), card)
  assert.equal(await codeOf(list, second.token), null)
})

onSandbox('a reset restores the state, ids and numbers of the start, also under load', async () => {
  const play = async () => {
    const { id } = await book(slotAt(later(card.now, 900)), 'player')
    await post(`requests/${id}/accept`)
    return [(await read(id)).text, (await allChanges()).found]
  }
  const played = await play()
  await post('outcomes', { operation: 'lookUpMember', code: 'overloaded' })
  const [statuses, run] = [new Set(), { resets: 0 }]
  const worker = async () => {
    while (run.resets < 3) {
      statuses.add((await api('GET', list)).status)
      statuses.add((await api('POST', 'booking-request/', { body: intakeOf(newMember()) })).status)
    }
  }
  const workers = Array.from({ length: 8 }, worker)
  for (; run.resets < 3; run.resets++) assert.deepEqual(await post('reset'), card)
  await Promise.all(workers)
  assert.deepEqual([...statuses].sort(), [200, 201])
  assert.deepEqual(await post('reset'), card)
  assert.deepEqual(await play(), played)
  const now = '2027-03-12T12:00:00Z'
  assert.equal((await post('reset', { now })).now, now)
  assert.deepEqual(await post('reset'), card)
})

onSandbox('a kept database is reset only with --resettable', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'anteroom-partner-'))
  for (const [status, found] of Object.entries({ 409: 200, 200: 404 }).reverse()) {
    const options = status === '200' ? ['--resettable'] : []
    const { at, stop, ...sandbox } = await startSandbox('--database', join(folder, 'kept.sqlite'), ...options)
    await submit(intakeOf(`kept-${status}`), at)
    const response = await sandbox.control('POST', 'reset')
    assert.equal(response.status, Number(status), response.text)
    assert.equal((await api('GET', `user/?external_user_id=kept-${status}`, at)).status, found)
    assert.deepEqual(await stop(), [0, null])
  }
  await rm(folder, { recursive: true })
})

onSandbox('each operation returns each error that its documentation names, on purpose', async () => {
  await submit(intakeOf('outcome'))
  const [{ id }, ended] = [await book(), await book()]
  const calls = {
    listProviderRegions: () => api('GET', 'provider-regions/?country_code=CA'),
    searchProviders: () => api('GET', 'providers/?region_id=1'),
    submitBookingRequest: () => api('POST', 'booking-request/', { body: intakeOf('outcome') }),
    lookUpMember: () => api('GET', 'user/?external_user_id=outcome'),
    readBookingRequest: () => read(id),
    listBookingRequestChanges: () => api('GET', list),
    rescheduleBookingRequest: () => reschedule(id, newSlot()),
    cancelBookingRequest: () => cancel(ended.id),
  }
  const { next } = await allChanges()
  for (const { operationId: operation, responses } of Object.values(document.paths).flatMap(Object.values)) {
    const possible = Object.entries(responses).flatMap(([status, { description, content, $ref }]) => {
      if (status < '400' || status === '405') return []
      const shared = content ?? document.components.responses[$ref.split('/').at(-1)].content
      const { examples } = shared['application/json']
      const listed = [...description.matchAll(/^- `(\w+)`/gm)].map(([, code]) => code)
      const codes = listed.length > 0 ? listed : Object.keys(examples)
      return codes.map((code) => [code, Number(status), examples[code].value.message])
    })
    for (const [code, status, message] of possible) {
      const { outcomes } = await post('outcomes', { operation, code })
      assert.deepEqual(outcomes, [{ operation, times: 1, code }])
      const response = await calls[operation]()
      isError(response, code, message, status)
      const headers = ['Retry-After', 'WWW-Authenticate'].map((name) => response.headers.has(name))
      assert.deepEqual(headers, [[429, 503].includes(status), status === 401], code)
    }
    const named = new Set(possible.map(([code]) => code))
    for (const code of document.components.schemas.ErrorCode.enum.filter((each) => !named.has(each))) {
      const message = `code: ${operation} does not return ${code}`
      isError(await control('POST', 'outcomes', { operation, code }), 'field_invalid', message)
    }
  }
  assert.deepEqual((await api('GET', next)).body.results, [])
  for (const call of Object.values(calls)) assert.ok((await call()).status < 300)
})

onSandbox('a forced error has the bytes and headers of the real one', async () => {
  const bookingData = slotAt((await book()).utcStartTime)
  const call = () => api('POST', 'booking-request/', { body: { ...intakeOf('outcome'), bookingData } })
  const real = await call()
  await post('outcomes', { operation: 'submitBookingRequest', code: 'slot_unavailable' })
  const forced = await api('POST', 'booking-request/', { body: intakeOf('outcome') })
  const headersOf = ({ headers }) => [...headers].filter(([name]) => !/^(date|x-request-id)$/.test(name))
  isError(real, 'slot_unavailable', 'bookingData.utcStartTime: the slot is not available')
  assert.deepEqual([forced.text, headersOf(forced)], [real.text, headersOf(real)])
})

onSandbox('an outcome meets the next calls of its partner that pass all checks', async () => {
  const [operation, { token }] = ['listBookingRequestChanges', second]
  await post('outcomes', { operation, times: 2, code: 'rate_limited', partner: second.name })
  await post('outcomes', { operation, code: 'internal_error' })
  const left = async () => (await cardNow()).outcomes.map(({ times }) => times)
  assert.deepEqual(
    [await codeOf(list, 'x'), await codeOf(`${list}?page_size=0`)],
    ['token_invalid', 'field_invalid'],
  )
  const codes = [
    await left(),
    await codeOf(list, token),
    await left(),
    await codeOf(list),
    await codeOf(list),
  ]
  assert.deepEqual(codes, [[2, 1], 'rate_limited', [1, 1], 'internal_error', null])
  assert.deepEqual([await codeOf(list, token), await codeOf(list, token)], ['rate_limited', null])
  await post('outcomes', { operation, code: 'overloaded' })
  assert.deepEqual((await control('DELETE', 'outcomes')).body, { outcomes: [] })
  assert.deepEqual([await codeOf(list), await left()], [null, []])
})

onSandbox('a delay lasts as long as set, or until DELETE', async () => {
  const start = performance.now()
  await post('outcomes', { operation: 'listBookingRequestChanges', delayMs: 60_000 })
  const call = api('GET', list)
  while ((await cardNow()).outcomes.length > 0) assert.ok(performance.now() < start + 10_000)
  await control('DELETE', 'outcomes')
  assert.equal((await call).status, 200)
  const ended = performance.now()
  assert.ok(ended < start + 30_000)
  await post('outcomes', { operation: 'listBookingRequestChanges', delayMs: 100 })
  assert.equal((await api('GET', list)).status, 200)
  assert.ok(performance.now() > ended + 95)
})

for (const drop of ['before', 'after'])
  onSandbox(`a call that is dropped ${drop} it is processed can be sent again`, async () => {
    const [stored, { next }] = [drop === 'after', await allChanges()]
    const changes = async () => (await api('GET', next)).body.results.length
    const body = { ...intakeOf(newMember()), bookingData: newSlot() }
    const options = { body, headers: { 'Idempotency-Key': drop, Connection: 'close' } }
    const submission = () => api('POST', 'booking-request/', options)
    await post('outcomes', { operation: 'submitBookingRequest', drop })
    await assert.rejects(submission)
    assert.equal(await changes(), stored ? 1 : 0)
    const retry = await submission()
    const { id } = retry.body
    assert.deepEqual(
      [retry.status, retry.headers.has('Idempotency-Replayed'), await changes()],
      [201, stored, 1],
    )
    await post('outcomes', { operation: 'cancelBookingRequest', drop })
    await assert.rejects(() => cancel(id, { headers: { Connection: 'close' } }))
    const { text, body: between } = await read(id)
    assert.equal(between.state, stored ? 'cancelled' : 'pending')
    const cancelled = await cancel(id)
    assert.deepEqual([cancelled.status, cancelled.body.state, await changes()], [200, 'cancelled', 1])
    if (stored) assert.equal(cancelled.text, text)
  })

onSandbox("staff's actions on requests return the request", async () => {
  const { id } = await submit(intakeOf(newMember()))
  const act = async (action, body, on = id) => {
    const found = await post(`requests/${on}/${action}`, body)
    assert.deepEqual(found, (await allChanges()).found.at(-1))
    return found
  }
  const best = await act('assign')
  assert.ok(best.providerId && best.utcStartTime >= card.now, JSON.stringify(best))
  const [at, moved] = [1, 3].map((providerId) => ({ providerId, utcStartTime: newSlot().utcStartTime }))
  assert.deepEqual(await act('assign', at), { ...best, state: 'pending', ...at })
  assert.deepEqual(await act('assign', { providerId: 1 }), { ...best, providerId: 1, utcStartTime: null })
  await act('assign', at)
  assert.equal((await act('accept')).state, 'accepted')
  assert.deepEqual(await act('move', moved), { ...best, ...moved })
  const taken = { providerId: 1, utcStartTime: (await book()).utcStartTime }
  const before = (await read(id)).text
  const closing = 'a request that is pending cannot be closed'
  isError(await control('POST', `requests/${id}/close`), 'move_unknown', closing, 409)
  for (const action of ['move', 'assign'])
    isError(await control('POST', `requests/${id}/${action}`, taken), 'slot_unavailable')
  assert.equal((await read(id)).text, before)
  assert.equal((await act('decline')).state, 'declined')
  assert.equal((await act('close', {}, (await submit(intakeOf(newMember()))).id)).state, 'closed')
  const { id: ended } = await book()
  assert.equal((await act('cancel', undefined, ended)).state, 'cancelled')
  for (const action of ['accept', 'decline', 'cancel', 'close']) {
    const { status, body } = await control('POST', `requests/${ended}/${action}`)
    assert.deepEqual([status, body.message.slice(0, 38)], [409, 'a request that is cancelled cannot be '])
  }
})

onSandbox("staff's actions on a partner, and on a member whose id another partner uses too", async () => {
  await submit(intakeOf('same'))
  await submit(intakeOf('same', { email: 'other@example.com' }), { token: second.token })
  const rows = table(`
    members/same/deactivate | {"externalUserId":"same","active":false}   | member_deactivated
    members/same/reactivate | {"externalUserId":"same","active":true}    |
    members/same/erase      | {"externalUserId":"same","erased":true}    | member_not_found
    deactivate              | {"name":"Willow Commons","active":false}   | partner_inactive
    reactivate              | {"name":"Willow Commons","active":true}    | member_not_found`)
  for (const [path, body, code] of rows) {
    assert.deepEqual(await post(`${willow}/${path}`), JSON.parse(body))
    assert.equal((await codeOf('user/?external_user_id=same', second.token)) ?? '', code)
    assert.equal(await codeOf('user/?external_user_id=same'), null)
  }
})

onSandbox('bad input to the control routes changes nothing', async () => {
  const { id } = await submit(intakeOf('still'))
  const state = async () => [await cardNow(), (await read(id)).text, (await allChanges()).next]
  const before = await state()
  for (const token of ['', 'x', first.token])
    for (const path of ['reset', 'clock', `requests/${id}/close`, `${willow}/deactivate`]) {
      const message = 'the control token is missing or wrong'
      isError(await control('POST', path, undefined, token), 'token_invalid', message)
    }
  const unknown = table(`
    nothing                              | path_unknown   | no endpoint has this path
    requests/${id}/explode               | path_unknown   | no endpoint has this path
    requests/abc/accept                  | path_unknown   | no endpoint has this path
    requests/999999/accept               | record_unknown | there is no such request
    partners/Nobody/deactivate           | record_unknown | there is no partner with that name or id
    partners/Nobody/members/still/erase  | record_unknown | there is no partner with that name or id
    ${willow}/members/still/erase        | record_unknown | there is no member with that id`)
  for (const [path, ...error] of unknown) isError(await control('POST', path), ...error, 404)
  const lookUp = { operation: 'lookUpMember' }
  const someone = await control('POST', 'outcomes', { ...lookUp, code: 'overloaded', partner: 'Nobody' })
  isError(someone, 'record_unknown', 'there is no partner with that name or id', 404)
  const faulty = table(`
    clock    | {"to":"2026-12-01T08:59:59Z"}       | to: must not be before the present time of the clock
    clock    | {"to":"2499-01-01T00:00:00Z"}       | to: must lead to a time from 2000 to 2498
    clock    | {"advance":"P200000D"}              | advance: must lead to a time from 2000 to 2498
    clock    | {"advance":"-P1D"}                  | advance: must be a duration from weeks to seconds, such as P3D or PT90M
    clock    | {"advance":"P1D","to":"2026-12-09T00:00:00Z"} | to: must not be sent with advance
    clock    | {"frozen":"no"}                     | frozen: must be true or false
    clock    | {}                                  | body: needs advance, to or frozen
    reset    | {"at":"2026-12-01T09:00:00Z"}       | at: is not a known field
    reset    | {"now":"2499-01-01T00:00:00Z"}      | now: must lead to a time from 2000 to 2498
    outcomes | {}                                  | code: is required, or delayMs or drop
    outcomes | {"operation":"bookSlot","code":"overloaded"} | operation: must be one of …
    outcomes | {"code":"slot_unavailable"}         | code: lookUpMember does not return slot_unavailable
    outcomes | {"code":"teapot"}                   | code: must be one of …
    outcomes | {"code":"overloaded","times":0}     | times: must be at least 1
    outcomes | {"code":"overloaded","times":1001}  | times: must be at most 1000
    outcomes | {"code":"overloaded","delayMs":1}   | delayMs: must not be sent with code
    outcomes | {"code":"overloaded","drop":"after"} | drop: must not be sent with code
    outcomes | {"delayMs":1,"drop":"after"}        | drop: must not be sent with delayMs
    outcomes | {"delayMs":60001}                   | delayMs: must be at most 60000
    outcomes | {"delayMs":-1}                      | delayMs: must be at least 0
    outcomes | {"drop":"during"}                   | drop: must be one of before, after
    requests/${id}/move  | {"providerId":1}        | utcStartTime: is required
    requests/${id}/close | {"reason":"x"}          | reason: is not a known field`)
  for (const [path, text, message] of faulty) {
    const body = { ...(path === 'outcomes' && lookUp), ...JSON.parse(text) }
    const response = await control('POST', path, body)
    const names = message.endsWith('…') && response.body.message.startsWith(message.slice(0, -1))
    isError(response, 'field_invalid', names ? response.body.message : message)
  }
  isError(await control('POST', 'clock', '{'), 'body_malformed')
  assert.equal((await control('GET', 'clock')).headers.get('Allow'), 'POST')
  assert.deepEqual(await state(), before)
})

onSandbox('the sandbox warns about query parameters that look misspelled', async () => {
  const { headers } = await api('GET', `${list}?page_sise=1`)
  assert.equal(headers.get('X-Sandbox-Warning'), 'page_sise is not known; did you mean page_size?')
})

onSandbox('one seed gives one start, and a read or a change costs 1', async () => {
  const limits = ['--reads-per-minute', '60', '--bookings-per-minute', '60']
  const start = () => startSandbox('--seed', 's', '--frozen', '--now', card.now, ...limits)
  const [one, two] = await Promise.all([start(), start()])
  const seeded = ({ card: { controlToken, partners, examples } }) => ({ controlToken, partners, examples })
  assert.deepEqual(seeded(one), seeded(two))
  const { providerId, utcStartTime } = one.card.examples
  const slot = slotAt(utcStartTime, providerId)
  const body = { ...intakeOf('seeded'), bookingData: slot }
  const submission = ({ at }) => api('POST', 'booking-request/', { ...at, body })
  const [booked, same] = await Promise.all([one, two].map(submission))
  assert.equal(booked.text, same.text)
  const { id } = booked.body
  const page = await api('GET', list, one.at)
  const headers = { 'If-None-Match': page.headers.get('ETag') }
  const reads = [page, await read(id, one.at), await api('GET', list, { ...one.at, headers })]
  const changes = [
    booked,
    await reschedule(id, slot, one.at),
    await cancel(id, one.at),
    await cancel(id, one.at),
  ]
  const left = (each) => each.headers.get('RateLimit').replace(/;t=1$/, '')
  assert.equal(reads.map(left).join(), '"reads";r=59,"reads";r=58,"reads";r=57')
  assert.equal(changes.map(left).join(), '"bookings";r=59,"bookings";r=58,"bookings";r=57,"bookings";r=56')
  assert.deepEqual((await Promise.all([one.stop(), two.stop()])).flat(), [0, null, 0, null])
})
