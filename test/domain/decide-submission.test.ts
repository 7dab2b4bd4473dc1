import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { slotMillis } from '../../src/domain/booking-request'
import {
  decideSubmission,
  type SubmissionDraft,
  type SubmissionFacts,
} from '../../src/domain/decide-submission'
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

const told = { email: 'robin@example.com', firstName: 'Robyn', lastName: 'Sample', country: 'CA' }

const intakeDraft: SubmissionDraft = {
  partnerId: 3,
  externalUserId: 'robin',
  member: told,
  slot: null,
  slotState: null,
  localOffsetMinutes: null,
  authorizationNumber: null,
  screeningAnswers: [{ question: 'Sleep?', answer: 'Several days' }],
  submittedAt: now,
  version,
}

const draft: SubmissionDraft = {
  ...intakeDraft,
  slot: { providerId: 5, startsAt: nine },
  slotState: 'offered',
  localOffsetMinutes: -300,
  authorizationNumber: 'AUTH-1',
}

const facts: SubmissionFacts = { since: [], member, emailOwnerId: member.id, holders: [] }

interface Asked {
  readonly draft: SubmissionDraft
  readonly facts: SubmissionFacts
}

type Fault = readonly [end: string, what: string, add: (asked: Asked) => Asked]

const held = (asked: Asked, holder: SubmissionFacts['holders'][number]) => ({
  ...asked,
  facts: { ...asked.facts, holders: [...asked.facts.holders, holder] },
})

/** In the order of the decisions' row Order of checks, after what was decided too early. */
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
    'nobody knows the provider',
    ({ draft, facts }) => ({ draft: { ...draft, slotState: 'provider unknown' }, facts }),
  ],
  ['slot_unavailable', 'another holds a slot that touches it', (asked) => held(asked, stranger)],
  [
    'slot_unavailable',
    'the slot is not offered',
    ({ draft, facts }) => ({
      draft: { ...draft, slotState: draft.slotState === 'offered' ? 'not offered' : draft.slotState },
      facts,
    }),
  ],
  [
    'email_taken',
    'the address is another member’s',
    ({ draft, facts }) => ({ draft, facts: { ...facts, emailOwnerId: 9 } }),
  ],
]

describe('of a submission', () => {
  test.each(faults)('%s: %s', (end, _, add) => {
    const { draft: asked, facts: found } = add({ draft, facts })
    expect(endOf(decideSubmission(asked, found))).toBe(end)
  })

  const pairs = faults.flatMap((first, index) =>
    faults.slice(index + 1).map((second) => [first[0], first[1], second[1], first[2], second[2]] as const),
  )

  test.each(pairs)('%s is told where %s and %s', (end, _, __, addFirst, addSecond) => {
    for (const { draft: asked, facts: found } of [
      addSecond(addFirst({ draft, facts })),
      addFirst(addSecond({ draft, facts })),
    ]) {
      expect(endOf(decideSubmission(asked, found))).toBe(end)
    }
  })

  test('without a fault nothing is refused', () => {
    expect(endOf(decideSubmission(draft, facts))).toBe('done')
    expect(endOf(decideSubmission(intakeDraft, facts))).toBe('done')
  })

  test('for an intake nothing is stale and no slot is looked at, but the member and their address are', () => {
    const ends = faults.map(([, , add]) => {
      const { facts: found } = add({ draft, facts })
      return endOf(decideSubmission(intakeDraft, found))
    })
    expect(ends).toEqual(['done', 'member_deactivated', 'done', 'done', 'done', 'done', 'email_taken'])
  })

  test('an own slot that only touches the one asked for is no slot that is already held', () => {
    const touching = { requestId: 80, memberId: member.id, startsAt: nine + minutes(15) }
    expect(endOf(decideSubmission(draft, { ...facts, holders: [touching] }))).toBe('slot_unavailable')
  })

  test('the slot of a person who was erased is not that of somebody new', () => {
    const erased = { requestId: 80, memberId: null, startsAt: nine }
    const found = { ...facts, member: null, emailOwnerId: null, holders: [erased] }
    expect(endOf(decideSubmission(draft, found))).toBe('slot_unavailable')
  })

  test('a new member cannot have an address that is somebody’s, a known one may keep theirs', () => {
    expect(endOf(decideSubmission(intakeDraft, { ...facts, member: null, emailOwnerId: 7 }))).toBe(
      'email_taken',
    )
    expect(endOf(decideSubmission(intakeDraft, { ...facts, member: null, emailOwnerId: null }))).toBe('done')
    expect(endOf(decideSubmission(intakeDraft, { ...facts, emailOwnerId: null }))).toBe('done')
  })
})

describe('what is stored', () => {
  const untold = Object.fromEntries(Object.keys(profile).map((name) => [name, null]))

  test('of an intake for somebody new: a member of whom nothing else is known, and the intake', () => {
    const decided = done(decideSubmission(intakeDraft, { ...facts, member: null, emailOwnerId: null }))
    const theirs = { ...untold, preferredSpokenLanguage: 'en', ...told }
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
            screeningAnswers: intakeDraft.screeningAnswers,
            submittedAt: now,
          },
        },
      ],
      taken: [],
      audit: null,
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

  test('of a booking for a known member: what they told anew over what is known, and the booking', () => {
    const asked = {
      ...draft,
      member: { ...told, suite: '', phoneNumber: '+1 416 555 0199' },
      submittedAt: now + 1,
    }
    const decided = done(decideSubmission(asked, facts))
    const theirs = { ...profile, ...told, suite: '', phoneNumber: '+1 416 555 0199' }
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
          screeningAnswers: draft.screeningAnswers,
          submittedAt: now + 1,
        },
      },
    ])
    expect([decided.taken, decided.audit]).toEqual([[5], null])
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

  test('is nothing, or a member and a request, whatever is asked and found', () => {
    const asked = fc.record({
      isIntake: fc.boolean(),
      slotState: fc.constantFrom('offered', 'not offered', 'provider unknown'),
      since: changes,
      member: fc.constantFrom(null, member, { ...member, active: false }),
      emailOwnerId: fc.constantFrom(null, 7, 9),
      holders,
    })
    fc.assert(
      fc.property(asked, ({ isIntake, slotState, ...found }) => {
        const decision = decideSubmission(isIntake ? intakeDraft : { ...draft, slotState }, found)
        if (endOf(decision) !== 'done') {
          expect(decision).not.toHaveProperty('writes')
          return
        }
        const { writes, taken } = done(decision)
        const [first, second, ...others] = writes
        const isKnown = found.member !== null
        expect(first).toMatchObject(isKnown ? { set: 'member', id: 7 } : { add: 'member' })
        expect(second).toMatchObject({ add: 'request', row: { memberId: isKnown ? 7 : 'added', isIntake } })
        expect(others).toEqual([])
        expect(taken).toEqual(isIntake ? [] : [5])
        // And then nothing spoke against it.
        expect(found.member?.active).not.toBe(false)
        expect([null, found.member?.id]).toContain(found.emailOwnerId as never)
        if (!isIntake) expect([slotState, found.holders.length]).toEqual(['offered', 0])
      }),
      { numRuns: 500 },
    )
  })
})
