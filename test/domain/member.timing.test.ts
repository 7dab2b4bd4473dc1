import { expect, test } from 'bun:test'
import { isEmail } from '../../src/domain/member'
import { millisOf } from '../support/standstill'

test('domain: isEmail is fast for any text', async () => {
  const checking = () => {
    for (const text of [`${'a.'.repeat(50_000)}@`, `a@${'a.'.repeat(50_000)}`, `a@${'a-'.repeat(50_000)}`])
      expect(isEmail(text)).toBe(false)
  }
  expect(await millisOf(checking)).toBeLessThan(1_000)
})
