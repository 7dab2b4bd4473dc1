import { describe, expect, test } from 'bun:test'
import { absenceForm } from '../../src/domain/provider'

describe('domain: the form of a time-off boundary', () => {
  test.each([
    ['2026-12-24', 'date'],
    ['2026-12-24T10:00', 'local'],
    ['2026-12-24T24:00', 'local'],
    ['2026-12-24T10:00:00Z', 'instant'],
  ] as const)('of %s is %s', (text, form) => expect(absenceForm(text)).toBe(form))

  // Boundaries are on whole minutes. Each instant is written in exactly one format, so that instants sort as text.
  test.each([
    '2026-12-24T10:00:30Z',
    '2026-12-24T10:00:00.0Z',
    '2026-12-24T10:00Z',
    '2026-12-24T10:00:00',
    '2026-12-24T10:00T',
    '2026-12-24T9:00',
    '2026-12-24 10:00',
    '2026-12-24T',
    '2026-02-29',
    '2026-02-29T10:00:00Z',
    '',
  ])('of %j is invalid', (text) => expect(absenceForm(text)).toBeNull())
})
