import { describe, expect, test } from 'bun:test'
import { type RequestEnd, requestStates } from '../../src/domain/booking-request'
import {
  decideDueErasure,
  decideEdit,
  decideErasure,
  decideExport,
  dueAmong,
} from '../../src/domain/decisions/members'
import { Refusal } from '../../src/domain/errors'
import { decideState } from '../../src/domain/ports/writes'
import { booking, done, intake, member, now } from './values'

const answer = expect.any(Function)

describe('domain: a member', () => {
  test.each([
    [false, 'member.deactivate'],
    [true, 'member.reactivate'],
  ] as const)('can be set to active = %p, with one audit line', (active, action) => {
    expect(done(decideState('member', member, active))).toEqual({
      writes: [{ set: 'member', id: 7, to: { active } }],
      taken: [],
      audit: { action, noun: 'member', id: 7 },
      answer,
    })
  })

  test('is edited by staff, and the audit line contains the names of the changed fields only', () => {
    const edit = { phoneNumber: null, email: 'new@example.com', firstName: 'Robin' }
    const decided = done(decideEdit(member, null, member, edit, { actor: 'olive', at: now + 1 }))
    expect(decided).toEqual({
      writes: [{ set: 'member', id: 7, to: { profile: { ...member.profile, ...edit }, updatedAt: now + 1 } }],
      taken: [],
      audit: { action: 'member.edit', noun: 'member', id: 7, outcome: 'done: email, phoneNumber' },
      answer,
    })
  })

  test('is not edited without a change, with the email address of another member, or after a change by others', () => {
    const act = { actor: 'olive', at: now }
    const other = { ...member, id: 8 }
    const email = { email: 'ROBIN@example.com' }
    expect(decideEdit(null, null, member, email, act)).toMatchObject({ kind: 'record_unknown' })
    expect(decideEdit(member, null, member, { lastName: 'Sample' }, act)).toEqual(
      new Refusal('move_unknown', 'the member already has these values'),
    )
    expect(decideEdit(member, other, member, email, act)).toEqual(
      new Refusal('email_taken', 'the e-mail address already belongs to a different member'),
    )
    expect(done(decideEdit(member, member, null, email, act)).writes).toHaveLength(1)
    const moved = { ...member, profile: { ...member.profile, state: 'QC' } }
    expect(decideEdit(moved, null, member, email, act)).toEqual(
      new Refusal('not_confirmed', 'the member changed while the question was open, so nothing was done'),
    )
  })

  test('is exported unchanged, with one audit line', () => {
    const { member: _, ...request } = booking
    const held = {
      member,
      createdAt: now,
      updatedAt: now,
      requests: [{ ...request, screeningAnswers: [], sentProfile: null, notes: [] }],
    }
    const decided = done(decideExport(held))
    expect(decided).toEqual({
      writes: [],
      taken: [],
      audit: { action: 'member.export', noun: 'member', id: 7 },
      answer,
    })
    expect(decided.answer([])).toBe(held)
  })

  test('is erased last, after the links and answers of requests, the replays and the notes', () => {
    const forgotten = { memberId: null, screeningAnswers: null, sentProfile: null }
    const notes = [31, 32].map((id) => ({ id, memberId: 7 }))
    expect(done(decideErasure(member, [intake, booking], notes))).toEqual({
      writes: [
        { set: 'request', id: 11, to: forgotten },
        { set: 'request', id: 12, to: forgotten },
        { remove: 'replay', id: 11 },
        { remove: 'replay', id: 12 },
        { remove: 'unreadRisk', id: 11 },
        { remove: 'unreadRisk', id: 12 },
        { remove: 'note', id: 31 },
        { remove: 'note', id: 32 },
        { remove: 'member', id: 7 },
      ],
      taken: [],
      audit: { action: 'member.erase', noun: 'member', id: 7 },
      answer,
    })
  })

  test('is erased with one write for all requests', () => {
    const { writes } = done(decideErasure(member, [intake, booking], []))
    expect(new Set(writes.flatMap((write) => ('set' in write ? [write.to] : []))).size).toBe(1)
  })

  test('is erased, and the outcome lists the requests that held a slot', () => {
    const inEachState = requestStates.map((state, index) => ({ ...booking, id: 20 + index, state }))
    const withoutSlot = { ...intake, id: 30, state: 'pending' as const, providerId: 5 }
    const { answer: result } = done(decideErasure(member, [...inEachState, withoutSlot], []))
    expect(result([])).toEqual([
      20 + requestStates.indexOf('pending'),
      20 + requestStates.indexOf('accepted'),
    ])
  })

  test('that is unknown is refused with record_unknown', () => {
    const nobody = new Refusal('record_unknown', 'there is no such member')
    const decided: unknown[] = [
      decideState('member', null, true),
      decideExport(null),
      decideErasure(null, [booking], []),
    ]
    expect(decided).toEqual([nobody, nobody, nobody])
  })
})

describe('domain: a member is due', () => {
  const requestOf = (id: number, memberId: number, submittedAt: number, more: Partial<RequestEnd> = {}) => {
    const times = { submittedAt, endsAt: null, acceptedAt: null, declinedAt: null }
    return { id, memberId, state: 'closed', ...times, ...more } as RequestEnd
  }

  test.each([
    ['its submission', {}],
    ['its closing', { submittedAt: 5, declinedAt: 90 }],
    ['its acceptance', { submittedAt: 5, acceptedAt: 90, state: 'accepted' }],
    ['the end of its slot', { submittedAt: 5, acceptedAt: 6, endsAt: 90, state: 'accepted' }],
  ] as const)('once the last request ended before the limit: %s counts', (_, more) => {
    const last = requestOf(12, 7, 90, more)
    const due = [{ id: 7, endedAt: 90, openRequest: null }]
    expect(dueAmong([requestOf(11, 7, 10), last], 91)).toEqual(due)
    expect(dueAmong([last, requestOf(13, 7, 10)], 91)).toEqual(due)
    expect(dueAmong([requestOf(11, 7, 10), last], 90)).toEqual([])
  })

  test('with the id of an open request, and apart from other members', () => {
    const requests = [
      requestOf(1, 7, 10),
      requestOf(2, 8, 20),
      requestOf(3, 9, 99),
      requestOf(4, 7, 30, { state: 'pending' }),
      requestOf(5, 6, 40, { state: 'unassigned' }),
      requestOf(6, 5, 40, { state: 'declined' }),
    ]
    expect(dueAmong(requests, 50)).toEqual([
      { id: 7, endedAt: 30, openRequest: 4 },
      { id: 8, endedAt: 20, openRequest: null },
      { id: 6, endedAt: 40, openRequest: 5 },
      { id: 5, endedAt: 40, openRequest: null },
    ])
  })

  test('and is erased with requests and notes, unless a request is open or newer', () => {
    const requests = [requestOf(1, 7, 10), requestOf(2, 8, 20), requestOf(3, 9, 99), requestOf(4, 7, 11)]
    const open = requestOf(5, 6, 10, { state: 'pending' })
    const notes = [7, 6, 9, 8].map((memberId) => ({ id: 30 + memberId, memberId }))
    const decided = done(decideDueErasure([...requests, open], notes, 50))
    const to = { memberId: null, screeningAnswers: null, sentProfile: null }
    expect(decided).toEqual({
      writes: [
        { set: 'request', id: 1, to },
        { set: 'request', id: 2, to },
        { set: 'request', id: 4, to },
        { remove: 'replay', id: 1 },
        { remove: 'replay', id: 2 },
        { remove: 'replay', id: 4 },
        { remove: 'unreadRisk', id: 1 },
        { remove: 'unreadRisk', id: 2 },
        { remove: 'unreadRisk', id: 4 },
        { remove: 'note', id: 37 },
        { remove: 'note', id: 38 },
        { remove: 'member', id: 7 },
        { remove: 'member', id: 8 },
      ],
      taken: [],
      audit: [7, 8].map((id) => ({ action: 'member.erase', noun: 'member', id })),
      answer,
    })
    expect(decided.answer([])).toEqual([7, 8])
  })
})
