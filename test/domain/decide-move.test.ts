import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { type RequestState, requestStates, slotMillis } from '../../src/domain/booking-request'
import {
  type AssignmentDraft,
  decideAcceptance,
  decideAcknowledgement,
  decideAssignment,
  decideDecline,
  decideDeclines,
  decideReading,
  holdsSlot,
  type PlacementFacts,
  refuseAssignment,
} from '../../src/domain/decide-move'
import { Refusal } from '../../src/domain/errors'
import {
  act,
  booking,
  changes,
  done,
  endOf,
  holders,
  intake,
  minutes,
  nine,
  now,
  requests,
  stranger,
  version,
} from './values'

const draft: AssignmentDraft = {
  providerId: 5,
  startsAt: nine,
  localOffsetMinutes: -300,
  version,
  authorizationNumber: 'AUTH-NEW',
}

const facts: PlacementFacts = { request: intake, isProviderKnown: true, since: [], holders: [], held: [] }

/** Another move, of a request in a state that has been assigned a provider where that goes with it. */
const inState = (state: RequestState) =>
  state === 'unassigned' ? intake : { ...booking, state, acceptedAt: state === 'accepted' ? now - 1 : null }

describe('the moves of a request', () => {
  const table: [RequestState, accepted: string, declined: string][] = [
    ['unassigned', 'move_unknown', 'move_unknown'],
    ['pending', 'done', 'done'],
    ['accepted', 'move_unknown', 'done'],
    ['declined', 'move_unknown', 'move_unknown'],
  ]

  test.each(table)('from %s: accept is %s and decline is %s', (state, accepted, declined) => {
    const request = inState(state)
    expect([endOf(decideAcceptance(request, act)), endOf(decideDecline(request, act))]).toEqual([
      accepted,
      declined,
    ])
  })

  test('of which the table speaks of every state', () => {
    expect(table.map(([state]) => state)).toEqual([...requestStates])
  })

  test('are refused with the state that the request is in', () => {
    expect(decideAcceptance(inState('declined'), act)).toEqual(
      new Refusal('move_unknown', 'a request that is declined cannot be accepted'),
    )
    expect(decideDecline(inState('unassigned'), act)).toEqual(
      new Refusal('move_unknown', 'a request that is unassigned cannot be declined'),
    )
  })

  test('are record_unknown for a request that is not there', () => {
    const ends = [
      decideAcceptance(null, act),
      decideDecline(null, act),
      decideReading(null, []),
      decideAcknowledgement(null, 0),
      decideAssignment(draft, { ...facts, request: null }),
    ].map(endOf)
    expect(ends).toEqual(Array(5).fill('record_unknown'))
  })

  test('accepting notes when, and leaves the slot where it is', () => {
    expect(done(decideAcceptance(booking, act))).toEqual({
      writes: [{ set: 'request', id: 12, to: { state: 'accepted', acceptedAt: now } }],
      taken: [],
      audit: { action: 'request.accept', noun: 'request', id: 12 },
      answer: expect.any(Function),
    })
  })

  test('declining notes when, and tells whose slot is free', () => {
    expect(done(decideDecline(booking, act))).toEqual({
      writes: [{ set: 'request', id: 12, to: { state: 'declined', declinedAt: now } }],
      taken: [5],
      audit: { action: 'request.decline', noun: 'request', id: 12 },
      answer: expect.any(Function),
    })
  })

  test('pending and accepted requests hold a slot', () => {
    expect(requestStates.filter(holdsSlot)).toEqual(['pending', 'accepted'])
  })
})

describe('declining many', () => {
  test('declines those that can be, each with its line, and passes over the others', () => {
    const accepted = { ...booking, id: 13, state: 'accepted' as const, providerId: 6 }
    const withoutSlot = { ...booking, id: 14, startsAt: null }
    const decided = decideDeclines([booking, null, intake, accepted, inState('declined'), withoutSlot], act)
    const to = { state: 'declined', declinedAt: now } as const
    expect(decided).toEqual({
      writes: [12, 13, 14].map((id) => ({ set: 'request', id, to })),
      taken: [5, 6],
      audit: [12, 13, 14].map((id) => ({ action: 'request.decline', noun: 'request', id })),
      answer: expect.any(Function),
    })
    expect(decided.answer([])).toBe(3)
  })
})

describe('acknowledging another local time', () => {
  test('notes it, and the directory learns of it', () => {
    expect(done(decideAcknowledgement(booking, -240))).toEqual({
      writes: [{ set: 'request', id: 12, to: { localOffsetMinutes: -240 } }],
      taken: [5],
      audit: { action: 'request.acknowledge', noun: 'request', id: 12 },
      answer: expect.any(Function),
    })
  })

  test('is refused where no slot is held', () => {
    const refused = [intake, { ...booking, state: 'declined' as const }, { ...booking, startsAt: null }]
    expect(refused.map((request) => endOf(decideAcknowledgement(request, 0)))).toEqual(
      Array(3).fill('move_unknown'),
    )
    expect(endOf(decideAcknowledgement({ ...booking, state: 'accepted' }, 0))).toBe('done')
  })
})

describe('reading screening answers', () => {
  test('changes nothing but the audit log, and answers them', () => {
    const answers = [{ question: 'Sleep?', answer: 'Several days' }]
    const decided = done(decideReading(booking, answers))
    expect([decided.writes, decided.taken]).toEqual([[], []])
    expect(decided.audit).toEqual({ action: 'request.read-screening', noun: 'request', id: 12 })
    expect(decided.answer([])).toBe(answers)
  })
})

describe('assigning a provider', () => {
  type Fault = readonly [end: string, what: string, add: (facts: PlacementFacts) => PlacementFacts]
  const request = (found: PlacementFacts) => found.request as NonNullable<PlacementFacts['request']>

  /** In the order in which they are told. */
  const faults: readonly Fault[] = [
    ['record_unknown', 'the request is not there', (found) => ({ ...found, request: null })],
    [
      'move_unknown',
      'it is a booking request',
      (found) => (found.request ? { ...found, request: { ...request(found), isIntake: false } } : found),
    ],
    [
      'move_unknown',
      'its person was erased',
      (found) => (found.request ? { ...found, request: { ...request(found), member: null } } : found),
    ],
    ['record_unknown', 'the provider is not there', (found) => ({ ...found, isProviderKnown: false })],
    ['stale', 'a region has changed', (found) => ({ ...found, since: [{ noun: 'region', recordId: 1 }] })],
    ['slot_unavailable', 'another holds the slot', (found) => ({ ...found, holders: [stranger] })],
    [
      'slot_conflicts_with_yours',
      'the member holds a slot that overlaps',
      (found) => ({ ...found, held: [{ requestId: 80, startsAt: nine - minutes(44) }] }),
    ],
  ]

  test.each(faults)('is %s where %s', (end, _, add) => {
    expect(endOf(decideAssignment(draft, add(facts)))).toBe(end)
  })

  const pairs = faults.flatMap((first, index) =>
    faults.slice(index + 1).map((second) => [first[0], first[1], second[1], first[2], second[2]] as const),
  )

  test.each(pairs)('is %s where %s and %s', (end, _, __, addFirst, addSecond) => {
    expect(endOf(decideAssignment(draft, addSecond(addFirst(facts))))).toBe(end)
    expect(endOf(decideAssignment(draft, addFirst(addSecond(facts))))).toBe(end)
  })

  test('is stale without a slot too: the provider may have been deactivated since', () => {
    const since = [{ noun: 'provider' as const, recordId: 5 }]
    const withoutSlot = { ...draft, startsAt: null, localOffsetMinutes: null }
    expect(decideAssignment(withoutSlot, { ...facts, since })).toBe('stale')
  })

  test('makes an untouched intake pending under a new number', () => {
    expect(done(decideAssignment(draft, facts))).toEqual({
      writes: [
        {
          set: 'request',
          id: 11,
          to: {
            state: 'pending',
            providerId: 5,
            authorizationNumber: 'AUTH-NEW',
            startsAt: nine,
            endsAt: nine + slotMillis,
            localOffsetMinutes: -300,
            acceptedAt: null,
            declinedAt: null,
          },
        },
      ],
      taken: [5],
      audit: { action: 'request.assign', noun: 'request', id: 11 },
      answer: expect.any(Function),
    })
  })

  test.each(['pending', 'accepted', 'declined'] as const)(
    'from %s keeps the number, clears both timestamps and tells whose slots have changed',
    (state) => {
      const before = { ...booking, id: 11, isIntake: true, state, acceptedAt: now - 2, declinedAt: now - 1 }
      const holding = { requestId: 11, memberId: 7, startsAt: nine }
      const withoutSlot = { ...draft, providerId: 6, startsAt: null, localOffsetMinutes: null }
      const found = { ...facts, request: before, holders: [holding] }
      expect(done(decideAssignment(withoutSlot, found))).toMatchObject({
        writes: [
          {
            to: {
              state: 'pending',
              providerId: 6,
              authorizationNumber: 'AUTH-1',
              startsAt: null,
              endsAt: null,
              localOffsetMinutes: null,
              acceptedAt: null,
              declinedAt: null,
            },
          },
        ],
        taken: [5, 6],
      })
      expect(done(decideAssignment(draft, found)).taken).toEqual([5])
    },
  )

  test('is hindered by the slots of others alone', () => {
    const own = { requestId: intake.id, memberId: 7, startsAt: nine }
    expect(endOf(decideAssignment(draft, { ...facts, holders: [own] }))).toBe('done')
    expect(endOf(decideAssignment(draft, { ...facts, holders: [own, stranger] }))).toBe('slot_unavailable')
  })

  test('beside what the member holds is done: by the same request, before or after it, or without a slot', () => {
    const own = { requestId: intake.id, startsAt: nine }
    const beside = [-45, 45].map((offset) => ({ requestId: 80, startsAt: nine + minutes(offset) }))
    expect(endOf(decideAssignment(draft, { ...facts, held: [own, ...beside] }))).toBe('done')
    const held = [{ requestId: 80, startsAt: nine }]
    const withoutSlot = { ...draft, startsAt: null, localOffsetMinutes: null }
    expect(endOf(decideAssignment(withoutSlot, { ...facts, held }))).toBe('done')
    expect(decideAssignment(draft, { ...facts, held })).toEqual(
      new Refusal(
        'slot_conflicts_with_yours',
        'the member holds a slot that overlaps with this one, by request 80',
      ),
    )
  })

  test('writes one request or nothing, whatever is found', () => {
    const found = fc.record({
      request: fc.option(requests),
      isProviderKnown: fc.boolean(),
      since: changes,
      holders,
      held: fc.array(fc.constantFrom({ requestId: 11, startsAt: nine }, { requestId: 80, startsAt: nine })),
    })
    fc.assert(
      fc.property(found, (facts) => {
        const decision = decideAssignment(draft, facts)
        if (endOf(decision) !== 'done') return expect(decision).not.toHaveProperty('writes')
        const { writes, taken } = done(decision)
        expect(writes).toMatchObject([{ set: 'request', id: facts.request?.id, to: { state: 'pending' } }])
        expect(taken).toContain(5)
        expect(refuseAssignment(facts.request as NonNullable<typeof facts.request>)).toBeNull()
      }),
      { numRuns: 500 },
    )
  })
})
