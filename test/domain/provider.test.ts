import { describe, expect, test } from 'bun:test'
import { absenceForm } from '../../src/domain/provider'

describe('the form of a boundary of time off', () => {
  test.each([
    ['2026-12-24', 'date'],
    ['2026-12-24T10:00', 'local'],
    ['2026-12-24T24:00', 'local'],
    ['2026-12-24T10:00:00Z', 'instant'],
  ] as const)('%s is of the form %s', (text, form) => expect(absenceForm(text)).toBe(form))

  // Slots begin with a minute, and instants that are written in two ways would not sort as text.
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
  ])('%j is of none', (text) => expect(absenceForm(text)).toBeNull())
})
