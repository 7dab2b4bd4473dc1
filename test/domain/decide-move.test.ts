import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import {
  holdsSlot,
  type RequestRecord,
  type RequestState,
  requestStates,
  slotMillis,
} from '../../src/domain/booking-request'
import {
  decideAcceptance,
  decideAcknowledgement,
  decideEnd,
  decideEnds,
  decideNote,
  decidePlacement,
  decideReading,
  decideReopening,
  type PlacementDraft,
  type PlacementFacts,
} from '../../src/domain/decisions/transitions'
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

const draft: PlacementDraft = {
  providerId: 5,
  startsAt: nine,
  localOffsetMinutes: -300,
  version,
  authorizationNumber: 'AUTH-NEW',
}

const facts: PlacementFacts = { request: intake, isProviderKnown: true, since: [], holders: [], held: [] }

const move: PlacementDraft = { ...draft, startsAt: nine + slotMillis }

/** An intake in the given state, with a provider and a slot if the state has them. */
const inState = (state: RequestState): RequestRecord =>
  state === 'cancelled'
    ? { ...booking, isIntake: true, state, cancelledAt: now - 1 }
    : state === 'unassigned' || state === 'closed'
      ? { ...intake, state, declinedAt: state === 'closed' ? now - 1 : null }
      : {
          ...{ ...booking, isIntake: true, state },
          acceptedAt: state === 'accepted' ? now - 1 : null,
          declinedAt: state === 'declined' ? now - 1 : null,
        }

describe('domain: transitions of a request', () => {
  const [yes, no] = ['done', 'move_unknown']
  const table: [RequestState, string[]][] = [
    // Columns: accept, decline, assign, close, move, reopen, cancel.
    ['unassigned', [no, no, yes, yes, no, no, yes]],
    ['pending', [yes, yes, yes, no, yes, no, yes]],
    ['accepted', [no, yes, yes, no, yes, no, yes]],
    ['declined', [no, no, yes, no, no, no, no]],
    ['closed', [no, no, no, no, no, yes, no]],
    ['cancelled', [no, no, no, no, no, no, no]],
  ]
  const movesOf = (request: RequestRecord) => [
    decideAcceptance(request, act),
    decideEnd('decline', request, act),
    decidePlacement('assign', draft, { ...facts, request }),
    decideEnd('close', request, act),
    decidePlacement('move', move, { ...facts, request }),
    request.isIntake
      ? decideReopening(request)
      : decidePlacement('reopen', { ...move, startsAt: nine }, { ...facts, request }),
    decideEnd('cancel', request, act),
  ]

  test.each(table)(
    'from %s: accept, decline, assign, close, move, reopen and cancel give %j',
    (state, ends) => {
      expect(movesOf(inState(state)).map(endOf)).toEqual(ends)
    },
  )

  const states = table.filter(([state]) => state !== 'unassigned' && state !== 'closed')
  test.each(states)(
    'from %s: a booking request gives the results of an intake (%j), but refuses assign and reopens if declined',
    (state, ends) => {
      const booked = { ...inState(state), isIntake: false }
      const reopens = state === 'declined' ? yes : no
      expect(movesOf(booked).map(endOf)).toEqual(ends.with(2, no).with(5, reopens))
    },
  )

  test('are tested from every state', () => {
    expect(table.map(([state]) => state)).toEqual([...requestStates])
  })

  test('are refused with a message that names the state', () => {
    const refused = requestStates.flatMap((state) =>
      movesOf(inState(state)).flatMap((decision) =>
        decision instanceof Refusal ? [[decision.kind, decision.message]] : [],
      ),
    )
    const messagesOf = (state: string, ...names: string[]) =>
      names.map((name) => [no, `a request that is ${state} cannot be ${name}`])
    expect(refused).toEqual([
      ...messagesOf('unassigned', 'accepted', 'declined', 'moved', 'reopened'),
      ...messagesOf('pending', 'closed', 'reopened'),
      ...messagesOf('accepted', 'accepted', 'closed', 'reopened'),
      ...messagesOf('declined', 'accepted', 'declined', 'closed', 'moved'),
      [no, 'a declined intake is not reopened but assigned again; run anteroom request assign 12'],
      ...messagesOf('declined', 'cancelled'),
      ...messagesOf('closed', 'accepted', 'declined', 'assigned', 'closed', 'moved', 'cancelled'),
      ...messagesOf(
        'cancelled',
        'accepted',
        'declined',
        'assigned',
        'closed',
        'moved',
        'reopened',
        'cancelled',
      ),
    ])
  })

  test('a transition of an unknown request is refused with record_unknown', () => {
    const ends = [
      decideAcceptance(null, act),
      decideEnd('decline', null, act),
      decideReading(null, []),
      decideAcknowledgement(null, 0),
      decidePlacement('assign', draft, { ...facts, request: null }),
      decidePlacement('move', move, { ...facts, request: null }),
      decideEnd('close', null, act),
      decideReopening(null),
      decidePlacement('reopen', move, { ...facts, request: null }),
      decideNote(null, 'Called.', act),
    ].map(endOf)
    expect(ends).toEqual(Array(10).fill('record_unknown'))
  })

  test.each([
    ['accepting', decideAcceptance(booking, act), { state: 'accepted', acceptedAt: now }, [], 'accept', 12],
    [
      'declining',
      decideEnd('decline', booking, act),
      { state: 'declined', declinedAt: now },
      [5],
      'decline',
      12,
    ],
    ['closing', decideEnd('close', intake, act), { state: 'closed', declinedAt: now }, [], 'close', 11],
    [
      'reopening',
      decideReopening(inState('closed')),
      { state: 'unassigned', declinedAt: null },
      [],
      'reopen',
      11,
    ],
  ] as const)(
    '%s stores the time and reports the providers whose slots changed',
    (_, decision, to, taken, action, id) => {
      expect(done(decision) as unknown).toEqual({
        writes: [{ set: 'request', id, to }],
        taken,
        audit: { action: `request.${action}`, noun: 'request', id },
        answer: expect.any(Function),
      })
    },
  )

  test('store a reason as a note and not in the audit log', () => {
    const note = { kind: 'decline' as const, at: now, actor: 'olive', text: 'moved away' }
    expect(done(decideEnd('decline', booking, act, 'moved away'))).toMatchObject({
      writes: [
        { set: 'request', id: 12, to: { state: 'declined', declinedAt: now } },
        { add: 'note', row: { requestId: 12, ...note } },
      ],
      audit: { action: 'request.decline', noun: 'request', id: 12 },
    })
    expect(done(decideEnd('close', intake, act, 'sent twice'))).toMatchObject({
      writes: [
        { set: 'request', id: 11, to: { state: 'closed', declinedAt: now } },
        { add: 'note', row: { ...note, requestId: 11, kind: 'close', text: 'sent twice' } },
      ],
      audit: { action: 'request.close', noun: 'request', id: 11 },
    })
    const { writes } = decideEnds('decline', [booking, intake], act, 'flood')
    expect(writes.map((write): unknown => ('add' in write ? write.row : write.id))).toEqual([
      12,
      { ...note, requestId: 12, text: 'flood' },
    ])
  })

  test('with an invalid reason are refused', () => {
    const erased = { ...booking, member: null }
    const refusals = [
      decideEnd('decline', booking, act, ' \n'),
      decideEnd('decline', erased, act, 'moved away'),
      decideEnd('close', intake, act, 'x'.repeat(4_001)),
      decideEnd('close', { ...intake, member: null }, act, 'sent twice'),
    ]
    expect(refusals as unknown[]).toEqual([
      new Refusal('field_invalid', 'the text must not be empty'),
      new Refusal('move_unknown', 'the person of this request was erased'),
      new Refusal('field_invalid', 'the text must have at most 4000 characters'),
      new Refusal('move_unknown', 'the person of this request was erased'),
    ])
    expect(endOf(decideEnd('decline', erased, act))).toBe('done')
    expect(endOf(decideEnd('close', intake, act, 'x'.repeat(4_000)))).toBe('done')
    // The state is checked before the reason.
    expect(decideEnd('decline', intake, act, '')).toEqual(decideEnd('decline', intake, act))
  })

  test('pending and accepted requests hold a slot', () => {
    expect(requestStates.filter(holdsSlot)).toEqual(['pending', 'accepted'])
  })
})

describe('domain: declining many requests', () => {
  test('declines each request that can be declined, and skips other requests', () => {
    const accepted = { ...booking, id: 13, state: 'accepted' as const, providerId: 6 }
    const withoutSlot = { ...booking, id: 14, startsAt: null }
    const decided = decideEnds(
      'decline',
      [booking, null, intake, accepted, inState('declined'), withoutSlot],
      act,
    )
    const to = { state: 'declined', declinedAt: now } as const
    expect(decided).toEqual({
      writes: [12, 13, 14].map((id) => ({ set: 'request', id, to })),
      taken: [5, 6],
      audit: [12, 13, 14].map((id) => ({ action: 'request.decline', noun: 'request', id })),
      answer: expect.any(Function),
    })
    expect(decided.answer([])).toBe(3)
  })

  test('closes each unassigned intake, and skips other requests', () => {
    const { writes, audit } = decideEnds('close', [booking, intake, inState('declined')], act)
    expect(writes).toEqual([{ set: 'request', id: 11, to: { state: 'closed', declinedAt: now } }])
    expect(audit).toEqual([{ action: 'request.close', noun: 'request', id: 11 }])
  })
})

describe('domain: reopening', () => {
  const declined = { ...booking, state: 'declined' as const, declinedAt: now - 1 }
  const reopen = (different: Partial<PlacementFacts> = {}) =>
    decidePlacement('reopen', { ...move, startsAt: nine }, { ...facts, request: declined, ...different })

  test('a booking request is pending again in its slot, without earlier timestamps', () => {
    expect(done(reopen())).toEqual({
      writes: [
        {
          set: 'request',
          id: 12,
          to: {
            ...{ providerId: 5, startsAt: nine, endsAt: nine + slotMillis, localOffsetMinutes: -300 },
            ...{ state: 'pending', acceptedAt: null, declinedAt: null },
          },
        },
      ],
      taken: [5],
      audit: { action: 'request.reopen', noun: 'request', id: 12, outcome: 'done: provider 5' },
      answer: expect.any(Function),
    })
  })

  test('is refused if the slot is taken, the member holds an overlapping slot or was erased, and decided again if the provider changed', () => {
    expect([
      endOf(reopen({ holders: [{ ...stranger, requestId: 77 }] })),
      endOf(reopen({ held: [{ requestId: 77, startsAt: nine + minutes(30) }] })),
      endOf(reopen({ request: { ...declined, member: null } })),
      endOf(decideReopening({ ...inState('closed'), member: null })),
      endOf(reopen({ isProviderKnown: false })),
      reopen({ since: null }),
    ]).toEqual([
      'slot_unavailable',
      'slot_conflicts_with_yours',
      'move_unknown',
      'move_unknown',
      'record_unknown',
      'stale',
    ])
  })
})

describe('domain: acknowledging a changed local time', () => {
  test('stores the new offset and reports the provider’s slots as changed', () => {
    expect(done(decideAcknowledgement(booking, -240))).toEqual({
      writes: [{ set: 'request', id: 12, to: { localOffsetMinutes: -240 } }],
      taken: [5],
      audit: { action: 'request.acknowledge', noun: 'request', id: 12 },
      answer: expect.any(Function),
    })
  })

  test('is refused if the request holds no slot', () => {
    const refused = [intake, { ...booking, state: 'declined' as const }, { ...booking, startsAt: null }]
    expect(refused.map((request) => endOf(decideAcknowledgement(request, 0)))).toEqual(
      Array(3).fill('move_unknown'),
    )
    expect(endOf(decideAcknowledgement({ ...booking, state: 'accepted' }, 0))).toBe('done')
  })
})

describe('domain: a note', () => {
  test('is stored with its author and time, and its id is returned', () => {
    const decided = done(decideNote(intake, 'Rings after six.', act))
    expect(decided).toMatchObject({
      writes: [
        {
          add: 'note',
          row: { requestId: 11, kind: 'note', at: now, actor: 'olive', text: 'Rings after six.' },
        },
      ],
      taken: [],
      audit: { action: 'request.note', noun: 'request', id: 11 },
    })
    expect(decided.answer([31])).toBe(31)
  })

  test('can be added to a request in any state unless the member was erased', () => {
    const ends = requestStates.map((state) => endOf(decideNote(inState(state), 'Called.', act)))
    expect(ends).toEqual(requestStates.map(() => 'done'))
    expect(endOf(decideNote({ ...booking, member: null }, 'Called.', act))).toBe('move_unknown')
  })

  test.each([
    ['', 'the text must not be empty'],
    [' \n\t', 'the text must not be empty'],
    ['x'.repeat(4_001), 'the text must have at most 4000 characters'],
  ])('with the text %j is refused', (text, why) => {
    expect(decideNote(intake, text, act)).toEqual(new Refusal('field_invalid', why))
  })
})

describe('domain: reading screening answers', () => {
  test('returns the answers and writes only to the audit log', () => {
    const answers = [{ question: 'Sleep?', answer: 'Several days' }]
    const decided = done(decideReading(booking, answers))
    expect([decided.writes, decided.taken]).toEqual([[], []])
    expect(decided.audit).toEqual({ action: 'request.read-screening', noun: 'request', id: 12 })
    expect(decided.answer([])).toBe(answers)
  })
})

describe('domain: assigning a provider', () => {
  type Fault = readonly [end: string, name: string, add: (facts: PlacementFacts) => PlacementFacts]
  const request = (found: PlacementFacts) => found.request as NonNullable<PlacementFacts['request']>

  /** The faults in the order of the checks. */
  const faults: readonly Fault[] = [
    ['record_unknown', 'the request is unknown', (found) => ({ ...found, request: null })],
    [
      'move_unknown',
      'the request is a booking request',
      (found) => (found.request ? { ...found, request: { ...request(found), isIntake: false } } : found),
    ],
    [
      'move_unknown',
      'the person was erased',
      (found) => (found.request ? { ...found, request: { ...request(found), member: null } } : found),
    ],
    [
      'move_unknown',
      'the request is closed',
      (found) => (found.request ? { ...found, request: { ...request(found), state: 'closed' } } : found),
    ],
    ['record_unknown', 'the provider is unknown', (found) => ({ ...found, isProviderKnown: false })],
    ['stale', 'a region has changed', (found) => ({ ...found, since: [{ noun: 'region', recordId: 1 }] })],
    ['slot_unavailable', 'another member holds the slot', (found) => ({ ...found, holders: [stranger] })],
    [
      'slot_conflicts_with_yours',
      'the member holds an overlapping slot',
      (found) => ({ ...found, held: [{ requestId: 80, startsAt: nine - minutes(44) }] }),
    ],
  ]

  test.each(faults)('is %s if %s', (end, _, add) => {
    expect(endOf(decidePlacement('assign', draft, add(facts)))).toBe(end)
  })

  const pairs = faults.flatMap((first, index) =>
    faults.slice(index + 1).map((second) => [first[0], first[1], second[1], first[2], second[2]] as const),
  )

  test.each(pairs)('is %s if %s, even if %s', (end, _, __, addFirst, addSecond) => {
    expect(endOf(decidePlacement('assign', draft, addSecond(addFirst(facts))))).toBe(end)
    expect(endOf(decidePlacement('assign', draft, addFirst(addSecond(facts))))).toBe(end)
  })

  test('without a slot is stale if the provider has changed', () => {
    const since = [{ noun: 'provider' as const, recordId: 5 }]
    const withoutSlot = { ...draft, startsAt: null, localOffsetMinutes: null }
    expect(decidePlacement('assign', withoutSlot, { ...facts, since })).toBe('stale')
  })

  test('makes an unassigned intake pending with a new authorization number', () => {
    expect(done(decidePlacement('assign', draft, facts))).toEqual({
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
      audit: { action: 'request.assign', noun: 'request', id: 11, outcome: 'done: provider 5' },
      answer: expect.any(Function),
    })
  })

  test.each(['pending', 'accepted', 'declined'] as const)(
    'of a request that is %s keeps the number and clears both timestamps',
    (state) => {
      const before = { ...booking, id: 11, isIntake: true, state, acceptedAt: now - 2, declinedAt: now - 1 }
      const holding = { requestId: 11, memberId: 7, startsAt: nine }
      const withoutSlot = { ...draft, providerId: 6, startsAt: null, localOffsetMinutes: null }
      const found = { ...facts, request: before, holders: [holding] }
      expect(done(decidePlacement('assign', withoutSlot, found))).toMatchObject({
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
      expect(done(decidePlacement('assign', draft, found)).taken).toEqual([5])
    },
  )

  test('is refused only if another request holds the slot', () => {
    const own = { requestId: intake.id, memberId: 7, startsAt: nine }
    expect(endOf(decidePlacement('assign', draft, { ...facts, holders: [own] }))).toBe('done')
    expect(endOf(decidePlacement('assign', draft, { ...facts, holders: [own, stranger] }))).toBe(
      'slot_unavailable',
    )
  })

  test('succeeds with an adjacent slot, with the request’s own slot, and without a slot', () => {
    const own = { requestId: intake.id, startsAt: nine }
    const adjacent = [-45, 45].map((offset) => ({ requestId: 80, startsAt: nine + minutes(offset) }))
    expect(endOf(decidePlacement('assign', draft, { ...facts, held: [own, ...adjacent] }))).toBe('done')
    const held = [{ requestId: 80, startsAt: nine }]
    const withoutSlot = { ...draft, startsAt: null, localOffsetMinutes: null }
    expect(endOf(decidePlacement('assign', withoutSlot, { ...facts, held }))).toBe('done')
    expect(decidePlacement('assign', draft, { ...facts, held })).toEqual(
      new Refusal('slot_conflicts_with_yours', 'request 80 of the member already holds an overlapping slot'),
    )
  })
})

describe('domain: moving a request to another slot', () => {
  const later = nine + slotMillis
  const moving: PlacementFacts = { ...facts, request: booking }

  type Fault = readonly [end: string, name: string, add: (facts: PlacementFacts) => PlacementFacts]
  const having = (found: PlacementFacts, more: Partial<RequestRecord>) =>
    found.request ? { ...found, request: { ...found.request, ...more } } : found

  /** The faults in the order of the checks. */
  const faults: readonly Fault[] = [
    ['record_unknown', 'the request is unknown', (found) => ({ ...found, request: null })],
    ['move_unknown', 'the person was erased', (found) => having(found, { member: null })],
    ['move_unknown', 'the request is declined', (found) => having(found, { state: 'declined' })],
    ['move_unknown', 'the request already holds that slot', (found) => having(found, { startsAt: later })],
    ['record_unknown', 'the provider is unknown', (found) => ({ ...found, isProviderKnown: false })],
    [
      'stale',
      'the provider has changed',
      (found) => ({ ...found, since: [{ noun: 'provider', recordId: 5 }] }),
    ],
    ['slot_unavailable', 'another member holds the slot', (found) => ({ ...found, holders: [stranger] })],
    [
      'slot_conflicts_with_yours',
      'the member holds an overlapping slot',
      (found) => ({ ...found, held: [{ requestId: 80, startsAt: later - minutes(44) }] }),
    ],
  ]
  const pairs = faults.flatMap((first, index) =>
    faults.slice(index).map((second) => [first[0], first[1], second[1], first[2], second[2]] as const),
  )

  test.each(pairs)('is %s if %s, even if %s', (end, _, __, addFirst, addSecond) => {
    expect(endOf(decidePlacement('move', move, addSecond(addFirst(moving))))).toBe(end)
    expect(endOf(decidePlacement('move', move, addFirst(addSecond(moving))))).toBe(end)
  })

  test.each(['pending', 'accepted'] as const)(
    'that is %s makes the request pending and frees the earlier slot',
    (state) => {
      const request = { ...booking, state, acceptedAt: state === 'accepted' ? now - 1 : null }
      const to = {
        state: 'pending',
        providerId: 6,
        startsAt: later,
        endsAt: later + slotMillis,
        localOffsetMinutes: -300,
        acceptedAt: null,
        declinedAt: null,
      }
      expect(
        done(decidePlacement('move', { ...move, providerId: 6 }, { ...moving, request })) as unknown,
      ).toEqual({
        writes: [{ set: 'request', id: 12, to }],
        taken: [5, 6],
        audit: { action: 'request.move', noun: 'request', id: 12, outcome: 'done: provider 6' },
        answer: expect.any(Function),
      })
    },
  )

  test('succeeds even if the new slot overlaps the earlier slot', () => {
    const half = { ...move, startsAt: nine + minutes(20) }
    const own = { requestId: 12, memberId: 7, startsAt: nine }
    expect(endOf(decidePlacement('move', half, { ...moving, holders: [own], held: [own] }))).toBe('done')
    expect(endOf(decidePlacement('move', half, { ...moving, holders: [own, stranger], held: [own] }))).toBe(
      'slot_unavailable',
    )
  })

  test('gives a slot to an intake with a provider and no slot', () => {
    const request = { ...booking, isIntake: true, startsAt: null, localOffsetMinutes: null }
    expect(done(decidePlacement('move', move, { ...moving, request })).writes).toMatchObject([
      { to: { startsAt: later } },
    ])
  })
})

test.each([
  [
    'an assignment',
    (facts: PlacementFacts) => decidePlacement('assign', draft, facts),
    ['unassigned', 'pending', 'accepted', 'declined'],
  ],
  ['a move', (facts: PlacementFacts) => decidePlacement('move', move, facts), ['pending', 'accepted']],
] as const)('domain: %s writes one request or nothing, for any facts', (_, decide, from) => {
  const found = fc.record({
    request: fc.option(requests),
    isProviderKnown: fc.boolean(),
    since: changes,
    holders,
    held: fc.array(fc.constantFrom({ requestId: 11, startsAt: nine }, { requestId: 80, startsAt: nine })),
  })
  fc.assert(
    fc.property(found, (facts) => {
      const decision = decide(facts)
      if (endOf(decision) !== 'done') return expect(decision).not.toHaveProperty('writes')
      const { writes, taken } = done(decision)
      expect(writes).toMatchObject([{ set: 'request', id: facts.request?.id, to: { state: 'pending' } }])
      expect(taken).toContain(5)
      expect(from).toContain(facts.request?.state as never)
    }),
    { numRuns: 500 },
  )
})
