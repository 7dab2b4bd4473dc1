import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { type RequestRecord, type RequestState, requestStates } from '../../src/domain/booking-request'
import {
  decideCancellation,
  decideRescheduling,
  type PartnerCall,
  type ReschedulingDraft,
} from '../../src/domain/decisions/partner-requests'
import {
  cancelling,
  decideEnd,
  decideReading,
  type PlacementFacts,
  type ScreeningFacts,
  unscreened,
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
  member,
  minutes,
  nine,
  now,
  requests,
  stranger,
  version,
} from './values'

const call: PartnerCall = { partnerId: 3, requestId: 12, act, isExpected: () => true }

const draft: ReschedulingDraft = {
  ...{ providerId: 6, startsAt: nine + minutes(90), localOffsetMinutes: -240 },
  ...{ version, slotState: 'offered' },
}

interface Asked {
  readonly call: PartnerCall
  readonly draft: ReschedulingDraft
  readonly facts: PlacementFacts
}

const asked: Asked = {
  ...{ call, draft },
  facts: { request: booking, isProviderKnown: true, since: [], holders: [], held: [] },
}

/** Returns a thrown refusal like the others. */
const caught = <T>(decide: () => T): T | Refusal => {
  try {
    return decide()
  } catch (error) {
    if (error instanceof Refusal) return error
    throw error
  }
}
const nothing: ScreeningFacts = { answers: new Map([[12, []]]), reviewed: [] }
const cancel = ({ call, facts }: Asked) =>
  caught(() => decideCancellation(call, facts.request, facts.since, nothing, 0))
const reschedule = ({ call, draft, facts }: Asked) => caught(() => decideRescheduling(call, draft, facts))

const withFacts = (asked: Asked, facts: Partial<PlacementFacts>) => ({
  ...asked,
  facts: { ...asked.facts, ...facts },
})
const withRequest = (asked: Asked, different: Partial<RequestRecord>) =>
  withFacts(asked, { request: asked.facts.request && { ...asked.facts.request, ...different } })
const withDraft = (asked: Asked, draft: Partial<ReschedulingDraft>) => ({
  ...asked,
  draft: { ...asked.draft, ...draft },
})

type Fault = readonly [end: string, name: string, add: (asked: Asked) => Asked]

/** The faults of both calls in the order of spec/decisions.md. `stale` comes first. */
const faults: readonly Fault[] = [
  ['stale', 'the partner has changed', (a) => withFacts(a, { since: [{ noun: 'partner', recordId: 9 }] })],
  ['request_not_found', 'the request is unknown', (a) => withFacts(a, { request: null })],
  ['request_not_found', 'the person was erased', (a) => withRequest(a, { member: null })],
  ['request_not_found', 'it is another partner’s', (a) => ({ ...a, call: { ...a.call, partnerId: 4 } })],
  [
    'member_deactivated',
    'the member is deactivated',
    (a) => withRequest(a, a.facts.request?.member ? { member: { ...member, active: false } } : {}),
  ],
  [
    'request_changed',
    'the request is not as expected',
    (a) => ({ ...a, call: { ...a.call, isExpected: () => false } }),
  ],
  [
    'request_closed',
    'the request is declined',
    (a) => withRequest(a, { state: 'declined', declinedAt: now }),
  ],
  ['request_started', 'the session starts now', (a) => withRequest(a, { startsAt: now })],
]

/** The further faults of a rescheduling. */
const slotFaults: readonly Fault[] = [
  ['provider_unknown', 'the provider is unknown', (a) => withDraft(a, { slotState: 'provider unknown' })],
  [
    'stale',
    'the new provider has changed',
    (a) => withFacts(a, { since: [{ noun: 'provider', recordId: 6 }] }),
  ],
  ['slot_unavailable', 'another member has the slot', (a) => withFacts(a, { holders: [stranger] })],
  [
    'slot_conflicts_with_yours',
    'another slot of the member overlaps',
    (a) => withFacts(a, { held: [{ requestId: 80, startsAt: draft.startsAt + minutes(44) }] }),
  ],
]

describe.each([
  ['a cancellation', cancel, faults],
  ['a rescheduling', reschedule, [...faults, ...slotFaults]],
] as const)('domain: %s by a partner', (_, decide, all) => {
  test.each(all)('is %s if %s', (end, _, add) => expect(endOf(decide(add(asked)))).toBe(end))

  const pairs = all.flatMap((first, index) =>
    // One change of the directory replaces the other.
    all
      .slice(index + 1)
      .flatMap((second) =>
        first[0] === 'stale' && second[0] === 'stale'
          ? []
          : [[first[0], first[1], second[1], first, second] as const],
      ),
  )
  test.each(pairs)('is %s if %s, even if %s', (end, _, __, first, second) => {
    expect(endOf(decide(second[2](first[2](asked))))).toBe(end)
    expect(endOf(decide(first[2](second[2](asked))))).toBe(end)
  })

  test('is stale if the changes are no longer known, and not if the slots of its provider changed', () => {
    expect(endOf(decide(withFacts(asked, { since: null })))).toBe('stale')
    expect(endOf(decide(withFacts(asked, { since: [{ noun: 'taken', recordId: 6 }] })))).toBe('done')
  })
})

describe('domain: the states of a request that its partner ends or moves', () => {
  const table: [RequestState, cancelled: string, moved: string][] = [
    ['unassigned', 'done', 'request_without_slot'],
    ['pending', 'done', 'done'],
    ['accepted', 'done', 'done'],
    ['declined', 'request_closed', 'request_closed'],
    ['closed', 'request_closed', 'request_closed'],
    ['cancelled', 'unchanged', 'request_closed'],
  ]
  const end = (decision: ReturnType<typeof cancel>) =>
    endOf(decision) === 'done' && done(decision).writes.length === 0 ? 'unchanged' : endOf(decision)

  test.each(table)('%s: cancelling is %s, and rescheduling is %s', (state, cancelled, moved) => {
    const request =
      state === 'unassigned' || state === 'closed' ? { ...intake, state } : { ...booking, state }
    const found = withFacts(asked, { request })
    expect([end(cancel(found)), end(reschedule(found))]).toEqual([cancelled, moved])
  })
})

describe('domain: a rescheduling by a partner', () => {
  test('is not blocked by its own slot, and needs an offered slot of a bookable provider', () => {
    const holders = [{ ...stranger, requestId: 12 }]
    const held = [{ requestId: 12, startsAt: draft.startsAt + minutes(15) }]
    expect(endOf(reschedule(withFacts(asked, { holders, held })))).toBe('done')
    const ends = (['not offered', 'taken', 'provider unknown'] as const).map((slotState) =>
      endOf(reschedule(withDraft(asked, { slotState }))),
    )
    // A slot that only the draft saw as taken was released meanwhile.
    expect(ends).toEqual(['slot_unavailable', 'stale', 'provider_unknown'])
    const held80 = { held: [{ requestId: 80, startsAt: draft.startsAt }] }
    const notOffered = withDraft(withFacts(asked, held80), { slotState: 'not offered' })
    expect(endOf(reschedule(notOffered))).toBe('slot_unavailable')
    const theirs = withFacts(asked, { ...held80, holders: [{ ...stranger, requestId: 80, memberId: 7 }] })
    expect(endOf(reschedule(withDraft(theirs, { slotState: 'taken' })))).toBe('slot_conflicts_with_yours')
    expect(endOf(reschedule(withFacts(asked, { isProviderKnown: false })))).toBe('provider_unknown')
    expect(endOf(reschedule(withRequest(asked, { state: 'unassigned' })))).toBe('request_without_slot')
  })
})

describe('domain: a cancelled request with screening answers', () => {
  const ninth = (answer: string) => [{ question: 'Thoughts that you would be better off dead', answer }]
  const screened = (answer: string, reviewed: number[] = []): ScreeningFacts => ({
    answers: new Map([[12, ninth(answer)]]),
    reviewed,
  })
  const kept = { add: 'unreadRisk', row: { requestId: 12, partnerId: 3 } }

  test.each<[string, ScreeningFacts, boolean]>([
    ['raised', screened('Several days'), true],
    ['raised, and another request was read', screened('Several days', [11]), true],
    ['raised and read', screened('Several days', [12]), false],
    ['unclear', screened('sometimes, perhaps'), true],
    ['zero', screened('Not at all'), false],
    ['missing, because there are no answers', { answers: new Map([[12, []]]), reviewed: [] }, false],
    ['unreadable, because the answers cannot be decrypted', unscreened, true],
    ['unreadable and read', { ...unscreened, reviewed: [12] }, false],
  ])('whose ninth item is %s: its risk is kept as unread: %j %p', (_, facts, isKept) => {
    const kinds = [
      cancelling(booking, act, facts),
      done(decideEnd('cancel', booking, act, undefined, facts)).writes,
      done(decideCancellation(call, booking, [], facts, 999)).writes,
    ].map((writes) => writes.filter((write) => 'add' in write))
    expect(kinds).toEqual(Array(3).fill(isKept ? [kept] : []))
  })

  test('is refused if the partner has 1,000 unread ones, unless its risk was read', () => {
    const refused = decideCancellation(call, booking, [], screened('Several days'), 1_000) as Refusal
    expect([refused.kind, refused.retryAfterSeconds]).toEqual(['rate_limited', 3_600])
    expect(endOf(decideCancellation(call, booking, [], nothing, 1_000))).toBe('done')
  })

  test('loses the mark when staff read its answers; other requests have none', () => {
    const read = (state: RequestState) => done(decideReading({ ...booking, state }, [])).writes
    expect(requestStates.map((state) => read(state).length)).toEqual([0, 0, 0, 0, 0, 1])
    expect(read('cancelled')).toEqual([{ remove: 'unreadRisk', id: 12 }])
  })
})

test.each([
  ['a cancellation', cancel, 'cancelled', ['unassigned', 'pending', 'accepted']],
  ['a rescheduling', reschedule, 'pending', ['pending', 'accepted']],
] as const)('domain: %s writes one request or nothing, for any facts', (_, decide, to, from) => {
  const found = fc.record({
    call: fc.record({
      ...{ partnerId: fc.constantFrom(3, 3, 4), requestId: fc.constant(12) },
      act: fc.constant(act),
      isExpected: fc.constantFrom(
        () => true,
        () => false,
      ),
    }),
    draft: fc.record({
      ...{ providerId: fc.constantFrom(5, 6), startsAt: fc.constantFrom(nine, nine + minutes(45)) },
      ...{ localOffsetMinutes: fc.constant(-300), version: fc.constant(version) },
      slotState: fc.constantFrom('offered', 'offered', 'taken', 'not offered', 'provider unknown'),
    }),
    facts: fc.record({
      ...{ request: fc.option(requests), isProviderKnown: fc.boolean(), since: changes, holders },
      held: fc.array(fc.constantFrom({ requestId: 11, startsAt: nine }, { requestId: 80, startsAt: nine })),
    }),
  })
  fc.assert(
    fc.property(found, (asked) => {
      const { request } = asked.facts
      const decision = decide(asked as Asked)
      if (endOf(decision) !== 'done') return expect(decision).not.toHaveProperty('writes')
      const { writes, answer, audit } = done(decision)
      const isOurs = request?.member?.active && asked.call.partnerId === request.member.partnerId
      expect([isOurs, answer([])?.id]).toEqual([true, request?.id])
      if (writes.length === 0) return expect<unknown>([audit, answer([])]).toEqual([null, request])
      expect(writes[0]).toMatchObject({ set: 'request', id: request?.id, to: { state: to } })
      expect(from).toContain(request?.state as never)
      expect(asked.call.isExpected()).toBe(true)
    }),
    { numRuns: 500 },
  )
})
