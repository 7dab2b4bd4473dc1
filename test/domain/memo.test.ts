import { expect, test } from 'bun:test'
import { memo } from '../../src/domain/memo'

test('domain: memo computes the value of a text once, forgets texts beyond its limit, and never caches long texts', () => {
  const made: string[] = []
  const doubled = memo(2, (text) => {
    made.push(text)
    return text === '' ? null : text + text
  })
  expect(['a', 'a', '', '', 'b', 'b'].map(doubled)).toEqual(['aa', 'aa', null, null, 'bb', 'bb'])
  expect(made).toEqual(['a', '', 'b'])
  doubled('a')
  expect(made.slice(3)).toEqual(['a'])
  const long = 'x'.repeat(1_001)
  doubled(long)
  doubled(long)
  expect(made.slice(4)).toEqual([long, long])
  expect(() =>
    memo(1, () => {
      throw new Error('not made')
    })('a'),
  ).toThrow('not made')
})
