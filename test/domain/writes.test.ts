import { describe, expect, test } from 'bun:test'
import { type Change, directoryNouns, isStale, outcome, recordName } from '../../src/domain/ports/writes'

describe('domain: a decision about provider 5', () => {
  const rows: [name: string, since: Change[] | null, stale: boolean][] = [
    ['is current if nothing has changed', [], false],
    ['is stale if the changes are no longer known', null, true],
    ['is stale if the provider has changed', [{ noun: 'provider', recordId: 5 }], true],
    ['is current if another provider has changed', [{ noun: 'provider', recordId: 6 }], false],
    ['is stale if any region has changed', [{ noun: 'region', recordId: 1 }], true],
    ['is current if a partner with the same id has changed', [{ noun: 'partner', recordId: 5 }], false],
    ['is current if slots of the provider were taken', [{ noun: 'taken', recordId: 5 }], false],
    [
      'is stale if the provider is the last of many changes',
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

describe('domain: the record name in the audit log', () => {
  test('contains the id of the record, and is null without a record', () => {
    expect(recordName({ action: 'partner.add', noun: 'partner', id: null }, 3)).toBe('partner 3')
    expect(recordName({ action: 'partner.deactivate', noun: 'partner', id: 4 }, 3)).toBe('partner 4')
    expect(recordName({ action: 'directory.load', noun: null, id: null }, 3)).toBeNull()
  })
})

test('domain: an outcome has no answer and no changed slots by default', () => {
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

test('domain: the directory contains partners, organizations, keys, regions and providers, and no member data', () => {
  expect(directoryNouns).toEqual({
    organization: 'partner',
    partner: 'partner',
    key: 'partner',
    region: 'region',
    provider: 'provider',
    member: null,
    request: null,
    note: null,
    unreadRisk: null,
    replay: null,
  })
})
