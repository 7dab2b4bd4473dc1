import { describe, expect, test } from 'bun:test'
import { contactLines } from '../../src/cli/terminal/persons'
import { member, profile } from '../domain/values'

const lines = (different: Partial<typeof profile>, time: Parameters<typeof contactLines>[1] = null) =>
  contactLines({ ...member, profile: { ...profile, ...different } }, time)

describe('cli: the contact details of a member', () => {
  test.each([
    ['No', 'NO'],
    ['Yes', 'yes'],
    [null, 'unknown; do not leave one'],
  ])('leaveVoicemail %p is shown as %p', (leaveVoicemail, text) =>
    expect(lines({ leaveVoicemail }).voicemail).toBe(text),
  )

  test.each([
    [null, 'unknown'],
    [['Tue 2026-12-01 09:12', 'Tue 2026-12-01 09:12', 'A'], 'Tue 2026-12-01 09:12 (A)'],
    [
      ['Tue 2026-12-01 09:12', 'Tue 2026-12-01 10:12', 'A', 'B'],
      'between Tue 2026-12-01 09:12 and 10:12 (A, B)',
    ],
    [
      ['Tue 2026-12-01 23:12', 'Wed 2026-12-02 01:12', 'A', 'B', 'C', 'D'],
      'between Tue 2026-12-01 23:12 and Wed 2026-12-02 01:12',
    ],
  ] as const)('the local time %p is shown as %p', (time, text) => {
    const [earliest = '', latest = '', ...zones] = time ?? []
    expect(lines({}, time && { earliest, latest, zones })['time there']).toBe(text)
  })

  test('empty fields are not shown', () => {
    const empty = { preferredName: '', preferredPronouns: '', reasonForSeekingSupport: '', email: '' }
    expect(lines(empty)).toMatchObject({
      'preferred name': null,
      pronouns: null,
      reason: null,
      'e-mail': null,
    })
  })
})
