import { expect, test } from 'bun:test'
import type { AuditPrune } from '../../src/domain/ports/maintenance'
import type { Records } from '../../src/operations/context'
import { pruneAudit } from '../../src/operations/maintenance'
import { act } from '../domain/values'

test('operations: pruneAudit accepts the current instant and refuses a future one', async () => {
  const pruned: AuditPrune[] = []
  const maintenance = {
    async pruneAudit(prune: AuditPrune) {
      pruned.push(prune)
      return 4
    },
  }
  const pruneUntil = (before: number) =>
    pruneAudit({ maintenance } as unknown as Records, { chain: 'acts', before, target: '/archive' }, act)
  await expect(pruneUntil(act.at + 1)).rejects.toMatchObject({
    kind: 'field_invalid',
    message: '--before: must not be in the future',
  })
  expect(pruned).toEqual([])
  expect(await pruneUntil(act.at)).toBe(4)
  expect(pruned).toEqual([{ chain: 'acts', before: act.at, target: '/archive' }])
})
