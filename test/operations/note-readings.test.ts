import { afterEach, beforeEach, expect, test } from 'bun:test'
import type { AuditEntry } from '../../src/domain/audit'
import { noteReadings } from '../../src/operations/requests'
import { actsOf } from '../support/acts'
import { startService } from '../support/service'

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
  const noting = noteReadings(service.context, readings(1_200))
  await store.appendAudit([
    { ...service.act(), action: 'request.show', record: 'request 1', outcome: 'done' },
  ])
  await noting
  const noted = (await actionsOf()).slice(before)
  expect(noted.indexOf('request.show')).toBe(500)
  expect(noted.filter((action) => action === 'request.read-risk')).toHaveLength(1_200)
})

test('operations: auditing no readings adds no line', async () => {
  const before = await actionsOf()
  await noteReadings(service.context, [])
  expect(await actionsOf()).toEqual(before)
})
