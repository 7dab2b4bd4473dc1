import { afterEach, beforeEach, expect, test } from 'bun:test'
import type { AuditAction } from '../../src/domain/audit'
import type { ActorSpan } from '../../src/domain/decisions/affected'
import { eraseMember, listAffected } from '../../src/operations/members'
import { findUseDays } from '../../src/operations/tokens'
import { defaultNow, startService } from '../support/service'

const now = Date.parse(defaultNow)
const hour = 3_600_000
const day = 24 * hour

let service: Awaited<ReturnType<typeof startService>>
beforeEach(async () => {
  service = await startService({ listens: false })
})
afterEach(() => service.stop())

const lineBy =
  (actor: string, at = now) =>
  (action: AuditAction, record: string | null, outcome = 'done') => ({ actor, at, action, record, outcome })

const span = (actor: string | null, more: Partial<ActorSpan> = {}): ActorSpan => {
  return { actor, since: now - day, until: now + day, ...more }
}

async function affected(...spans: ActorSpan[]) {
  const { members, unnamed, actors, ...rest } = await listAffected(service.context, spans)
  const shown = members.map(({ id, member, actions }) => [
    id,
    member?.externalUserId,
    [...actions].sort().join(),
  ])
  return { members: shown, unnamed: [...unnamed], actors: [...actors], ...rest }
}

const none = { members: [], unnamed: [], actors: [], erasedRequests: 0 }

test('operations: a partner has seen and changed the members that it looked up, created, updated or submitted', async () => {
  const { context, partner } = service
  const actor = `partner ${partner.partner.id}`
  for (const name of ['a', 'b', 'c', 'd']) await service.submit(name)
  service.setNow(now + 2 * hour)
  await service.submit('c')
  const look = lineBy(actor, now + 3 * hour)
  await context.store.appendAudit([
    look('member.look-up', 'member 2'),
    look('member.look-up', null, 'done, more members'),
    look('member.email-conflict', 'member 4', 'email_taken'),
    lineBy('partner 99', now + 3 * hour)('member.look-up', 'member 1'),
    look('token.use', actor, '10.0.0.1, kid k'),
  ])
  const later = span(actor, { since: now + hour })
  expect(await affected(later)).toEqual({
    ...none,
    members: [
      [2, 'b', 'member.look-up'],
      [3, 'c', 'request.submit'],
      [4, 'd', 'member.email-conflict'],
    ],
    unnamed: [['member.look-up', 1]],
    actors: [actor],
  })
  // The end of a period is exclusive, its start inclusive.
  expect(await affected(span(actor, { since: now + hour, until: now + 2 * hour }))).toEqual(none)
  expect(await affected(span(actor, { since: now + 2 * hour, until: now + 2 * hour + 1 }))).toMatchObject({
    members: [[3, 'c', 'request.submit']],
  })
  expect((await affected(span(actor, { until: now + hour }))).members).toEqual(
    ['a', 'b', 'c', 'd'].map((name, at) => [at + 1, name, expect.stringContaining('request.submit')]),
  )
})

test('operations: a search for an operator also finds actors that name the operator in parentheses', async () => {
  const { context } = service
  for (const name of ['a', 'b', 'c']) await service.submit(name)
  const [olive, service_, sudo] = [
    'operator olive',
    'operator anteroom (olive, by login uid)',
    'operator root (olive, says SUDO_UID)',
  ]
  await context.store.appendAudit([
    lineBy(olive)('request.read-screening', 'request 1'),
    lineBy(service_)('request.show', 'request 1'),
    lineBy(sudo)('member.show', 'member 2'),
    lineBy(sudo)('member.show', 'member 3', 'record_unknown'),
    lineBy(olive)('request.list', null, 'done: 50'),
    lineBy(olive)('database.back-up', null),
    lineBy(olive)('organization.add', 'organization 1'),
    lineBy('operator oliver')('member.show', 'member 3'),
    lineBy('operator pat (oliver, by login uid)')('member.show', 'member 3'),
    lineBy('olive')('member.show', 'member 3'),
  ])
  const found = await affected(span(null, { operator: 'olive' }))
  expect(found.members).toEqual([
    [1, 'a', 'request.read-screening,request.show'],
    [2, 'b', 'member.show'],
    [3, 'c', 'member.show'],
  ])
  expect(found.actors.sort()).toEqual(['olive', service_, olive, sudo])
  expect(found.unnamed.sort()).toEqual([
    ['database.back-up', 1],
    ['request.list', 1],
  ])
  expect((await affected(span(null, { operator: sudo }))).members).toEqual([[2, 'b', 'member.show']])
})

test('operations: erased members are listed by their id, and their requests are counted', async () => {
  const { context } = service
  for (const name of ['a', 'b']) await service.submit(name)
  await context.store.appendAudit([
    lineBy('operator olive')('member.show', 'member 1'),
    lineBy('operator olive')('request.show', 'request 1'),
  ])
  await eraseMember(context, { id: 1 } as never, { actor: 'operator pat', at: now })
  expect(await affected(span(null, { operator: 'olive' }))).toEqual({
    members: [[1, undefined, 'member.show']],
    unnamed: [],
    actors: ['operator olive'],
    erasedRequests: 1,
  })
})

test('operations: more requests and lines than one batch are read', async () => {
  const { context } = service
  await service.submit('a')
  const show = lineBy('operator olive')
  await context.store.appendAudit([
    ...Array.from({ length: 1_200 }, (_, nth) => show('member.show', `member ${nth + 2}`)),
    ...Array.from({ length: 150 }, (_, nth) => show('request.show', `request ${200 - nth}`)),
    show('request.show', 'request 1'),
  ])
  const found = await affected(span(null, { operator: 'olive' }))
  expect(found.members).toHaveLength(1_201)
  expect([found.members[0], found.erasedRequests]).toEqual([[1, 'a', 'request.show'], 150])
})

test('operations: an address is resolved to the days on which it used tokens', async () => {
  const midnight = now - (now % day)
  const use = (partner: number, at: number, outcome: string) => {
    return lineBy(`partner ${partner}`, at)('token.use', `partner ${partner}`, outcome)
  }
  await service.context.store.appendAudit([
    use(1, midnight - 1, '10.0.0.1, kid k'),
    use(1, midnight + hour, '10.0.0.1, kid k'),
    use(1, midnight + hour, '10.0.0.10, kid k'),
    use(2, midnight + day, 'more addresses'),
    use(3, midnight + 2 * day + hour, '10.0.0.1, kid m'),
    use(4, midnight + 2 * day + 5 * hour, '10.0.0.1, kid n'),
  ])
  const period = { since: midnight + 3 * hour, until: midnight + 2 * day + 4 * hour }
  expect(await findUseDays(service.context, '10.0.0.1', period)).toEqual([
    { actor: 'partner 1', kid: 'k', since: midnight + 3 * hour, until: midnight + day },
    { actor: 'partner 2', kid: undefined, since: midnight + day, until: midnight + 2 * day },
    { actor: 'partner 3', kid: 'm', since: midnight + 2 * day, until: midnight + 2 * day + 4 * hour },
  ])
})
