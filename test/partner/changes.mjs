// The list of changes.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as service from './service.mjs'

const { allChanges, api, book, cancel, card, control, intakeOf, isError, isRequest, newMember, newSlot } =
  service
const { read, second, staff, submit, table } = service

const list = 'booking-request-changes/'
const members =
  'id state providerId authorizationNumber utcStartTime acceptedAt declinedAt cancelledAt'.split(' ')
const changeOf = (request) => Object.fromEntries(members.map((member) => [member, request[member]]))
const since = async (next) => (await api('GET', next)).body.results

test('partner: what staff did can be read back, and is listed at the position of the last change', async () => {
  const { next } = await allChanges()
  const [one, two, three, four] = [
    await book(),
    await submit(intakeOf(newMember())),
    await book(),
    await book(),
  ]
  const nulls = {
    providerId: null,
    authorizationNumber: null,
    acceptedAt: null,
    declinedAt: null,
    utcStartTime: null,
  }
  assert.deepEqual(two, { id: two.id, phoneNumber: '', preferredModality: '', member: two.member, ...nulls })
  const five = await submit(intakeOf(newMember()))
  const ids = async () => (await since(next)).map(({ id }) => id)
  assert.deepEqual(await ids(), [one.id, two.id, three.id, four.id, five.id])
  const moved = { providerId: 3, utcStartTime: newSlot().utcStartTime }
  const acts = [
    [three, () => staff.accept(three.id), { state: 'accepted' }, 'acceptedAt'],
    [two, () => staff.assign(two.id, { providerId: 1 }), { state: 'pending', providerId: 1 }],
    [one, () => staff.accept(one.id), { state: 'accepted' }, 'acceptedAt'],
    [three, () => staff.move(three.id, moved), { state: 'pending', acceptedAt: null, ...moved }],
    [one, () => staff.decline(one.id), { state: 'declined' }, 'declinedAt'],
    [two, () => cancel(two.id), { state: 'cancelled' }, 'cancelledAt'],
    [four, () => staff.cancel(four.id), { state: 'cancelled' }, 'cancelledAt'],
    [five, () => staff.close(five.id), { state: 'closed' }, 'declinedAt'],
  ]
  for (const [{ id }, act, changed, ...stamps] of acts) {
    const [before, last] = [await allChanges(), (await read(id)).body]
    await act()
    const response = await read(id)
    const { authorizationNumber } = last.providerId === null ? response.body : last
    isRequest(response, { ...last, authorizationNumber, ...changed }, ...stamps)
    assert.equal(authorizationNumber === null, response.body.providerId === null)
    assert.deepEqual(await since(before.next), [changeOf(response.body)])
  }
  assert.deepEqual(await ids(), [three.id, one.id, two.id, four.id, five.id])
  const { found } = await allChanges()
  assert.equal(new Set(found.map(({ id }) => id)).size, found.length)
})

test('partner: each page has a full URL of the next one, also the last page and an empty one', async () => {
  const { found } = await allChanges()
  for (const size of [1, 100]) {
    const seen = []
    for (let [path, more] = [`${list}?page_size=${size}`, true]; more; ) {
      const { body } = await api('GET', path)
      assert.deepEqual(Object.keys(body), ['results', 'next'])
      assert.ok(body.next.startsWith(`${card.baseUrl}/partners/v1/${list}?after=`), body.next)
      assert.ok(body.results.length <= size)
      seen.push(...body.results)
      path = body.next
      more = body.results.length > 0
    }
    assert.deepEqual(seen, found)
  }
})

test('partner: a poll that finds nothing gets 304, and HEAD has the headers of GET', async () => {
  const { next } = await allChanges()
  const empty = await api('GET', next)
  const headers = { 'If-None-Match': empty.headers.get('ETag') }
  for (const method of ['GET', 'HEAD']) {
    const [same, full] = [await api(method, next, { headers }), await api(method, next)]
    assert.deepEqual([same.status, same.text, full.status], [304, '', 200])
    assert.equal(full.text, method === 'HEAD' ? '' : empty.text)
    for (const name of ['ETag', 'Cache-Control', 'Vary'])
      for (const each of [same, full]) assert.equal(each.headers.get(name), empty.headers.get(name))
    assert.equal(full.headers.get('Content-Length'), empty.headers.get('Content-Length'))
  }
  assert.equal(empty.headers.get('Cache-Control'), 'private, no-cache')
  const { id } = await book()
  const page = await api('GET', next, { headers })
  assert.deepEqual([page.status, page.body.results.map((each) => each.id)], [200, [id]])
})

test('partner: lists the requests of an erased person again, as erased and otherwise null', async () => {
  const member = newMember()
  const [one, two] = [await book(newSlot(), member), await book(newSlot(), member)]
  await cancel(two.id)
  const { next } = await allChanges()
  await staff.eraseMember(member)
  const nulls = Object.fromEntries(members.map((name) => [name, null]))
  const erased = [one, two].map(({ id }) => ({ ...nulls, id, state: 'erased' }))
  assert.deepEqual(
    (await since(next)).sort((a, b) => a.id - b.id),
    erased,
  )
})

test('partner: rejects a cursor that is malformed or belongs to another partner', async () => {
  await submit(intakeOf('foreign'), { token: second.token })
  const [own, theirs] = [await allChanges(), await allChanges({ token: second.token })]
  const [mine, foreign] = [own, theirs].map(({ next }) => new URL(next).searchParams.get('after'))
  for (const after of ['x', '0', '-', `${mine}0`, mine.slice(1), mine.slice(0, -1), foreign])
    isError(await api('GET', `${list}?after=${after}`), 'cursor_invalid')
  const seen = new Set(theirs.found.map(({ id }) => id))
  assert.ok(seen.size > 0 && own.found.every(({ id }) => !seen.has(id)))
})

test('partner: rejects a page_size that is not from 1 to 100', async () => {
  const faults = table(`
    0             | be at least 1
    101           | be at most 100
    x             | be an integer
    1&page_size=1 | not be repeated`)
  for (const [size, fault] of faults)
    isError(await api('GET', `${list}?page_size=${size}`), 'field_invalid', `page_size: must ${fault}`)
})

test('partner: a service that is not a sandbox has no control routes', { skip: !!control }, async () => {
  for (const path of ['', 'clock', 'reset', 'outcomes', 'requests/1/accept'])
    for (const method of ['GET', 'POST'])
      isError(await api(method, `/sandbox/v1/${path}`), 'path_unknown', 'no endpoint has this path', 404)
})
