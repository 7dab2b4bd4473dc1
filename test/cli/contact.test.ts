import { describe, expect, test } from 'bun:test'
import { requestsText } from '../../src/cli/terminal/member-text'
import { changeLines, contactLines, presentChanges } from '../../src/cli/terminal/persons'
import type { SentWith } from '../../src/domain/booking-request'
import { member, minutes, now, profile } from '../domain/values'

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

describe('cli: the changes that requests made to a member', () => {
  const sentWith = (id: number, minutesAgo: number, before: SentWith['before']): SentWith => {
    return { id, submittedAt: now - minutes(minutesAgo), sent: profile, before }
  }

  test('are listed newest first, with the names and the earlier values of the fields that identify or reach a person', () => {
    const sent = [
      sentWith(40, 5_000, {}),
      sentWith(41, 120, { email: 'robin@example.com', phoneNumber: '+1 416 555 0100', gender: 'x' }),
      sentWith(42, 30, { gender: 'y' }),
      sentWith(43, 1, { preferredName: null, lastName: 'Sample', leaveVoicemail: 'No' }),
    ]
    expect(changeLines(sent, now)).toEqual([
      'Voicemail, last name and preferred name changed 1 min ago by request 43; before: voicemail No, last name Sample, preferred name none',
      'Phone and e-mail changed 2 h ago by request 41; before: phone +1 416 555 0100, e-mail robin@example.com',
    ])
    expect(presentChanges(sent).map(({ request, before }) => [request, before.gender])).toEqual([
      [43, undefined],
      [42, 'y'],
      [41, 'x'],
    ])
    expect(presentChanges(sent)[0]).toEqual({
      request: 43,
      at: '2026-12-01T11:59:00.000Z',
      before: { preferredName: null, lastName: 'Sample', leaveVoicemail: 'No' },
    })
  })

  test('show the newest change of each field, however often other fields changed, and the first value', () => {
    const sent = [
      sentWith(1, 90, { phoneNumber: '+1 416 555 0100' }),
      sentWith(2, 60, { phoneNumber: '+1 416 555 0199' }),
      ...[3, 4, 5, 6, 7, 8].map((id) => sentWith(id, 10 - id, { preferredName: `x${id}` })),
    ]
    expect(changeLines(sent, now)).toEqual([
      'Preferred name changed 2 min ago by request 8; before: preferred name x8, first x3',
      'Phone changed 1 h ago by request 2; before: phone +1 416 555 0199, first +1 416 555 0100',
    ])
  })

  test('quote a value that could look like another change', () => {
    const forged = 'Q, none; Phone changed 3 d ago by request 1; before: +1 999 999 9999'
    expect(changeLines([sentWith(2, 1, { preferredName: forged })], now)).toEqual([
      'Preferred name changed 1 min ago by request 2; before: preferred name "Q, none; Phone changed 3 d ago by request 1; before: +1 999…"',
    ])
  })
})

test('cli: member show names the number of older requests, of which only the newest 20 are listed', () => {
  const rowOf = (id: number) => ({
    ...{ id, kind: 'intake', state: 'closed' as const, submittedAt: '2026-12-01T12:00:00Z' },
    ...{ provider: null, utcStartTime: null, localTime: null },
  })
  const rows = Array.from({ length: 22 }, (_, index) => rowOf(22 - index))
  const [, shown, older] = requestsText(7, rows) as [string, () => string, string]
  expect(shown().trimEnd().split('\n')).toHaveLength(1 + 20)
  expect(older).toBe('2 older: anteroom request list --member 7')
  expect(requestsText(7, rows.slice(2))).toEqual(['', expect.any(Function), []])
})
