import { describe, expect, test } from 'bun:test'
import { contactLines } from '../../src/cli/terminal/persons'
import { member, profile } from '../domain/values'

const lines = (different: Partial<typeof profile>, time: Parameters<typeof contactLines>[1] = null) =>
  contactLines({ ...member, profile: { ...profile, ...different } }, time)

describe('what to know before a call', () => {
  test.each([
    ['No', 'NO'],
    ['Yes', 'yes'],
    [null, 'unknown: leave none'],
  ])('says of a voicemail that is told as %p plainly %p', (leaveVoicemail, said) =>
    expect(lines({ leaveVoicemail }).voicemail).toBe(said),
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
  ] as const)('tells the time there of %p as %p', (time, said) => {
    const [earliest = '', latest = '', ...zones] = time ?? []
    expect(lines({}, time && { earliest, latest, zones })['time there']).toBe(said)
  })

  test('has nothing for what was told as empty', () => {
    const empty = { preferredName: '', preferredPronouns: '', reasonForSeekingSupport: '', email: '' }
    expect(lines(empty)).toMatchObject({
      'preferred name': null,
      pronouns: null,
      reason: null,
      'e-mail': null,
    })
  })
})
