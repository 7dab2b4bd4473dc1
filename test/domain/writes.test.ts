import { describe, expect, test } from 'bun:test'
import { type Change, isStale, outcome, recordName, shownAs } from '../../src/domain/ports/writes'

describe('what was decided of provider 5 is stale', () => {
  const rows: [what: string, since: Change[] | null, stale: boolean][] = [
    ['where nothing has changed', [], false],
    ['where it can no longer be told what has', null, true],
    ['where the provider has changed', [{ noun: 'provider', recordId: 5 }], true],
    ['where another provider has', [{ noun: 'provider', recordId: 6 }], false],
    ['where any region has', [{ noun: 'region', recordId: 1 }], true],
    ['where a partner has, of the same id too', [{ noun: 'partner', recordId: 5 }], false],
    ['where the slots of the provider have been taken', [{ noun: 'taken', recordId: 5 }], false],
    [
      'where the provider is the last of many',
      [
        { noun: 'taken', recordId: 5 },
        { noun: 'provider', recordId: 6 },
        { noun: 'provider', recordId: 5 },
      ],
      true,
    ],
  ]
  test.each(rows)('%s', (_, since, stale) => expect(isStale(since, 5)).toBe(stale))
})

describe('the audit log names a record', () => {
  test('by the id that it has, or that it is given, and none where there is none', () => {
    expect(recordName({ action: 'partner.add', noun: 'partner', id: null }, 3)).toBe('partner 3')
    expect(recordName({ action: 'partner.deactivate', noun: 'partner', id: 4 }, 3)).toBe('partner 4')
    expect(recordName({ action: 'directory.load', noun: null, id: null }, 3)).toBeNull()
  })
})

test('what needs no answer has none, and takes nobody’s slot unless it says so', () => {
  const plain = outcome('directory.load', null, null, [])
  expect(plain).toEqual({
    writes: [],
    taken: [],
    audit: { action: 'directory.load', noun: null, id: null },
    answer: expect.any(Function),
  })
  expect(plain.answer([1])).toBeUndefined()
  expect(outcome('request.accept', 'request', 1, [], [5]).taken).toEqual([5])
})

test('the directory shows partners with their organizations and keys, regions and providers, and no person', () => {
  expect(shownAs).toEqual({
    organization: 'partner',
    partner: 'partner',
    key: 'partner',
    region: 'region',
    provider: 'provider',
    member: null,
    request: null,
    note: null,
    replay: null,
  })
})
