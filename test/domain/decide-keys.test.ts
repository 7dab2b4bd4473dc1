import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import {
  decideCancellation,
  decideIssue,
  decideRevocation,
  decideRotation,
} from '../../src/domain/decisions/partners'
import { Refusal } from '../../src/domain/errors'
import { type KeyRecord, keyStateAt } from '../../src/domain/partner'
import { done, endOf, partner } from './values'

const secret = Buffer.from('secret')
const newKey = (kid: string, startsAt: number) => ({ kid, secret, startsAt })
const actAt = (at: number) => ({ actor: 'olive', at })

const current: KeyRecord = {
  id: 1,
  partnerId: 3,
  kid: 'a',
  issuedAt: 90,
  startsAt: 100,
  endsAt: null,
  endReason: null,
  lastUsedAt: null,
}
const waiting: KeyRecord = { ...current, id: 2, kid: 'b', startsAt: 500 }
const replaced: KeyRecord = { ...current, endsAt: 500, endReason: 'rotated' }
const ended: KeyRecord = { ...current, id: 4, kid: 'z', startsAt: 50, endsAt: 100, endReason: 'rotated' }

const added = (key: ReturnType<typeof newKey>, issuedAt: number) => ({
  add: 'key',
  row: { ...key, partnerId: 3, issuedAt, endsAt: null, endReason: null },
})

describe('domain: issuing a token', () => {
  test('adds the key if none is in force or waiting', () => {
    const key = newKey('n', 200)
    for (const keys of [[], [ended], [ended, { ...waiting, endsAt: 500, endReason: 'cancelled' as const }]]) {
      const decided: unknown = done(decideIssue({ partner, keys }, key, actAt(200)))
      expect(decided).toEqual({
        writes: [added(key, 200)],
        taken: [],
        audit: { action: 'token.issue', noun: 'partner', id: 3 },
        answer: expect.any(Function),
      })
    }
  })

  test('is refused with token_exists if a key is in force or waiting', () => {
    for (const keys of [[current], [{ ...replaced }], [waiting], [ended, current]]) {
      expect(decideIssue({ partner, keys }, newKey('n', 200), actAt(200))).toEqual(
        new Refusal('token_exists', 'the partner already has a token', {
          action: 'run anteroom token rotate',
        }),
      )
    }
  })

  test('succeeds at the instant when the old key ends', () => {
    const keys = [{ ...current, endsAt: 200, endReason: 'rotated' as const }]
    expect(endOf(decideIssue({ partner, keys }, newKey('n', 200), actAt(199)))).toBe('token_exists')
    expect(endOf(decideIssue({ partner, keys }, newKey('n', 200), actAt(200)))).toBe('done')
  })
})

test('domain: a revoked token stays revoked if the clock is set back', () => {
  const keys = [{ ...current, endsAt: 300, endReason: 'revoked' as const }]
  expect(endOf(decideRotation({ partner, keys }, newKey('n', 900), actAt(200)))).toBe('record_unknown')
  expect(endOf(decideIssue({ partner, keys }, newKey('n', 200), actAt(200)))).toBe('done')
})

describe('domain: rotating a token', () => {
  test('ends the current key when the new key starts, and cancels a waiting key', () => {
    const key = newKey('n', 900)
    const decided: unknown = done(
      decideRotation({ partner, keys: [ended, replaced, waiting] }, key, actAt(200)),
    )
    expect(decided).toEqual({
      writes: [
        { set: 'key', id: 1, to: { endsAt: 900, endReason: 'rotated' } },
        { set: 'key', id: 2, to: { endsAt: 500, endReason: 'cancelled' } },
        added(key, 200),
      ],
      taken: [],
      audit: { action: 'token.rotate', noun: 'partner', id: 3 },
      answer: expect.any(Function),
    })
  })

  test('refuses a cutover in the past and accepts the current instant', () => {
    const cutover = (startsAt: number) =>
      decideRotation({ partner, keys: [current] }, newKey('n', startsAt), actAt(200))
    expect(cutover(199)).toEqual(new Refusal('field_invalid', 'the cutover must not be in the past'))
    expect(endOf(cutover(200))).toBe('done')
    expect(endOf(cutover(201))).toBe('done')
  })

  test('is refused if the only keys are waiting or have ended', () => {
    for (const keys of [[], [waiting], [ended]]) {
      expect(decideRotation({ partner, keys }, newKey('n', 300), actAt(200))).toEqual(
        new Refusal('record_unknown', 'the partner has no token to rotate', {
          action: 'run anteroom token issue',
        }),
      )
    }
  })
})

describe('domain: revoking a token', () => {
  test('ends the current key at once and cancels a waiting key', () => {
    expect(done(decideRevocation({ partner, keys: [ended, replaced, waiting] }, actAt(200)))).toEqual({
      writes: [
        { set: 'key', id: 1, to: { endsAt: 200, endReason: 'revoked' } },
        { set: 'key', id: 2, to: { endsAt: 500, endReason: 'cancelled' } },
      ],
      taken: [],
      audit: { action: 'token.revoke', noun: 'partner', id: 3 },
      answer: expect.any(Function),
    })
  })

  test('is refused if no key is in force or waiting', () => {
    expect(decideRevocation({ partner, keys: [ended] }, actAt(200))).toEqual(
      new Refusal('record_unknown', 'the partner has no token to revoke'),
    )
    expect(endOf(decideRevocation({ partner, keys: [waiting] }, actAt(200)))).toBe('done')
  })
})

describe('domain: cancelling a cutover', () => {
  const cancelled: KeyRecord = { ...waiting, id: 5, startsAt: 400, endsAt: 400, endReason: 'cancelled' }
  const reopened = { set: 'key', id: 1, to: { endsAt: null, endReason: null } }
  const neverStarts = { set: 'key', id: 2, to: { endsAt: 500, endReason: 'cancelled' } }

  test.each<[name: string, keys: KeyRecord[], at: number, writes: unknown[]]>([
    ['ends the waiting key at its start', [replaced, waiting], 200, [neverStarts, reopened]],
    ['succeeds until one millisecond before the cutover', [replaced, waiting], 499, [neverStarts, reopened]],
    ['leaves ended keys unchanged', [ended, replaced, cancelled, waiting], 200, [neverStarts, reopened]],
    ['succeeds if the waiting key is the only key', [waiting], 200, [neverStarts]],
    [
      'does not restore a revoked key if the clock was set back',
      [{ ...current, endsAt: 300, endReason: 'revoked' }, waiting],
      200,
      [neverStarts],
    ],
  ])('%s', (_, keys, at, writes) => {
    const decided: unknown = done(decideCancellation({ partner, keys }, actAt(at)))
    expect(decided).toEqual({
      writes,
      taken: [],
      audit: { action: 'token.cancel', noun: 'partner', id: 3 },
      answer: expect.any(Function),
    })
  })

  test.each<[name: string, keys: KeyRecord[], at: number]>([
    ['no key', [], 200],
    ['a key without a cutover', [current], 200],
    ['a key that has ended', [ended], 200],
    ['a cutover that was already cancelled', [current, cancelled], 200],
    ['a cutover at the current instant', [replaced, waiting], 500],
  ])('is refused if no key is waiting: %s', (_, keys, at) => {
    expect(decideCancellation({ partner, keys }, actAt(at))).toEqual(
      new Refusal('record_unknown', 'the partner has no waiting token to cancel'),
    )
  })
})

test('domain: every token change of an unknown partner is refused with record_unknown', () => {
  const nobody = { partner: null, keys: [] }
  const ends = [
    decideIssue(nobody, newKey('n', 1), actAt(0)),
    decideRotation(nobody, newKey('n', 1), actAt(0)),
    decideRevocation(nobody, actAt(0)),
    decideCancellation(nobody, actAt(0)),
  ]
  expect(ends).toEqual(Array(4).fill(new Refusal('record_unknown', 'there is no such partner')))
})

function afterwards(keys: readonly KeyRecord[], decision: ReturnType<typeof decideIssue>): KeyRecord[] {
  if (endOf(decision) !== 'done') return [...keys]
  let after = [...keys]
  for (const write of done(decision).writes) {
    if ('set' in write)
      after = after.map((key) => (key.id === write.id ? { ...key, ...write.to } : key)) as KeyRecord[]
    else if ('add' in write && write.add === 'key') {
      const { secret: _, ...row } = write.row
      after.push({ ...row, id: after.length + 1, lastUsedAt: null })
    }
  }
  return after
}

describe('domain: random sequences of token changes', () => {
  const steps = fc.array(
    fc.record({
      what: fc.constantFrom('issue', 'rotate', 'revoke', 'cancel'),
      later: fc.nat(4),
      wait: fc.nat(6),
    }),
    { minLength: 1, maxLength: 12 },
  )

  test('never leave two keys in force, and never change the end of an ended key', () => {
    fc.assert(
      fc.property(steps, (all) => {
        let keys: KeyRecord[] = []
        let at = 0
        for (const [index, { what, later, wait }] of all.entries()) {
          at += later
          const facts = { partner, keys }
          const key = newKey(`k${index}`, at + wait)
          const decision = {
            issue: () => decideIssue(facts, key, actAt(at)),
            rotate: () => decideRotation(facts, key, actAt(at)),
            revoke: () => decideRevocation(facts, actAt(at)),
            cancel: () => decideCancellation(facts, actAt(at)),
          }[what]()
          const after = afterwards(keys, decision)
          for (const before of keys) {
            if (keyStateAt(before, at) === 'ended') expect(after).toContainEqual(before)
          }
          keys = after
          expect(keys.filter(({ endsAt }) => endsAt === null).length).toBeLessThanOrEqual(1)
          for (const { startsAt, endsAt } of keys) expect(endsAt ?? startsAt).toBeGreaterThanOrEqual(startsAt)
          for (let instant = 0; instant <= at + 8; instant++) {
            const inForce = keys.filter((known) => keyStateAt(known, instant) === 'in force')
            expect(inForce.length).toBeLessThanOrEqual(1)
          }
        }
      }),
      { numRuns: 500 },
    )
  })

  test('leave exactly one key in force if all changes are rotations', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(4), fc.nat(6)), { minLength: 1, maxLength: 8 }), (rotations) => {
        let keys = afterwards([], decideIssue({ partner, keys: [] }, newKey('first', 0), actAt(0)))
        let at = 0
        for (const [later, wait] of rotations) {
          at += later
          keys = afterwards(
            keys,
            decideRotation({ partner, keys }, newKey(`k${keys.length}`, at + wait), actAt(at)),
          )
        }
        expect(keys).toHaveLength(rotations.length + 1)
        for (let instant = 0; instant <= at + 8; instant++) {
          expect(keys.filter((known) => keyStateAt(known, instant) === 'in force')).toHaveLength(1)
        }
      }),
      { numRuns: 300 },
    )
  })
})
