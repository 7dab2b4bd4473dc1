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
  retry: null,
  submittedAt: now,
  limits: { openRequests: 3, emailConflicts: 20 },
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
  conflictAt: null,
  kept: null,
}

/** The member's slots that start so many minutes after nine. */
const heldAt = (...offsets: number[]) =>
  offsets.map((offset, index) => ({ requestId: 70 + index, startsAt: nine + minutes(offset) }))

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
    'slot_conflicts_with_yours',
    'the member holds a slot of another provider that overlaps',
    ({ draft, facts }) => ({ draft, facts: { ...facts, held: [...facts.held, ...heldAt(-44)] } }),
  ],
  [
    'too_many_open_requests',
    'the member has as many as they may have',
    ({ draft, facts }) => ({ draft, facts: { ...facts, held: [...facts.held, ...heldAt(45, 90, 135)] } }),
  ],
  [
    'email_conflicts_limited',
    'the address is new to the member, and the partner has sent too many of others',
    ({ draft, facts }) => ({
      draft: { ...draft, member: { ...told, email: 'new@example.com' } },
      facts: { ...facts, conflictAt: now - minutes(20) },
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
    const slotFaults = Array(6).fill('done')
    expect(ends).toEqual(['done', 'member_deactivated', ...slotFaults, 'done', 'email_taken'])
  })

  test('a slot that somebody held when it was looked for, and nobody holds now, is looked for again', () => {
    const taken = { ...draft, slotState: 'taken' as const }
    expect(endOf(decideSubmission(taken, facts))).toBe('stale')
    const holder = { requestId: 80, memberId: 99, startsAt: nine }
    expect(endOf(decideSubmission(taken, { ...facts, holders: [holder] }))).toBe('slot_unavailable')
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

describe('what a member holds', () => {
  const endOfHolding = (held: SubmissionFacts['held'], different: Partial<SubmissionDraft> = {}) =>
    endOf(decideSubmission({ ...draft, ...different }, { ...facts, held }))

  test.each([
    [-45, 'done'],
    [-44, 'slot_conflicts_with_yours'],
    [-1, 'slot_conflicts_with_yours'],
    [0, 'slot_conflicts_with_yours'],
    [44, 'slot_conflicts_with_yours'],
    [45, 'done'],
  ])('a slot %d minutes from the one asked for: %s, with limits or without', (offset, end) => {
    expect(endOfHolding(heldAt(offset))).toBe(end)
    expect(endOfHolding(heldAt(offset), { limits: unlimited })).toBe(end)
  })

  test('counts where its slot is still to come: not one under way, and not one that is over', () => {
    const toCome = heldAt(45, 90)
    const begun = { requestId: 80, startsAt: now }
    const over = { requestId: 81, startsAt: now - minutes(600) }
    expect(endOfHolding([...toCome, begun, over])).toBe('done')
    expect(endOfHolding([...toCome, { ...begun, startsAt: now + 1 }])).toBe('too_many_open_requests')
    expect(endOfHolding(heldAt(45, 90, 135, 180), { limits: unlimited })).toBe('done')
  })

  test('is told with the number', () => {
    expect(decideSubmission(draft, { ...facts, held: heldAt(45, 90, 135) })).toEqual(
      new Refusal(
        'too_many_open_requests',
        'the member has 3 open requests with a future slot, and may not have more',
      ),
    )
  })

  test('is no matter to an intake, nor counts one', () => {
    const held = heldAt(0, 45, 90)
    expect(endOf(decideSubmission(intakeDraft, { ...facts, held }))).toBe('done')
  })
})

describe('addresses of different members', () => {
  const claiming = { ...draft, member: { ...told, email: 'new@example.com' } }
  const taken = { ...facts, emailOwnerId: 9 }

  test('are noted under the partner, with the member who has the address, and change nothing else', () => {
    const { writes, taken: slots, audit, answer } = done(decideSubmission(claiming, taken))
    expect({ writes, slots, audit }).toEqual({
      writes: [],
      slots: [],
      audit: { action: 'member.email-conflict', noun: 'member', id: 9, outcome: 'email_taken' },
    })
    expect(answer([])).toEqual(new Refusal('email_taken', 'already belongs to a different member'))
    expect(submitterOf(claiming)).toEqual({ actor: 'partner 3', at: now })
  })

  test('are counted for an hour: the one so many back decides, and says when to ask again', () => {
    expect(emailConflictQuery(claiming)).toEqual({ actor: 'partner 3', after: now - minutes(60), back: 20 })
    const refusal = decideSubmission(claiming, { ...taken, conflictAt: now - minutes(20) + 1 })
    expect(refusal).toMatchObject({ kind: 'email_conflicts_limited', retryAfterSeconds: 2401 })
  })

  test('where they are not limited are refused each, and noted a thousand times an hour at most', () => {
    const free = { ...claiming, limits: unlimited }
    expect(emailConflictQuery(free).back).toBe(1_000)
    expect(done(decideSubmission(free, taken)).audit).not.toBeNull()
    const refusal = decideSubmission(free, { ...taken, conflictAt: now - minutes(20) })
    expect(refusal).toEqual(new Refusal('email_taken', 'already belongs to a different member'))
  })

  test('beyond the limit every new address gets one answer, and an own one is served on', () => {
    const asked = fc.record({
      member: fc.constantFrom(null, member, { ...member, profile: { ...profile, email: '' } }),
      email: fc.constantFrom('robin@example.com', 'ROBIN@Example.com', 'new@example.com', 'kim@example.com'),
      conflictAt: fc.integer({ min: now - minutes(60) + 1, max: now }),
    })
    fc.assert(
      fc.property(asked, fc.constantFrom(null, 9), ({ member: known, email, conflictAt }, other) => {
        const isOwn = known?.profile.email !== '' && known !== null && /^robin/i.test(email)
        const decided = decideSubmission(
          { ...intakeDraft, member: { ...told, email } },
          { ...facts, member: known, emailOwnerId: isOwn ? known.id : other, conflictAt },
        )
        expect(endOf(decided)).toBe(isOwn ? 'done' : 'email_conflicts_limited')
        if (!isOwn) expect(decided).toEqual(limitedAt(conflictAt))
      }),
    )
  })

  const limitedAt = (conflictAt: number) =>
    new Refusal(
      'email_conflicts_limited',
      'too many e-mail addresses of other members were sent; try again later',
      {
        retryAfterSeconds: Math.ceil((conflictAt + minutes(60) - now) / 1000),
      },
    )
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
      held: fc.array(fc.constantFrom(...heldAt(-45, -30, 0, 45, 90, 135)), { maxLength: 4 }),
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
        // And then nothing spoke against it.
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
