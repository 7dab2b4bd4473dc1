import { afterEach, beforeEach, expect, test } from 'bun:test'
import { findMemberRecords, subjectsOfPartner } from '../../src/operations/find-records'
import { listAudit, matchingLines, noteAct } from '../../src/operations/maintenance'
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

async function linesAbout(id: number): Promise<(string | null)[][]> {
  const { records } = await findMemberRecords(service.context, id)
  const anyOf = records.map((record) => ({ record }))
  const lines = await listAudit(service.context, 100, { anyOf })
  return lines.map(({ actor, action, record }) => [actor, action, record])
}

test('operations: matchingLines without a filter yields all lines, oldest first', async () => {
  const lines = await Array.fromAsync(matchingLines(service.context, {}))
  expect(lines.map(({ id }) => id)).toEqual(Array.from({ length: lines.length }, (_, index) => index + 1))
  expect(lines).toEqual(await listAudit(service.context, 100, {}))
  expect(lines.length).toBeGreaterThan(2)
})

test("operations: the audit lines about a member are the lines about the member and the member's requests", async () => {
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
  expect(await linesAbout(1)).toEqual([
    ['partner 1', 'member.create', 'member 1'],
    ['olive', 'request.show', 'request 1'],
    ['pat', 'member.show', 'member 1'],
    ['pat', 'request.read-screening', 'request 2'],
  ])
  expect(await linesAbout(2)).toEqual([
    ['partner 1', 'member.create', 'member 2'],
    ['pat', 'request.read-screening', 'request 3'],
  ])
})

test("operations: the audit lines about an erased member do not include lines about the member's requests", async () => {
  const { context } = service
  await noteAct(context, service.act(), 'member.show', 'member 1')
  await noteAct(context, service.act(), 'request.show', 'request 1')
  const member = await actsOf(context).findMemberById(1)
  if (member) await eraseMember(context, member, service.act())
  await noteAct(context, service.act(), 'member.export', 'member 1', 'record_unknown')
  await noteAct(context, service.act(), 'member.erase', 'member 1', 'record_unknown')
  expect(await findMemberRecords(context, 1)).toEqual({ records: ['member 1'], isErased: true })
  expect(await linesAbout(1)).toEqual([
    ['partner 1', 'member.create', 'member 1'],
    ['test', 'member.show', 'member 1'],
    ['test', 'member.erase', 'member 1'],
    ['test', 'member.export', 'member 1'],
    ['test', 'member.erase', 'member 1'],
  ])
})

test('operations: a query for the audit lines about a member who never existed is refused with record_unknown', async () => {
  expect(await endOf(findMemberRecords(service.context, 99))).toBe('record_unknown')
  await service.context.store.appendAudit([
    { ...service.act(), action: 'member.erase', record: 'member 98', outcome: 'record_unknown' },
  ])
  expect(await endOf(findMemberRecords(service.context, 98))).toBe('record_unknown')
})

test('operations: the audit lines about a partner are those with the partner as the actor or as the record', () => {
  expect(subjectsOfPartner(service.partner.partner)).toEqual([
    { record: 'partner 1' },
    { actor: 'partner 1' },
  ])
})
