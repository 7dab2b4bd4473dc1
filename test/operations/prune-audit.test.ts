import { expect, test } from 'bun:test'
import type { AuditChain } from '../../src/domain/audit'
import { Refusal } from '../../src/domain/errors'
import type { AuditPrune } from '../../src/domain/ports/maintenance'
import type { Records } from '../../src/operations/context'
import { pruneAudit } from '../../src/operations/maintenance'
import { act } from '../domain/values'

test('operations: pruneAudit refuses a future instant, and keeps lines of acts for six years unless forced', async () => {
  const pruned: AuditPrune[] = []
  const maintenance = {
    async pruneAudit(prune: AuditPrune) {
      pruned.push(prune)
      return 4
    },
  }
  const pruneUntil = (before: number, chain: AuditChain = 'acts', isForced?: boolean) =>
    pruneAudit({ maintenance } as unknown as Records, { chain, before, target: '/archive' }, act, isForced)
  for (const isForced of [false, true]) {
    await expect(pruneUntil(act.at + 1, 'acts', isForced)).rejects.toMatchObject({
      kind: 'field_invalid',
      message: '--before: must not be in the future',
    })
  }
  const sixYearsAgo = Date.UTC(2020, 11, 1, 12)
  await expect(pruneUntil(sixYearsAgo + 1)).rejects.toEqual(
    new Refusal('field_invalid', '--before: audit lines younger than 6 years stay in the log', {
      action: 'use --force if they are not needed here',
    }),
  )
  expect(pruned).toEqual([])
  expect(await pruneUntil(sixYearsAgo)).toBe(4)
  await pruneUntil(act.at, 'acts', true)
  await pruneUntil(act.at, 'refusals')
  const target = '/archive'
  expect(pruned).toEqual([
    { chain: 'acts', before: sixYearsAgo, target },
    { chain: 'acts', before: act.at, target },
    { chain: 'refusals', before: act.at, target },
  ])
})
