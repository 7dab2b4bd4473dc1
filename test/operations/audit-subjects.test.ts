import { afterEach, beforeEach, expect, test } from 'bun:test'
import { findMemberRecords, subjectsOfPartner } from '../../src/operations/find-records'
import { everyAuditLine, listAudit, noteAct } from '../../src/operations/maintenance'
import { eraseMember } from '../../src/operations/members'
import { endOf } from '../db/furniture'
import { actsOf } from '../support/acts'
import { startService } from '../support/service'

let service: Awaited<ReturnType<typeof startService>>

beforeEach(async () => {
  service = await startService({ listens: false })
  for (const name of ['a', 'a', 'b']) await service.submit(name)
})
afterEach(() => service.stop())

/** Who read what, of a person. */
async function seenBy(id: number): Promise<(string | null)[][]> {
  const { records } = await findMemberRecords(service.context, id)
  const anyOf = records.map((record) => ({ record }))
  const lines = await listAudit(service.context, 100, { anyOf })
  return lines.map(({ actor, action, record }) => [actor, action, record])
}

test('all lines are told from the first on, however many are read at once', async () => {
  const told = await Array.fromAsync(everyAuditLine(service.context))
  expect(told.map(({ id }) => id)).toEqual(Array.from({ length: told.length }, (_, index) => index + 1))
  expect(told).toEqual(await listAudit(service.context, 100, {}))
  expect(told.length).toBeGreaterThan(2)
})

test('who has seen a person: the lines about them and about each of their requests, and none about others', async () => {
  const { context } = service
  const by = (actor: string) => ({ ...service.act(), actor })
  await noteAct(context, by('olive'), 'request.show', 'request 1')
  await noteAct(context, by('pat'), 'request.read-screening', 'request 3')
  await noteAct(context, by('pat'), 'member.show', 'member 1')
  await noteAct(context, by('olive'), 'request.list', null)
  await noteAct(context, by('pat'), 'request.read-screening', 'request 2')
  expect(await findMemberRecords(context, 1)).toEqual({
    records: ['member 1', 'request 1', 'request 2'],
    isErased: false,
  })
  expect(await seenBy(1)).toEqual([
    ['olive', 'request.show', 'request 1'],
    ['pat', 'member.show', 'member 1'],
    ['pat', 'request.read-screening', 'request 2'],
  ])
  expect(await seenBy(2)).toEqual([['pat', 'request.read-screening', 'request 3']])
})

test('of an erased person what is known still is told: not which requests were theirs', async () => {
  const { context } = service
  await noteAct(context, service.act(), 'member.show', 'member 1')
  await noteAct(context, service.act(), 'request.show', 'request 1')
  const member = await actsOf(context).findMemberById(1)
  if (member) await eraseMember(context, member, service.act())
  // Whoever was about to read or to erase them by then was refused.
  await noteAct(context, service.act(), 'member.export', 'member 1', 'record_unknown')
  await noteAct(context, service.act(), 'member.erase', 'member 1', 'record_unknown')
  expect(await findMemberRecords(context, 1)).toEqual({ records: ['member 1'], isErased: true })
  expect(await seenBy(1)).toEqual([
    ['test', 'member.show', 'member 1'],
    ['test', 'member.erase', 'member 1'],
    ['test', 'member.export', 'member 1'],
    ['test', 'member.erase', 'member 1'],
  ])
})

test('a person who was never there is record_unknown, which is not as if nobody had seen them', async () => {
  expect(await endOf(findMemberRecords(service.context, 99))).toBe('record_unknown')
  // Neither is one whose erasure was only tried.
  await service.context.store.appendAudit([
    { ...service.act(), action: 'member.erase', record: 'member 98', outcome: 'record_unknown' },
  ])
  expect(await endOf(findMemberRecords(service.context, 98))).toBe('record_unknown')
})

test('what concerns a partner is what it did and what was done about it', () => {
  expect(subjectsOfPartner(service.partner.partner)).toEqual([
    { record: 'partner 1' },
    { actor: 'partner 1' },
  ])
})
