import { describe, expect, test } from 'bun:test'
import type { Receipt } from '../../src/domain/booking-request'
import {
  decideForgetting,
  decideSubmission,
  expiredBy,
  type KeptAnswer,
  type SubmissionDraft,
  type SubmissionFacts,
} from '../../src/domain/decisions/submission'
import { Refusal } from '../../src/domain/errors'
import { unlimited } from '../../src/domain/limits'
import { done, endOf, member, nine, now, profile, stranger, version } from './values'

const day = 24 * 60 * 60_000
const retry = { key: 'one', body: '{"sent":1}' }

const draft: SubmissionDraft = {
  partnerId: 3,
  externalUserId: 'robin',
  member: { email: 'robin@example.com', firstName: 'Robyn', lastName: 'Sample', country: 'CA' },
  slot: { providerId: 5, startsAt: nine },
  slotState: 'offered',
  localOffsetMinutes: -300,
  authorizationNumber: 'AUTH-2',
  screeningAnswers: [],
  retry,
  submittedAt: now,
  limits: unlimited,
  version,
}

const facts: SubmissionFacts = {
  since: [],
  member,
  emailOwnerId: member.id,
  holders: [],
  held: [],
  openIntakes: 0,
  conflictAt: null,
  kept: null,
}

const { phoneNumber, preferredModality } = profile
const request = {
  state: 'pending' as const,
  providerId: 5,
  authorizationNumber: 'AUTH-1',
  startsAt: nine,
  acceptedAt: null,
  declinedAt: null,
}
const receipt: Receipt = {
  ...request,
  id: 42,
  member: {
    id: 7,
    profile: { email: 'then@example.com', firstName: 'Then', phoneNumber, preferredModality },
  },
}
const kept: KeptAnswer = { requestId: 42, submittedAt: now - 1_000, receipt }

describe('domain: a submission with a known idempotency key', () => {
  test('gets the first answer and writes nothing', () => {
    const decision = done(decideSubmission(draft, { ...facts, kept }))
    expect(decision).toEqual({ writes: [], taken: [], audit: null, answer: expect.any(Function) })
    expect(decision.answer([])).toEqual({ ...receipt, isReplay: true })
  })

  test('with another body is refused', () => {
    expect(decideSubmission(draft, { ...facts, kept: { ...kept, receipt: null } })).toEqual(
      new Refusal('idempotency_key_reused', 'was already sent with a different body', {
        action: 'use a new key',
      }),
    )
  })

  const conditions: [name: string, found: Partial<SubmissionFacts>, asked?: Partial<SubmissionDraft>][] = [
    ['the member is deactivated', { member: { ...member, active: false } }],
    ['the member was erased', { member: null }],
    ['the slot belongs to the member', { holders: [{ requestId: 42, memberId: 7, startsAt: nine }] }],
    ['the slot belongs to another member', { holders: [stranger] }],
    ['the slot is not offered', {}, { slotState: 'not offered' }],
    ['the provider is unknown', {}, { slotState: 'provider unknown' }],
    ['the member holds another slot at that time', { held: [{ requestId: 42, startsAt: nine }] }],
    ['the member has reached the limit of open requests', {}, { limits: { ...unlimited, openRequests: 0 } }],
    ['the email address belongs to another member', { emailOwnerId: 9 }],
  ]

  test.each(conditions)('is recognized before other checks, even if %s', (_, found, asked = {}) => {
    const [again, all] = [
      { ...draft, ...asked },
      { ...facts, ...found },
    ]
    expect(endOf(decideSubmission(again, all))).not.toBe(found.member === null ? 'stale' : 'done')
    const replay = done(decideSubmission(again, { ...all, kept }))
    expect(replay.answer([])).toEqual({ ...receipt, isReplay: true })
    const reused = decideSubmission(again, { ...all, kept: { ...kept, receipt: null } })
    expect(endOf(reused)).toBe('idempotency_key_reused')
  })

  test('is decided again if the partner or the provider has changed', () => {
    for (const noun of ['partner', 'provider'] as const) {
      expect(decideSubmission(draft, { ...facts, since: [{ noun, recordId: 5 }], kept })).toBe('stale')
    }
  })

  test('is a replay for 24 hours, and then a new submission', () => {
    const endAt = (submittedAt: number) => {
      const { answer } = done(decideSubmission(draft, { ...facts, kept: { ...kept, submittedAt } }))
      return answer([7, 43])
    }
    expect(endAt(now - day + 1)).toHaveProperty('isReplay', true)
    expect(endAt(now - day)).not.toHaveProperty('isReplay')
    expect(expiredBy(now)).toBe(now - day)
    const expiredAndOther = { ...kept, submittedAt: now - day, receipt: null }
    expect(endOf(decideSubmission(draft, { ...facts, kept: expiredAndOther }))).toBe('done')
  })
})

describe('domain: a stored submission', () => {
  const writesOf = (asked: Partial<SubmissionDraft>, found: Partial<SubmissionFacts>): unknown[] =>
    done(decideSubmission({ ...draft, ...asked }, { ...facts, ...found })).writes.slice(2)

  test('with an idempotency key stores the response for replays', () => {
    const shown = {
      email: 'robin@example.com',
      firstName: 'Robyn',
      phoneNumber: '+1 416 555 0100',
      preferredModality: null,
    }
    const row = {
      ...{ partnerId: 3, retry, requestId: 'added', memberId: 7 },
      request: { ...request, authorizationNumber: 'AUTH-2' },
      ...{ profile: shown, submittedAt: now },
    }
    expect(writesOf({}, {})).toEqual([{ add: 'replay', row }])
    const fresh = { ...row, memberId: 'added', profile: { ...shown, phoneNumber: null } }
    expect(writesOf({}, { member: null, emailOwnerId: null })).toEqual([{ add: 'replay', row: fresh }])
  })

  test('first removes an expired replay with the same key', () => {
    const old = { ...kept, submittedAt: now - day }
    expect(writesOf({}, { kept: old }).slice(0, -1)).toEqual([{ remove: 'replay', id: 42 }])
  })

  test('without an idempotency key stores no replay', () => {
    expect(writesOf({ retry: null }, {})).toEqual([])
  })
})

test('domain: expired replays are removed and their number is returned', () => {
  const decision = done(decideForgetting([40, 42]))
  expect(decision).toEqual({
    writes: [
      { remove: 'replay', id: 40 },
      { remove: 'replay', id: 42 },
    ],
    taken: [],
    audit: null,
    answer: expect.any(Function),
  })
  expect(decision.answer([])).toBe(2)
})
