import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { slotMillis } from '../../src/domain/booking-request'
import {
  decideSubmission,
  emailConflictQuery,
  type SubmissionDraft,
  type SubmissionFacts,
  submitterOf,
} from '../../src/domain/decisions/submission'
import { Refusal } from '../../src/domain/errors'
import { unlimited } from '../../src/domain/limits'
import {
  changes,
  done,
  endOf,
  holders,
  member,
  minutes,
  nine,
  now,
  profile,
  stranger,
  version,
} from './values'

const submitted = { email: 'robin@example.com', firstName: 'Robyn', lastName: 'Sample', country: 'CA' }

const intakeDraft: SubmissionDraft = {
  partnerId: 3,
  externalUserId: 'robin',
  member: submitted,
  slot: null,
  slotState: null,
  localOffsetMinutes: null,
  authorizationNumber: null,
  screeningAnswers: [{ question: 'Sleep?', answer: 'Several days' }],
  retry: null,
  submittedAt: now,
  limits: { openRequests: 3, openIntakes: 2, emailConflicts: 20 },
  version,
}

const draft: SubmissionDraft = {
  ...intakeDraft,
  slot: { providerId: 5, startsAt: nine },
  slotState: 'offered',
  localOffsetMinutes: -300,
  authorizationNumber: 'AUTH-1',
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

/** Returns slots of the member. The offsets are minutes after nine. */
const heldAt = (...offsets: number[]) =>
  offsets.map((offset, index) => ({ requestId: 70 + index, startsAt: nine + minutes(offset) }))

interface Asked {
  readonly draft: SubmissionDraft
  readonly facts: SubmissionFacts
}

type Fault = readonly [end: string, name: string, add: (asked: Asked) => Asked]

const held = (asked: Asked, holder: SubmissionFacts['holders'][number]) => ({
  ...asked,
  facts: { ...asked.facts, holders: [...asked.facts.holders, holder] },
})

/** The faults in the order of the checks in docs/architecture.md. `stale` comes first. */
const faults: readonly Fault[] = [
  [
    'stale',
    'the provider has changed',
    ({ draft, facts }) => ({ draft, facts: { ...facts, since: [{ noun: 'provider', recordId: 5 }] } }),
  ],
  [
    'member_deactivated',
    'the member is deactivated',
    ({ draft, facts }) => ({ draft, facts: { ...facts, member: { ...member, active: false } } }),
  ],
  [
    'slot_already_yours',
    'the member holds the slot',
    (asked) => held(asked, { requestId: 80, memberId: member.id, startsAt: nine }),
  ],
  [
    'provider_unknown',
    'the provider is unknown',
    ({ draft, facts }) => ({ draft: { ...draft, slotState: 'provider unknown' }, facts }),
  ],
  ['slot_unavailable', 'another member holds an overlapping slot', (asked) => held(asked, stranger)],
  [
    'slot_unavailable',
    'the slot is not offered',
    ({ draft, facts }) => ({
      draft: { ...draft, slotState: draft.slotState === 'offered' ? 'not offered' : draft.slotState },
      facts,
    }),
  ],
  [
    'slot_conflicts_with_yours',
    'the member holds an overlapping slot of another provider',
    ({ draft, facts }) => ({ draft, facts: { ...facts, held: [...facts.held, ...heldAt(-44)] } }),
  ],
  [
    'too_many_open_requests',
    'the member has reached the limit of open requests',
    ({ draft, facts }) => ({ draft, facts: { ...facts, held: [...facts.held, ...heldAt(45, 90, 135)] } }),
  ],
  [
    'email_conflicts_limited',
    'the address is new to the member and the partner has reached the limit of email conflicts',
    ({ draft, facts }) => ({
      draft: { ...draft, member: { ...submitted, email: 'new@example.com' } },
      facts: { ...facts, conflictAt: now - minutes(20) },
    }),
  ],
  [
    'email_taken',
    'the address belongs to another member',
    ({ draft, facts }) => ({ draft, facts: { ...facts, emailOwnerId: 9 } }),
  ],
]

describe('domain: the checks of a submission', () => {
  test.each(faults)('give %s if %s', (end, _, add) => {
    const { draft: asked, facts: found } = add({ draft, facts })
    expect(endOf(decideSubmission(asked, found))).toBe(end)
  })

  const pairs = faults.flatMap((first, index) =>
    faults.slice(index + 1).map((second) => [first[0], first[1], second[1], first[2], second[2]] as const),
  )

  test.each(pairs)('give %s if %s, even if %s', (end, _, __, addFirst, addSecond) => {
    for (const { draft: asked, facts: found } of [
      addSecond(addFirst({ draft, facts })),
      addFirst(addSecond({ draft, facts })),
    ]) {
      expect(endOf(decideSubmission(asked, found))).toBe(end)
    }
  })

  test('pass a booking and an intake without a fault', () => {
    expect(endOf(decideSubmission(draft, facts))).toBe('done')
    expect(endOf(decideSubmission(intakeDraft, facts))).toBe('done')
  })

  test('of an intake skip the slot', () => {
    const ends = faults.map(([, , add]) => {
      const { facts: found } = add({ draft, facts })
      return endOf(decideSubmission(intakeDraft, found))
    })
    const slotFaults = Array(6).fill('done')
    expect(ends).toEqual(['done', 'member_deactivated', ...slotFaults, 'done', 'email_taken'])
  })

  test('give stale for a taken slot that is free now', () => {
    const taken = { ...draft, slotState: 'taken' as const }
    expect(endOf(decideSubmission(taken, facts))).toBe('stale')
    const holder = { requestId: 80, memberId: 99, startsAt: nine }
    expect(endOf(decideSubmission(taken, { ...facts, holders: [holder] }))).toBe('slot_unavailable')
  })

  test('give slot_unavailable if the member already has an overlapping slot with the same provider', () => {
    const touching = { requestId: 80, memberId: member.id, startsAt: nine + minutes(15) }
    expect(endOf(decideSubmission(draft, { ...facts, holders: [touching] }))).toBe('slot_unavailable')
  })

  test('give slot_unavailable for the slot of an erased person', () => {
    const erased = { requestId: 80, memberId: null, startsAt: nine }
    const found = { ...facts, member: null, emailOwnerId: null, holders: [erased] }
    expect(endOf(decideSubmission(draft, found))).toBe('slot_unavailable')
  })

  test('refuse a taken address for a new member and accept the own address of a known member', () => {
    expect(endOf(decideSubmission(intakeDraft, { ...facts, member: null, emailOwnerId: 7 }))).toBe(
      'email_taken',
    )
    expect(endOf(decideSubmission(intakeDraft, { ...facts, member: null, emailOwnerId: null }))).toBe('done')
    expect(endOf(decideSubmission(intakeDraft, { ...facts, emailOwnerId: null }))).toBe('done')
  })
})

describe('domain: the slots that a member already holds', () => {
  const endOfHolding = (held: SubmissionFacts['held'], different: Partial<SubmissionDraft> = {}) =>
    endOf(decideSubmission({ ...draft, ...different }, { ...facts, held }))

  test.each([
    [-45, 'done'],
    [-44, 'slot_conflicts_with_yours'],
    [-1, 'slot_conflicts_with_yours'],
    [0, 'slot_conflicts_with_yours'],
    [44, 'slot_conflicts_with_yours'],
    [45, 'done'],
  ])('%d minutes from the requested slot give %s, with or without limits', (offset, end) => {
    expect(endOfHolding(heldAt(offset))).toBe(end)
    expect(endOfHolding(heldAt(offset), { limits: unlimited })).toBe(end)
  })

  test('count against the limit only if they are in the future', () => {
    const toCome = heldAt(45, 90)
    const begun = { requestId: 80, startsAt: now }
    const over = { requestId: 81, startsAt: now - minutes(600) }
    expect(endOfHolding([...toCome, begun, over])).toBe('done')
    expect(endOfHolding([...toCome, { ...begun, startsAt: now + 1 }])).toBe('too_many_open_requests')
    expect(endOfHolding(heldAt(45, 90, 135, 180), { limits: unlimited })).toBe('done')
  })

  test('are counted in the message of the refusal', () => {
    expect(decideSubmission(draft, { ...facts, held: heldAt(45, 90, 135) })).toEqual(
      new Refusal(
        'too_many_open_requests',
        'the member has 3 open requests with a future slot, and may not have more',
      ),
    )
  })

  test('do not limit intakes', () => {
    const held = heldAt(0, 45, 90)
    expect(endOf(decideSubmission(intakeDraft, { ...facts, held }))).toBe('done')
  })
})

describe('domain: email conflicts', () => {
  const claiming = { ...draft, member: { ...submitted, email: 'new@example.com' } }
  const taken = { ...facts, emailOwnerId: 9 }

  test('only add an audit line with the partner and the owner of the address', () => {
    const { writes, taken: slots, audit, answer } = done(decideSubmission(claiming, taken))
    expect({ writes, slots, audit }).toEqual({
      writes: [],
      slots: [],
      audit: { action: 'member.email-conflict', noun: 'member', id: 9, outcome: 'email_taken' },
    })
    expect(answer([])).toEqual(new Refusal('email_taken', 'already belongs to a different member'))
    expect(submitterOf(claiming)).toEqual({ actor: 'partner 3', at: now })
  })

  test('count for one hour, and Retry-After is the rest of that hour', () => {
    expect(emailConflictQuery(claiming)).toEqual({ actor: 'partner 3', after: now - minutes(60), back: 20 })
    const refusal = decideSubmission(claiming, { ...taken, conflictAt: now - minutes(20) + 1 })
    expect(refusal).toMatchObject({ kind: 'email_conflicts_limited', retryAfterSeconds: 2401 })
  })

  test('are refused even without a limit, and recorded at most 1,000 times an hour', () => {
    const free = { ...claiming, limits: unlimited }
    expect(emailConflictQuery(free).back).toBe(1_000)
    expect(done(decideSubmission(free, taken)).audit).not.toBeNull()
    const refusal = decideSubmission(free, { ...taken, conflictAt: now - minutes(20) })
    expect(refusal).toEqual(new Refusal('email_taken', 'already belongs to a different member'))
  })

  test('beyond the limit get the same answer for every new address', () => {
    const asked = fc.record({
      member: fc.constantFrom(null, member, { ...member, profile: { ...profile, email: '' } }),
      email: fc.constantFrom('robin@example.com', 'ROBIN@Example.com', 'new@example.com', 'kim@example.com'),
      conflictAt: fc.integer({ min: now - minutes(60) + 1, max: now }),
    })
    fc.assert(
      fc.property(asked, fc.constantFrom(null, 9), ({ member: known, email, conflictAt }, other) => {
        const isOwn = known?.profile.email !== '' && known !== null && /^robin/i.test(email)
        const decided = decideSubmission(
          { ...intakeDraft, member: { ...submitted, email } },
          { ...facts, member: known, emailOwnerId: isOwn ? known.id : other, conflictAt },
        )
        expect(endOf(decided)).toBe(isOwn ? 'done' : 'email_conflicts_limited')
        if (!isOwn) expect(decided).toEqual(limitedAt(conflictAt))
      }),
    )
  })

  const limitedAt = (conflictAt: number) =>
    new Refusal('email_conflicts_limited', 'too many e-mail addresses of other members were sent', {
      action: 'try again later',
      retryAfterSeconds: Math.ceil((conflictAt + minutes(60) - now) / 1000),
    })
})

describe('domain: a submission stores', () => {
  const unknown = Object.fromEntries(Object.keys(profile).map((name) => [name, null]))

  test('a new member and the intake', () => {
    const decided = done(decideSubmission(intakeDraft, { ...facts, member: null, emailOwnerId: null }))
    const theirs = { ...unknown, preferredSpokenLanguage: 'en', ...submitted }
    const { writes, taken, audit, answer }: Record<string, unknown> = { ...decided }
    expect({ writes, taken, audit }).toEqual({
      writes: [
        {
          add: 'member',
          row: {
            partnerId: 3,
            externalUserId: 'robin',
            active: true,
            profile: theirs,
            createdAt: now,
            updatedAt: now,
          },
        },
        {
          add: 'request',
          row: {
            memberId: 'added',
            isIntake: true,
            state: 'unassigned',
            providerId: null,
            authorizationNumber: null,
            startsAt: null,
            endsAt: null,
            localOffsetMinutes: null,
            acceptedAt: null,
            declinedAt: null,
            cancelledAt: null,
            partnerId: 3,
            screeningAnswers: intakeDraft.screeningAnswers,
            sentProfile: { sent: submitted, before: {} },
            submittedAt: now,
          },
        },
      ],
      taken: [],
      audit: { action: 'member.create', noun: 'member', id: null },
    })
    expect((answer as typeof decided.answer)([41, 42]) as unknown).toEqual({
      id: 42,
      state: 'unassigned',
      providerId: null,
      authorizationNumber: null,
      startsAt: null,
      acceptedAt: null,
      declinedAt: null,
      member: { id: 41, partnerId: 3, externalUserId: 'robin', active: true, profile: theirs },
    })
  })

  test('a booking and the new values of the member', () => {
    const asked = {
      ...draft,
      member: { ...submitted, suite: '', phoneNumber: '+1 416 555 0199' },
      submittedAt: now + 1,
    }
    const decided = done(decideSubmission(asked, facts))
    const theirs = { ...profile, ...submitted, suite: '', phoneNumber: '+1 416 555 0199' }
    const writes: unknown = decided.writes
    expect(writes).toEqual([
      { set: 'member', id: 7, to: { profile: theirs, updatedAt: now + 1 } },
      {
        add: 'request',
        row: {
          memberId: 7,
          isIntake: false,
          state: 'pending',
          providerId: 5,
          authorizationNumber: 'AUTH-1',
          startsAt: nine,
          endsAt: nine + slotMillis,
          localOffsetMinutes: -300,
          acceptedAt: null,
          declinedAt: null,
          cancelledAt: null,
          partnerId: 3,
          screeningAnswers: draft.screeningAnswers,
          sentProfile: {
            sent: asked.member,
            before: { firstName: 'Robin', phoneNumber: '+1 416 555 0100' },
          },
          submittedAt: now + 1,
        },
      },
    ])
    const line = { action: 'member.update', noun: 'member', id: 7, outcome: 'done: firstName, phoneNumber' }
    expect<unknown>([decided.taken, decided.audit]).toEqual([[5], line])
    expect(decided.answer([7, 42])).toEqual({
      id: 42,
      state: 'pending',
      providerId: 5,
      authorizationNumber: 'AUTH-1',
      startsAt: nine,
      acceptedAt: null,
      declinedAt: null,
      member: { ...member, profile: theirs },
    })
  })

  test('both a member and a request, or nothing', () => {
    const asked = fc.record({
      isIntake: fc.boolean(),
      slotState: fc.constantFrom('offered', 'not offered', 'provider unknown'),
      since: changes,
      member: fc.constantFrom(null, member, { ...member, active: false }),
      emailOwnerId: fc.constantFrom(null, 7, 9),
      holders,
      held: fc.array(fc.constantFrom(...heldAt(-45, -30, 0, 45, 90, 135)), { maxLength: 4 }),
      openIntakes: fc.constantFrom(0, 1, 2),
      conflictAt: fc.constantFrom(null, now - 1),
      kept: fc.constant(null),
    })
    fc.assert(
      fc.property(asked, ({ isIntake, slotState, ...found }) => {
        const decision = decideSubmission(isIntake ? intakeDraft : { ...draft, slotState }, found)
        if (endOf(decision) !== 'done') {
          expect(decision).not.toHaveProperty('writes.0')
          return
        }
        const { writes, taken } = done(decision)
        const [first, second, ...others] = writes
        const isKnown = found.member !== null
        expect(first).toMatchObject(isKnown ? { set: 'member', id: 7 } : { add: 'member' })
        expect(second).toMatchObject({ add: 'request', row: { memberId: isKnown ? 7 : 'added', isIntake } })
        expect(others).toEqual([])
        expect(taken).toEqual(isIntake ? [] : [5])
        expect(found.member?.active).not.toBe(false)
        expect([null, found.member?.id]).toContain(found.emailOwnerId as never)
        if (isIntake) return
        expect([slotState, found.holders.length]).toEqual(['offered', 0])
        expect(found.held.length).toBeLessThan(3)
        expect(found.held.filter(({ startsAt }) => Math.abs(startsAt - nine) < slotMillis)).toEqual([])
      }),
      { numRuns: 500 },
    )
  })
})
