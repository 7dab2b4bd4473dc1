import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { type BudgetState, Limiter } from '../../src/domain/limiter'
import { limitFor, perMinute, type Rate } from '../../src/domain/limits'
import { times } from '../support/long'

const now = Date.UTC(2026, 11, 1, 12)
const runs = times(500, 20_000)

/** A rate and a list of calls. `waits` is the pause before a call in ms. */
const calls = fc.record({
  rate: fc.record({ most: fc.integer({ min: 1, max: 40 }), seconds: fc.constantFrom(1, 7, 60) }),
  calls: fc.array(
    fc.record({ cost: fc.integer({ min: 1, max: 50 }), waits: fc.integer({ min: 0, max: 20_000 }) }),
    { minLength: 1, maxLength: 60 },
  ),
})

const isAllowed = ({ retryAfterSeconds }: BudgetState) => retryAfterSeconds === null

describe('domain: a rate limit budget', () => {
  test('can be spent at once or in parts, and refills evenly', () => {
    const limiter = new Limiter<string>()
    const rate = perMinute(60)
    for (const [cost, at, retryAfterSeconds, remaining, secondsToNext] of [
      [59, now, null, 1, 1],
      [1, now, null, 0, 1],
      [1, now + 999, 1, 0, 1],
      [1, now + 1_000, null, 0, 1],
      [1, now + 31_000, null, 29, 1],
      [0, now + 3_600_000, null, 60, 0],
    ] as const) {
      expect(limiter.spend('a', rate, cost, at)).toEqual({ retryAfterSeconds, remaining, secondsToNext })
    }
  })

  test('is separate for each caller', () => {
    const limiter = new Limiter<number>()
    expect(limiter.spend(1, perMinute(1), 1, now).retryAfterSeconds).toBeNull()
    expect(limiter.spend(1, perMinute(1), 1, now).retryAfterSeconds).toBe(60)
    expect(limiter.spend(2, perMinute(1), 1, now).retryAfterSeconds).toBeNull()
  })

  test('is used up by a call that costs more than the whole budget', () => {
    const limiter = new Limiter<string>()
    expect(limiter.spend('a', perMinute(20), 101, now)).toEqual({
      retryAfterSeconds: null,
      remaining: 0,
      secondsToNext: 3,
    })
    expect(limiter.spend('a', perMinute(20), 101, now).retryAfterSeconds).toBe(60)
  })

  test('never allows more than its size plus the refill in any period', () => {
    fc.assert(
      fc.property(calls, ({ rate, calls }) => {
        const limiter = new Limiter<string>()
        let at = now
        const through: { at: number; cost: number }[] = []
        for (const { cost, waits } of calls) {
          at += waits
          const price = Math.min(cost, rate.most)
          if (isAllowed(limiter.spend('a', rate, cost, at))) through.push({ at, cost: price })
        }
        for (const [from, first] of through.entries()) {
          let sum = 0
          for (const { at, cost } of through.slice(from)) {
            sum += cost
            const back = ((at - first.at) * rate.most) / (rate.seconds * 1000)
            expect(sum).toBeLessThanOrEqual(rate.most + back + 1e-6)
          }
        }
      }),
      { numRuns: runs },
    )
  })

  test('allows a refused call at its Retry-After and up to a second later', () => {
    const refused = fc.record({
      rate: fc.record({ most: fc.integer({ min: 1, max: 120 }), seconds: fc.constantFrom(10, 60) }),
      calls: fc.array(
        fc.record({
          cost: fc.oneof(fc.integer({ min: 1, max: 101 }), fc.constant(1)),
          at: fc.integer({ min: 0, max: 999 }),
          late: fc.integer({ min: 0, max: 1_000 }),
        }),
        { minLength: 2, maxLength: 40 },
      ),
    })
    fc.assert(
      fc.property(refused, ({ rate, calls }) => {
        const limiter = new Limiter<string>()
        const waiting: { cost: number; at: number }[] = []
        limiter.spend('a', rate, rate.most, now)
        // One budget is promised. The last calls may get the same Retry-After.
        let left = rate.most
        for (const { cost, at, late } of calls.toSorted((one, other) => one.at - other.at)) {
          left -= Math.min(cost, rate.most)
          if (left < 0) break
          const { retryAfterSeconds } = limiter.spend('a', rate, cost, now + at)
          fc.pre(retryAfterSeconds !== null)
          waiting.push({ cost, at: at + (retryAfterSeconds ?? 0) * 1000 + late })
        }
        for (const { cost, at } of waiting.sort((one, other) => one.at - other.at)) {
          expect(isAllowed(limiter.spend('a', rate, cost, now + at))).toBe(true)
        }
      }),
      { numRuns: runs },
    )
  })

  test('adds one second to Retry-After for each earlier refused call with a cost above 1', () => {
    const retriesOf = (cost: number, most: number) => {
      const limiter = new Limiter<string>()
      limiter.spend('a', perMinute(most), most, now)
      return [1, 2, 3].map(() => limiter.spend('a', perMinute(most), cost, now).retryAfterSeconds)
    }
    expect(retriesOf(1, 2)).toEqual([30, 60, 60])
    expect(retriesOf(2, 5)).toEqual([24, 48, 60])
  })

  test('gives a Retry-After of at most one refill, even after 10,000 refused calls', () => {
    const limiter = new Limiter<string>()
    let longest = 0
    for (let call = 0; call < 10_000; call++) {
      longest = Math.max(longest, limiter.spend('a', perMinute(1), 1, now).retryAfterSeconds ?? 0)
    }
    expect(longest).toBe(60)
    expect(limiter.spend('a', perMinute(1), 1, now + 60_000).retryAfterSeconds).toBeNull()
  })

  test('is exact for the largest rate', () => {
    const largest: Rate = perMinute(999_999_999)
    const limiter = new Limiter<string>()
    expect(limiter.spend('a', largest, 999_999_999, now).remaining).toBe(0)
    for (let call = 0; call < 100; call++) limiter.spend('a', largest, 999_999_999, now)
    expect(limiter.spend('a', largest, 1, now + 1)).toEqual({
      retryAfterSeconds: null,
      remaining: 16_665,
      secondsToNext: 1,
    })
  })
})

describe('domain: the clock of a rate limit', () => {
  test('may stop, and then nothing is refilled', () => {
    const limiter = new Limiter<string>()
    const answers = Array.from({ length: 5 }, () => limiter.spend('a', perMinute(3), 1, now))
    expect(answers.map(isAllowed)).toEqual([true, true, true, false, false])
  })

  test('may be set back, and then nothing is refilled', () => {
    const limiter = new Limiter<string>()
    expect(isAllowed(limiter.spend('a', perMinute(1), 1, now))).toBe(true)
    const before = now - 3_600_000
    expect(limiter.spend('a', perMinute(1), 1, before).retryAfterSeconds).toBe(60)
    expect(isAllowed(limiter.spend('a', perMinute(1), 1, before + 60_000))).toBe(true)
  })

  test('may jump back and forth, and only forward jumps refill', () => {
    const jumps = fc.array(fc.integer({ min: -100_000, max: 100_000 }), { minLength: 1, maxLength: 60 })
    fc.assert(
      fc.property(jumps, (steps) => {
        const limiter = new Limiter<string>()
        let [at, forward, through] = [now, 0, 0]
        for (const step of steps) {
          at += step
          forward += Math.max(0, step)
          if (isAllowed(limiter.spend('a', perMinute(3), 1, at))) through++
        }
        expect(through).toBeLessThanOrEqual(3 + (forward * 3) / 60_000)
      }),
      { numRuns: runs },
    )
  })
})

describe('domain: a changed rate limit', () => {
  test('applies to the next call', () => {
    const limiter = new Limiter<string>()
    limiter.spend('a', perMinute(30_000), 30_000, now)
    for (let call = 0; call < 100; call++) limiter.spend('a', perMinute(30_000), 30_000, now)
    expect(limiter.spend('a', perMinute(10), 1, now)).toEqual({
      retryAfterSeconds: 6,
      remaining: 0,
      secondsToNext: 6,
    })
    expect(limiter.spend('a', perMinute(100), 1, now)).toEqual({
      retryAfterSeconds: null,
      remaining: 89,
      secondsToNext: 1,
    })
  })

  test('of one partner overrides the limit of the service, and off means no limit', () => {
    const service = perMinute(5)
    expect(limitFor(service, null, perMinute)).toBe(service)
    expect(limitFor(null, null, perMinute)).toBeNull()
    expect(limitFor(service, 'off', perMinute)).toBeNull()
    expect(limitFor(null, 7, perMinute)).toEqual({ most: 7, seconds: 60 })
  })
})

describe('domain: the memory of a rate limit', () => {
  test('drops the longest idle caller when it is full', () => {
    const limiter = new Limiter<number>(3)
    for (const caller of [1, 2, 3, 1, 4]) limiter.spend(caller, perMinute(1), 1, now)
    const allowed = [1, 3, 4].map((caller) => isAllowed(limiter.spend(caller, perMinute(1), 1, now)))
    expect(allowed).toEqual([false, false, false])
    expect(isAllowed(limiter.spend(2, perMinute(1), 1, now))).toBe(true)
  })
})
