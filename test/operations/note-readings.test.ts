import { afterEach, beforeEach, expect, test } from 'bun:test'
import type { AuditEntry } from '../../src/domain/audit'
import { findMembers } from '../../src/operations/find-records'
import { noteReadings } from '../../src/operations/notebook'
import { readNotes } from '../../src/operations/requests'
import { actsOf } from '../support/acts'
import { defaultNow, startService } from '../support/service'
import { words } from '../support/words'

let service: Awaited<ReturnType<typeof startService>>
beforeEach(async () => {
  service = await startService()
})
afterEach(() => service.stop())

const readings = (count: number): AuditEntry[] =>
  Array.from({ length: count }, (_, index) => ({
    ...service.act(),
    action: 'request.read-risk',
    record: `request ${index + 1}`,
    outcome: 'done',
  }))

const actionsOf = async () => (await actsOf(service.context).listAudit(2_000)).map(({ action }) => action)

test('operations: many readings are audited in batches, and another audit line can be added in between', async () => {
  const { store } = service.context
  const before = (await actionsOf()).length
  const sizes: number[] = []
  const show = { ...service.act(), action: 'request.show' as const, record: 'request 1', outcome: 'done' }
  const appendAudit = async (lines: readonly AuditEntry[]) => {
    sizes.push(lines.length)
    await store.appendAudit(lines)
    if (sizes.length === 1) await store.appendAudit([show])
  }
  await noteReadings({ store: { ...store, appendAudit } }, readings(1_200))
  expect(sizes).toEqual([500, 500, 200])
  const noted = (await actionsOf()).slice(before)
  expect(noted.indexOf('request.show')).toBe(500)
  expect(noted.filter((action) => action === 'request.read-risk')).toHaveLength(1_200)
})

test('operations: auditing no readings adds no line', async () => {
  const before = await actionsOf()
  await noteReadings(service.context, [])
  expect(await actionsOf()).toEqual(before)
})

const now = Date.parse(defaultNow)
const quarter = 15 * 60_000

async function notedBy(lines: readonly AuditEntry[], before: readonly AuditEntry[] = []) {
  const { store } = service.context
  if (before.length > 0) await store.appendAudit(before)
  const { id } = await store.read(({ audit }) => audit.head())
  await noteReadings(service.context, lines)
  const noted = await store.read(({ audit }) => audit.list(100, { after: id }))
  return noted.map(({ action, record, outcome }) => [action, record, outcome].join(' '))
}

const read = (more: Partial<AuditEntry> = {}): AuditEntry => {
  return {
    actor: 'operator olive',
    at: now,
    action: 'request.show',
    record: 'request 1',
    outcome: 'done',
    ...more,
  }
}

test.each<[string, Partial<AuditEntry>, number]>([
  ['the same read', {}, 0],
  ['the same read of almost 15 minutes ago', { at: now - quarter + 1 }, 0],
  ['one of 15 minutes ago', { at: now - quarter }, 1],
  ['one of the future, because the clock was set back', { at: now + 1 }, 1],
  ["another operator's", { actor: 'operator pat' }, 1],
  ['one of another request', { record: 'request 2' }, 1],
  ['another read of this request', { action: 'request.suggest' }, 1],
  ['a refused one', { outcome: 'record_unknown' }, 1],
])('operations: a read after %s adds %p lines, of %p', async (_, earlier, count) => {
  expect(await notedBy([read()], [read(earlier)])).toHaveLength(count)
})

test('operations: reads of answers, lists and refused commands are noted each time', async () => {
  const lines = [
    read(),
    read({ action: 'request.read-screening' }),
    read({ action: 'request.list', record: null, outcome: 'done: 50' }),
    read({ action: 'member.find', record: null }),
    read({ outcome: 'record_unknown' }),
    read({ action: 'member.export', record: 'member 1' }),
    read({ action: 'request.read-risk', record: 'request 2' }),
  ]
  expect(await notedBy(lines, lines.slice(0, -1))).toEqual([
    'request.read-screening request 1 done',
    'request.list  done: 50',
    'member.find  done',
    'request.show request 1 record_unknown',
    'member.export member 1 done',
    'request.read-risk request 2 done',
  ])
})

test.each(
  words`request.show request.suggest request.read-notes request.read-risk request.read-appointment member.show member.find`,
)('operations: a repeated %s is noted once', async (action) => {
  const line = read({ action: action as AuditEntry['action'] })
  expect(await notedBy([line], [line])).toEqual([])
})

test('operations: notes and searches by e-mail address that are repeated are noted once', async () => {
  const { context } = service
  await service.submit('a')
  const act = { actor: 'operator olive', at: now }
  const lines = () => context.store.read(({ audit }) => audit.list(100, { actor: act.actor }))
  for (let round = 0; round < 2; round++) {
    await readNotes(context, 1, act)
    await findMembers(context, 'a@example.com', act)
  }
  expect((await lines()).map(({ action, record, outcome }) => [action, record, outcome])).toEqual([
    ['request.read-notes', 'request 1', 'done'],
    ['member.find', 'member 1', 'done'],
    ['member.find', null, '1 found'],
    ['member.find', null, '1 found'],
  ])
  await expect(readNotes(context, 9, act)).rejects.toMatchObject({ kind: 'record_unknown' })
})
